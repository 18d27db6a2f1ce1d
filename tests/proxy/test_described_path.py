"""Authorized paths are the paths that are forwarded, in any spelling (reference AGG-18).

A table of paths, and a server behind an APIService that records what it is asked.
"""

from __future__ import annotations

import posixpath
from urllib.parse import unquote

from orchtw.filters.authorization import AuthorizationStage
from orchtw.request import RequestInfo
from orchtw.serving.request_parser import split_target
from tests.proxy.test_aggregation import AggregatedCase

V = "/apis/example.com/v1"
GUEST = {"impersonate-user": "guest", "impersonate-group": "system:authenticated"}

# The spelling, and what the other server is asked for an administrator; "" for nothing.
DISCOVERY = {
    V: V,
    f"{V}/": f"{V}/",
    "/%61pis/example.com/v%31": V,
}

WRITINGS = {
    **{
        path: f"{V}/lamps"
        for path in (
            f"{V}/lamps",
            f"{V}/lamps//",
            f"{V}/lamps///",
            f"{V}//lamps",
            f"{V}///lamps//",
            f"/{V}/lamps",
            f"//{V}//lamps",
            "/apis//example.com/v1/lamps",
            "/apis/example.com//v1/lamps",
            f"{V}/%6camps",
            f"{V}/namespaces//lamps",
            f"{V}/namespaces///lamps",
            f"http://elsewhere{V}//lamps",
        )
    },
    f"{V}/lamps/": f"{V}/lamps/",
    f"{V}/lamps//?a=b": f"{V}/lamps?a=b",
    f"{V}/namespaces/x//lamps": f"{V}/namespaces/x/lamps",
    f"{V}/namespaces//x//lamps": f"{V}/x/lamps",
    f"{V}/namespaces//lamps/a": f"{V}/lamps/a",
    f"{V}/namespaces/x/lamps//a//status": f"{V}/namespaces/x/lamps/a/status",
    f"{V}//watch//namespaces/x/lamps": f"{V}/watch/namespaces/x/lamps",
    f"{V}/watch//namespaces//lamps": f"{V}/watch/lamps",
    f"{V}/watch/lamps?watch=1": f"{V}/watch/lamps?watch=1",
    f"{V}/namespaces//": f"{V}/namespaces",
    f"{V}/LAMPS": f"{V}/LAMPS",
    f"{V}/lamps;a=b": f"{V}/lamps%3Ba=b",
    f"{V}/lamps/%c3%a9%22": f"{V}/lamps/%C3%A9%22",
    f"{V}/lamps/a%3Fwatch=1": f"{V}/lamps/a%3Fwatch=1",
    f"{V}/lamps/a/proxy/b//c%2Fd/": f"{V}/lamps/a/proxy/b//c%2Fd/",
    f"{V}/lamps//a/proxy//": f"{V}/lamps/a/proxy/",
    f"{V}/lamps/a/proxy/%25": f"{V}/lamps/a/proxy/%25",
}

REFUSED = (
    f"{V}//",
    f"/{V}",
    "/apis//example.com///v1",
    f"{V}/./lamps",
    f"{V}/../v1/lamps",
    f"{V}/lamps/..",
    f"{V}/lamps/%2e%2e",
    f"{V}/lamps/%2E/x",
    f"{V}/.%2e/lamps",
    f"{V}/..;/lamps",
    f"{V}/..;a=b/lamps",
    f"{V}/lamps/..%5c..",
    f"{V}/lamps/a/x/..%2f..%2fb",
    f"{V}/lamps/a/proxy/../x",
    f"{V}/lamps%2Fa",
    f"{V}%2Flamps",
    f"{V}%2flamps%2fa",
    f"{V}/lamps/a%2Fstatus",
    f"{V}/lamps/a/status%2Fb",
    f"{V}/namespaces/x%2Flamps",
    f"{V}/namespaces/x%2Flamps/a",
    f"{V}/namespaces%2Fx/lamps",
    f"{V}/namespaces/x/lamps/a%252Fstatus",
    f"{V}/lamps%00",
    f"{V}/lamps/a%0d%0a",
    f"{V}/lamps/a%zz",
    f"{V}/watch",
    f"{V}/proxy/",
    f"{V}//watch//",
    "/apis%2Fexample.com/v1/lamps",
    "/apis/example.com%2Fv1/lamps",
    "/APIS/example.com/v1/lamps",
    "/apis/EXAMPLE.com/v1/lamps",
    "/apis/./example.com/v1/lamps",
    "/x/../apis/example.com/v1/lamps",
    "/apis/x/../example.com/v1/lamps",
)


def readings(path: str) -> set[str]:
    """The ways in which servers may read a path."""
    decoded = unquote(path)
    cut = "/".join(part.partition(";")[0] for part in decoded.split("/"))
    clean = posixpath.normpath(decoded.replace("\\", "/")).replace("//", "/")
    return {decoded.rstrip("/"), unquote(decoded).rstrip("/"), cut.rstrip("/"), clean}


class DescribedPathTests(AggregatedCase):
    def setUp(self) -> None:
        self.described: list[RequestInfo] = []
        handle = AuthorizationStage.handle

        def recorded(stage: AuthorizationStage, request: object, proceed: object) -> object:
            self.described.append(request.info)  # type: ignore[attr-defined]
            return handle(stage, request, proceed)  # type: ignore[arg-type]

        self.patch(AuthorizationStage, "handle", recorded)
        super().setUp()

    def asks(self, method: str, path: str, headers: dict[str, str] | None = None) -> tuple[int, str]:
        """The answer's code, and the target that the other server was asked for."""
        self.backend.transports.clear()
        path, query = split_target(path)  # as HTTP/1.1 and HTTP/2 do
        got = self.send(method, f"{path}?{query}" if query else path, None, headers)
        return got.code, self.asked()[0].split(" ")[1] if self.backend.transports else ""

    def test_table(self) -> None:
        """An administrator reaches what the path means."""
        for method in ("GET", "DELETE", "POST"):
            for path, expected in {**DISCOVERY, **WRITINGS}.items():
                self.assertEqual(self.asks(method, path), (200, expected), path)
                self.agrees(method, expected)

    def agrees(self, method: str, target: str) -> None:
        """The other server can read in the target nothing but what was authorized."""
        info, path = self.described[-1], target.partition("?")[0]
        if not info.is_resource:
            self.assertEqual(path.rstrip("/"), V)
            return
        if info.subresource != "proxy" and ";" not in unquote(path):
            self.assertEqual(len(readings(path)), 1, path)
        place = [V[1:], *(["watch"] if info.verb == "watch" else [])]
        if info.namespace and info.resource != "namespaces":
            place += ["namespaces", info.namespace]
        self.assertEqual(unquote(path).strip("/"), "/".join((*place, *info.parts)).strip("/"))

    def test_refused(self) -> None:
        """Ambiguous paths are not forwarded for any user."""
        for method in ("GET", "PUT"):
            for path in REFUSED:
                code, asked = self.asks(method, path)
                self.assertIn(code, (400, 404), path)
                self.assertEqual(asked, "", path)

    def test_discovery_only(self) -> None:
        """A user who may only read discovery reaches no more than that (reference AUTHZ-5)."""
        for path, expected in DISCOVERY.items():
            self.assertEqual(self.asks("GET", path, GUEST), (200, expected), path)
            self.assertEqual(self.asks("DELETE", path, GUEST), (403, ""), path)
        for path in WRITINGS:
            self.assertEqual(self.asks("GET", path, GUEST), (403, ""), path)
        for path in REFUSED:
            code, asked = self.asks("GET", path, GUEST)
            self.assertIn(code, (403, 404), path)
            self.assertEqual(asked, "", path)

    def test_queries(self) -> None:
        """The parameters that a description depends on say there what they said here."""
        name = "fieldSelector=metadata.name%3Da"
        for query, expected in (
            ("a=1;watch=1", "a=1%3Bwatch=1"),
            (f"{name}&b=1&field%53elector=&b=2", f"{name}&b=1&b=2"),
            ("watch=0&watch=1&&c", "watch=0&&c"),
            (f"{name}&a=%20&a=+", f"{name}&a=%20&a=+"),
        ):
            self.assertEqual(self.asks("GET", f"{V}/lamps?{query}"), (200, f"{V}/lamps?{expected}"))

    def test_upgrades(self) -> None:
        """So is a request that is to be upgraded."""
        upgrade = {"connection": "Upgrade", "upgrade": "SPDY/3.1"}
        path = f"{V}/namespaces/x//lamps/a//exec"
        self.assertEqual(self.asks("POST", path, {**GUEST, **upgrade}), (403, ""))
        self.assertEqual(self.asks("POST", path, upgrade)[1], f"{V}/namespaces/x/lamps/a/exec")


class PathsHereTests(AggregatedCase):
    """Paths that this server answers itself (reference REQ-10)."""

    def test_described(self) -> None:
        """Such a writing is authorized as what it means, and then not found: slashes are not cleaned up."""
        for path in ("/api/v1//pods", "/api/v1/pods//", "//api/v1/pods", "/api/v1/namespaces/default//pods"):
            self.assertEqual(self.send("GET", path, None, GUEST).code, 403, path)
            self.assertEqual(self.send("GET", path).json["reason"], "NotFound", path)
        for path in ("/api/v1/namespaces//nodes/a", "/api/v1//nodes", "/apis/apps/v1/deployments//"):
            self.assertEqual(self.send("DELETE", path).code, 404, path)
