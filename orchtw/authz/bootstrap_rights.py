"""The rights that every installation grants: what the roles `system:public-info-viewer` (everybody),
`system:discovery` and `system:basic-user` (authenticated users) hold (reference ROLE-3, ROLE-4, ROLE-5).

RBAC objects are not evaluated here: whatever these roles do not grant gets no opinion.
"""

from __future__ import annotations

from orchtw.authz.decision import ALLOWED, NO_OPINION, Decision, PathRule, ResourceRule, Rules
from orchtw.naming import Naming
from orchtw.request import RequestInfo, UserInfo

_PUBLIC = ("/healthz", "/livez", "/readyz", "/version", "/version/")
_DISCOVERY = ("/api", "/apis", "/openapi")
_DISCOVERY_BELOW = ("/api/", "/apis/", "/openapi/")
_SELF_REVIEWS = ("selfsubjectaccessreviews", "selfsubjectrulesreviews")
_EVERYBODY = frozenset({"system:authenticated", "system:unauthenticated"})
_AUTHENTICATED = "system:authenticated"
_APPROVED = "orch.io/orch-apiserver-client-orchlet"
_SIGNERS = ("orch.io/orch-apiserver-client", _APPROVED, "orch.io/orchlet-serving", "orch.io/legacy-unknown")


def _by(role: str, group: str) -> Decision:
    return Decision(True, f'RBAC: allowed by ClusterRoleBinding "{role}" of ClusterRole "{role}" to Group "{group}"')


_AS_VIEWER = {group: _by("system:public-info-viewer", group) for group in _EVERYBODY}
_AS_DISCOVERER = _by("system:discovery", _AUTHENTICATED)
_AS_BASIC_USER = _by("system:basic-user", _AUTHENTICATED)


class BootstrapRights:
    """Allows GET of health and version to everybody; discovery and questions about oneself to authenticated users.

    The certificate controller may approve and sign what the built-in signers do.
    """

    def __init__(self, naming: Naming) -> None:
        self._naming = naming
        self._reviews_group = naming.group("authorization.orch.io")
        self._certificates_group = naming.group("certificates.orch.io")
        self._certificate_controller = f"system:serviceaccount:{naming.system_namespace}:certificate-controller"
        self._signing = {("sign", naming.translate(signer)) for signer in _SIGNERS}
        self._signing.add(("approve", naming.translate(_APPROVED)))

    def authorize(self, user: UserInfo, info: RequestInfo) -> Decision:
        """Allowed, or no opinion."""
        if info.is_resource:
            return self._resource(user, info)
        return self._path(user, info) if info.verb == "get" else NO_OPINION

    def _resource(self, user: UserInfo, info: RequestInfo) -> Decision:
        asked = info.resource in _SELF_REVIEWS and info.verb == "create" and not info.subresource
        if asked and info.group == self._reviews_group and _AUTHENTICATED in user.groups:
            return _AS_BASIC_USER
        signers = info.resource == "signers" and info.group == self._certificates_group
        if signers and user.name == self._certificate_controller and (info.verb, info.name) in self._signing:
            return ALLOWED
        foreign = self._naming.foreign(info.group)
        return Decision(None, foreign) if foreign else NO_OPINION

    @staticmethod
    def _path(user: UserInfo, info: RequestInfo) -> Decision:
        known = info.path in _PUBLIC
        discovery = known or info.path in _DISCOVERY or info.path.startswith(_DISCOVERY_BELOW)
        if discovery and _AUTHENTICATED in user.groups:
            return _AS_DISCOVERER
        if known:
            for group in user.groups:
                if group in _EVERYBODY:
                    return _AS_VIEWER[group]
        return NO_OPINION

    def rules_for(self, user: UserInfo, namespace: str) -> Rules:
        """The rules of the roles that the user has."""
        if _AUTHENTICATED not in user.groups:
            public = _EVERYBODY.intersection(user.groups)
            return Rules(paths=(PathRule(verbs=("get",), paths=_PUBLIC),)) if public else Rules()
        reviews = ResourceRule(verbs=("create",), groups=(self._reviews_group,), resources=_SELF_REVIEWS)
        below = tuple(f"{path}*" for path in _DISCOVERY_BELOW)
        return Rules(resources=(reviews,), paths=(PathRule(verbs=("get",), paths=_PUBLIC + _DISCOVERY + below),))
