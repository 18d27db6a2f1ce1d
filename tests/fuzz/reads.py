"""Requests that only look, and those that are odd in themselves: paths, methods, and what is not HTTP at all."""

from __future__ import annotations

from urllib.parse import parse_qs

from orchtw.rules import request_info
from orchtw.schema.catalogue import ResourceType
from tests.fuzz.case import Case
from tests.fuzz.draw import Draw

_PATHS = (
    "/", "/api", "/apis", "/api/v1", "/apis/apps", "/apis/apps/v1", "/apis/nope/v1", "/api/v2", "/version",
    "/version/", "/healthz",
    "/livez", "/readyz", "/livez?verbose", "/readyz?exclude=etcd", "/readyz/ping", "/livez/nope", "/metrics",
    "/openapi/v2",
    "/openapi/v3", "/openapi/v3/apis/apps/v1", "/openapi/v3/api/v1", "/logs", "/swagger.json", "/openapi/v3/../v2",
    "//", "/api/", "/apis//v1", "/api/v1/", "/api/v1//pods", "/api/v1/pods/", "/%", "/%zz", "/%00",
    "/api/v1/namespaces/%2f/pods",
    "/api/v1/%6eamespaces", "/api/v1/namespaces/a/b/c/d/e", "/api/v1/watch", "/api/v1/watch/pods?timeoutSeconds=1",
    "/apis/apps/v1/watch",
    "/api/v1/proxy/pods", "/api/v1/watch/namespaces/fuzz-0/pods/a?timeoutSeconds=1", "/api/v1/namespaces/..", "/..",
    "/api/%761/pods",
    "/api/v1/namespaces/fuzz-0/pods/a/log", "/api/v1/namespaces/fuzz-0/pods/a/exec",
    "/api/v1/namespaces/fuzz-0/pods/a/proxy/x",
    "/api/v1/namespaces/fuzz-0/services/a/proxy", "/" + "a/" * 500, "/api/v1/componentstatuses",
    "/api/v1/componentstatuses/etcd-0",
    "/api/v1/\u00fc", "/api/v1/namespaces/%ff/pods", "/.well-known/openid-configuration", "/openid/v1/jwks",
    "/debug/pprof/",
)  # fmt: skip
_METHODS = ("GET", "GET", "GET", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE", "CONNECT", "PROPFIND")
_ODD = 0.45  # of the answers to reads in a form that is made for them
_WATCH_OPTIONS = ("resourceVersion", "resourceVersionMatch", "labelSelector", "fieldSelector", "allowWatchBookmarks")
_LIST_OPTIONS = (*_WATCH_OPTIONS[:4], "limit", "continue", "pretty", "includeObject")
_RAW = (
    b"GET /livez HTTP/1.1\r\nHost: x\r\n\r\n" * 3,
    b"get /livez HTTP/1.1\r\nHost: x\r\n\r\n",
    b"GET /livez\r\n\r\n",
    b"GET /livez HTTP/1.0\r\n\r\n",
    b"GET /livez HTTP/2.0\r\nHost: x\r\n\r\n",
    b"GET /livez HTTP/1.1\r\n\r\n",
    b"GET /livez HTTP/1.1\nHost: x\n\n",
    b"GET /livez HTTP/1.1\r\nHost: x\r\nHost: y\r\n\r\n",
    b"GET https://x/livez HTTP/1.1\r\nHost: x\r\n\r\n",
    b"GET * HTTP/1.1\r\nHost: x\r\n\r\n",
    b"OPTIONS * HTTP/1.1\r\nHost: x\r\n\r\n",
    b"HEAD /livez HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n",
    b"POST /api HTTP/1.1\r\nHost: x\r\nContent-Length: 10\r\n\r\nabc",
    b"POST /api HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\nContent-Length: 4\r\n\r\nabcd",
    b"POST /api HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
    b"POST /api HTTP/1.1\r\nHost: x\r\nContent-Length: -1\r\n\r\n",
    b"POST /api HTTP/1.1\r\nHost: x\r\nContent-Length: " + b"9" * 5000 + b"\r\n\r\n",
    b"POST /api HTTP/1.1\r\nHost: x\r\nContent-Length: 18446744073709551617\r\n\r\n",
    b"POST /api HTTP/1.1\r\nHost: x\r\nContent-Length: 3, 3\r\n\r\nabc",
    b"POST /api HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n",
    b"POST /api HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
    b"POST /api HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n" + b"f" * 40 + b"\r\n",
    b"POST /api HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n3;a=b\r\nabc\r\n0\r\nT: x\r\n\r\n",
    b"POST /api HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabcd\r\n0\r\n\r\n",
    b"POST /api HTTP/1.1\r\nHost: x\r\nExpect: 100-continue\r\nContent-Length: 3\r\n\r\n",
    b"POST /api HTTP/1.1\r\nHost: x\r\nExpect: x\r\nContent-Length: 3\r\n\r\nabc",
    b"GET /livez HTTP/1.1\r\nHost: x\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\r\n",
    b"GET /livez HTTP/1.1\r\nHost: x\r\nBad Header\r\n\r\n",
    b"GET /livez HTTP/1.1\r\nHost: x\r\n folded: x\r\n\r\n",
    b"GET /livez HTTP/1.1\r\nHost: x\r\nX: \x00\r\n\r\n",
    b"GET /livez HTTP/1.1\r\nHost: x\r\nX: " + b"y" * 70_000 + b"\r\n\r\n",
    b"GET /" + b"z" * 70_000 + b" HTTP/1.1\r\nHost: x\r\n\r\n",
    b"GET /livez HTTP/1.1\r\nHost: x\r\n" + b"a:\r\n" * 2000 + b"\r\n",
    b"GET /livez HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer \xff\xfe\r\n\r\n",
    b"GET /livez HTTP/1.1\r\nHost: x\r\nAuthorization: Basic x\r\n\r\n",
    b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
    b"\x00\x01\x02\x03",
    b"\r\n\r\n\r\n",
)


def get(draw: Draw, resource: ResourceType) -> Case:
    """GET of an object."""
    target = draw.object_path(resource, draw.name()) + draw.query("resourceVersion", "pretty", "includeObject")
    return _watched(draw, Case("GET", target, draw.headers(odd=_ODD)))


def collect(draw: Draw, resource: ResourceType) -> Case:
    """GET of a collection, of one namespace or of all."""
    path = draw.surface.collection(resource, "") if draw.chance(0.3) else draw.collection(resource)
    return _watched(draw, Case("GET", path + draw.query(*_LIST_OPTIONS), draw.headers(odd=_ODD)))


def watch(draw: Draw, resource: ResourceType) -> Case:
    """A watch of a collection, soon left."""
    path = draw.surface.collection(resource, "") if draw.chance(0.3) else draw.collection(resource)
    query = draw.query(*_WATCH_OPTIONS)
    timeout = "1" if draw.chance(0.8) else draw.random.choice(("0", "-1", "x", str(2**63 - 1), "9" * 25))
    target = f"{path}{query}{'&' if query else '?'}watch=1&timeoutSeconds={timeout}"
    return _watched(draw, Case("GET", target, draw.headers(odd=_ODD)))


def other(draw: Draw, resource: ResourceType) -> Case:
    """A path that is not about an object, or any method anywhere."""
    method = draw.random.choice(_METHODS)
    if draw.chance(0.2):
        body = draw.random.choice((b"", b"{}", b"[]", b"\x00"))
        place = draw.random.choice((draw.collection(resource), draw.object_path(resource, draw.name())))
        return _watched(draw, Case(method if method != "CONNECT" else "GET", place, draw.headers(), body))
    path = draw.surface.translate(draw.random.choice(_PATHS))
    return _watched(draw, Case("GET" if draw.chance(0.8) or method == "CONNECT" else method, path, draw.headers()))


def no_http(draw: Draw, resource: ResourceType) -> Case:
    """Bytes that are a request only nearly, cut off or changed anywhere."""
    raw = draw.random.choice(_RAW)
    if draw.chance(0.3):
        raw = raw[: draw.random.randrange(len(raw) + 1)]
    if draw.chance(0.2) and raw:
        at = draw.random.randrange(len(raw))
        raw = raw[:at] + draw.random.randbytes(1) + raw[at + 1 :]
    return Case(raw=raw or b"\r\n", patience_s=0.1)


def _watched(draw: Draw, case: Case) -> Case:
    """`case`, marked if the server will take it for a watch."""
    path, _, query = case.target.partition("?")
    info = request_info.parse(case.method, path, parse_qs(query, keep_blank_values=True, errors="replace"))
    if not (info.is_resource and info.verb == "watch"):
        return case
    patience_s = 3.0 if draw.chance(0.02) and "timeoutSeconds=1" in query else draw.random.choice((0.02, 0.05, 0.2))
    return Case(case.method, case.target, case.headers, case.body, streams=True, patience_s=patience_s)


