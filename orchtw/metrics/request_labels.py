"""Labels of requests in metrics (reference METRIC-6, METRIC-8)."""

from __future__ import annotations

from typing import Final

import msgspec

from orchtw.metrics.series import OTHER
from orchtw.request import Request, RequestInfo

COMPONENT: Final = "apiserver"
APPLY: Final = "application/apply-patch+yaml"

_VERBS: Final = {
    "get": "GET",
    "list": "LIST",
    "watch": "WATCH",
    "create": "POST",
    "update": "PUT",
    "patch": "PATCH",
    "delete": "DELETE",
    "deletecollection": "DELETECOLLECTION",
    "proxy": "CONNECT",
}
_METHODS: Final = frozenset({"GET", "POST", "PUT", "PATCH", "DELETE", "CONNECT"})
_CONNECTED: Final = frozenset({"attach", "exec", "portforward", "proxy"})
_PATHS: Final = frozenset({
    "/api", "/apis", "/healthz", "/livez", "/readyz", "/metrics", "/openapi/v2", "/openapi/v3", "/version",
    "/openid/v1/jwks", "/.well-known/openid-configuration",
})  # fmt: skip
_FOLDERS: Final = ("/healthz/", "/livez/", "/readyz/", "/openapi/v3/", "/apis/", "/api/", "/debug/", "/logs/")


class Labels(msgspec.Struct, frozen=True):
    """Labels of most request metrics, in the order of the release."""

    verb: str
    group: str
    version: str
    resource: str
    subresource: str
    scope: str
    component: str

    @property
    def values(self) -> tuple[str, ...]:
        """Values of the labels in NAMES."""
        return msgspec.structs.astuple(self)


NAMES: Final = Labels.__struct_fields__


def verb_of(request: Request, info: RequestInfo) -> str:
    """Return the verb: APPLY for a server-side apply, CONNECT for a forwarded request."""
    if not info.is_resource:
        method = "GET" if request.method == "HEAD" else request.method
        return method if method in _METHODS else OTHER
    if info.subresource in _CONNECTED:
        return "CONNECT"
    if info.verb == "patch" and is_apply(request):
        return "APPLY"
    return _VERBS.get(info.verb, OTHER)


def is_apply(request: Request) -> bool:
    """Report whether a patch is a server-side apply."""
    return request.headers.get("content-type", "") == APPLY


def scope_of(info: RequestInfo) -> str:
    """Return the scope: resource, namespace or cluster; empty for a non-resource path."""
    if not info.is_resource:
        return ""
    if info.name or info.verb == "create":
        return "resource"
    return "namespace" if info.namespace else "cluster"


def dry_run_of(request: Request) -> str:
    """Return the dry-run label of a write: All or empty."""
    return "All" if "dryRun=" in request.query and request.params.get("dryRun") == ["All"] else ""


def path_of(path: str) -> str:
    """Return a non-resource path, or its folder: none that a client has made up."""
    if path in _PATHS:
        return path
    folder = next((folder for folder in _FOLDERS if path.startswith(folder)), "")
    return folder[:-1] if folder else OTHER


def code_of(code: int) -> str:
    """Return a response's code as a label, if HTTP knows it."""
    return str(code) if 100 <= code < 600 else OTHER
