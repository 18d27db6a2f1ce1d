"""The non-resource rights that every installation has: what the roles `system:public-info-viewer` (everybody) and
`system:discovery` (authenticated users) grant (supplement Z5).

RBAC objects are not evaluated here: whatever these two roles do not grant gets no opinion.
"""

from __future__ import annotations

from orchtw.authz.decision import NO_OPINION, Decision
from orchtw.request import RequestInfo, UserInfo

_PUBLIC = frozenset({"/healthz", "/livez", "/readyz", "/version", "/version/"})
_DISCOVERY = _PUBLIC | {"/api", "/apis", "/openapi"}
_DISCOVERY_BELOW = ("/api/", "/apis/", "/openapi/")
_EVERYBODY = frozenset({"system:authenticated", "system:unauthenticated"})
_AUTHENTICATED = "system:authenticated"


def _by(role: str, group: str) -> Decision:
    return Decision(True, f'RBAC: allowed by ClusterRoleBinding "{role}" of ClusterRole "{role}" to Group "{group}"')


_AS_VIEWER = {group: _by("system:public-info-viewer", group) for group in _EVERYBODY}
_AS_DISCOVERER = _by("system:discovery", _AUTHENTICATED)


class BootstrapPaths:
    """Allows GET of health and version to everybody, and of discovery to authenticated users."""

    def authorize(self, user: UserInfo, info: RequestInfo) -> Decision:
        """Allowed, or no opinion; resource requests never match."""
        if info.is_resource or info.verb != "get":
            return NO_OPINION
        if _AUTHENTICATED in user.groups and (info.path in _DISCOVERY or info.path.startswith(_DISCOVERY_BELOW)):
            return _AS_DISCOVERER
        if info.path in _PUBLIC:
            for group in user.groups:
                if group in _EVERYBODY:
                    return _AS_VIEWER[group]
        return NO_OPINION
