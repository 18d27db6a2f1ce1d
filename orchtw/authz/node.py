"""Mode Node: node agents may read objects that the pods on their node use (reference AUTHZ-30 to AUTHZ-33)."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import Final

from orchtw.authz.decision import ALLOWED, NO_OPINION, AuthzHost, Decision, Stands, UserRules
from orchtw.authz.node_graph import NodeGraph
from orchtw.authz.node_references import ACCOUNTS, CLAIMS, CONFIG_MAPS, SECRETS, Reference
from orchtw.authz.node_rules import NodeRules
from orchtw.config.authorization import AuthorizationOptions
from orchtw.naming.naming import Naming
from orchtw.request import RequestInfo, UserInfo
from orchtw.values.causes import go_quote

GROUP: Final = "system:nodes"
PREFIX: Final = "system:node:"

_OWN_VERBS: Final = ("get", "create", "update", "patch", "delete")
_UNLISTED: Final = UserRules(incomplete=True, error="node authorizer does not support user rule resolution")

Answer = Decision | Awaitable[Decision]
Check = Callable[[str, RequestInfo], Answer]


class NodeAuthorizer:
    """Authorizer that allows users `system:node:<name>` in group `system:nodes` what the pods on that node need.

    It never denies a request.
    """

    def __init__(self, graph: NodeGraph, naming: Naming) -> None:
        self._graph = graph
        self._rules = NodeRules(naming)
        self._lease_namespace = naming.node_lease_namespace
        storage = naming.group("storage.orch.io")
        self._checks: Mapping[tuple[str, str], Check] = {
            ("", SECRETS): self._read,
            ("", CONFIG_MAPS): self._read,
            ("", CLAIMS): self._claim,
            ("", "persistentvolumes"): self._volume,
            ("", ACCOUNTS): self._token,
            (storage, "volumeattachments"): self._attachment,
            (storage, "csinodes"): self._csi_node,
            (naming.group("coordination.orch.io"), "leases"): self._lease,
        }

    def authorize(self, user: UserInfo, info: RequestInfo) -> Answer:
        """Allow the request, or return no opinion with a reason."""
        if not _is_node(user):
            return NO_OPINION
        node = user.name.removeprefix(PREFIX)
        if not node:
            return Decision(None, f"unknown node for user {go_quote(user.name)}")
        if info.is_resource and (check := self._checks.get((info.group, info.resource))) is not None:
            return check(node, info)
        return ALLOWED if self._rules.allow(info) else NO_OPINION

    def rules_for(self, user: UserInfo, namespace: str) -> UserRules:
        """Return no rules, and for nodes the reason why the list is incomplete."""
        return _UNLISTED if _is_node(user) else UserRules()

    def lasts(self, user: UserInfo, info: RequestInfo) -> Stands | None:
        """Hold for ever for all but nodes, see `Lasting`."""
        return None if _is_node(user) else ()

    def _read(self, node: str, info: RequestInfo) -> Answer:
        if info.verb not in ("get", "list", "watch"):
            return Decision(None, "can only read resources of this type")
        if info.subresource:
            return Decision(None, "cannot read subresource")
        if not info.namespace:
            return Decision(None, "can only read namespaced object of this type")
        return self._referred(node, info)

    def _claim(self, node: str, info: RequestInfo) -> Answer:
        if info.subresource != "status":
            return _only_get(info) or self._referred(node, info)
        if info.verb not in ("update", "patch"):
            return Decision(None, "can only get/update/patch this type")
        return self._referred(node, info)

    def _volume(self, node: str, info: RequestInfo) -> Answer:
        refusal = _only_get(info) or _nameless(info)
        return refusal or _related(node, not info.namespace and self._graph.uses_volume(node, info.name))

    def _attachment(self, node: str, info: RequestInfo) -> Answer:
        refusal = _only_get(info) or _nameless(info)
        return refusal or _related(node, not info.namespace and self._graph.has_attachment(node, info.name))

    def _token(self, node: str, info: RequestInfo) -> Answer:
        if info.verb != "create" or not info.name:
            return Decision(None, "can only create tokens for individual service accounts")
        if info.subresource != "token":
            return Decision(None, "can only create token subresource of serviceaccount")
        return self._referred(node, info)

    def _lease(self, node: str, info: RequestInfo) -> Answer:
        if info.verb not in _OWN_VERBS:
            return Decision(None, "can only get, create, update, patch, or delete a node lease")
        if info.namespace != self._lease_namespace:
            where = go_quote(self._lease_namespace)
            return Decision(None, f"can only access leases in the {where} system namespace")
        if info.verb != "create" and info.name != node:
            return Decision(None, "can only access node lease with the same name as the requesting node")
        return ALLOWED

    def _csi_node(self, node: str, info: RequestInfo) -> Answer:
        if info.verb not in _OWN_VERBS:
            return Decision(None, "can only get, create, update, patch, or delete a CSINode")
        if info.subresource:
            return Decision(None, "cannot authorize CSINode subresources")
        if info.verb != "create" and info.name != node:
            return Decision(None, "can only access CSINode with the same name as the requesting node")
        return ALLOWED

    def _referred(self, node: str, info: RequestInfo) -> Answer:
        reference: Reference = (info.resource, info.namespace, info.name)
        return _nameless(info) or _related(node, self._graph.refers(node, reference))


def _is_node(user: UserInfo) -> bool:
    return user.name.startswith(PREFIX) and GROUP in user.groups


def _only_get(info: RequestInfo) -> Decision | None:
    if info.verb != "get":
        return Decision(None, "can only get individual resources of this type")
    return Decision(None, "cannot get subresource") if info.subresource else None


def _nameless(info: RequestInfo) -> Decision | None:
    return None if info.name else Decision(None, "No Object name found")


def _related(node: str, found: bool | Awaitable[bool]) -> Answer:
    return _decided(node, found) if isinstance(found, bool) else _awaited(node, found)


async def _awaited(node: str, found: Awaitable[bool]) -> Decision:
    return _decided(node, await found)


def _decided(node: str, found: bool) -> Decision:
    if found:
        return ALLOWED
    return Decision(None, f"no relationship found between node '{node}' and this object")


def from_flags(host: AuthzHost, options: AuthorizationOptions) -> NodeAuthorizer:
    """Return the authorizer; its graph is a child of the host's services."""
    graph = NodeGraph(host.targets, host.naming, host.clock)
    graph.setServiceParent(host.services)  # type: ignore[no-untyped-call]
    return NodeAuthorizer(graph, host.naming)
