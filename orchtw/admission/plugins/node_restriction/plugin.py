"""Plugin NodeRestriction (reference PLUG-41)."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping

from orchtw.admission.attributes import Attributes, Operation
from orchtw.admission.host import AdmissionHost
from orchtw.admission.plugins.node_restriction.nodes import NodeRules
from orchtw.admission.plugins.node_restriction.others import (
    why_no_claim,
    why_no_csi_node,
    why_no_lease,
    why_no_token,
)
from orchtw.admission.plugins.node_restriction.pods import PodRules
from orchtw.admission.plugins.node_restriction.records import PodRecord, node_uids, pod_records
from orchtw.authz.node import GROUP, PREFIX
from orchtw.naming.naming import Naming
from orchtw.registry.listers.lister import Lister
from orchtw.schema.catalogue import ResourceType
from orchtw.values.causes import go_quote

Rule = Callable[[Attributes, str], str | Awaitable[str]]
"""Returns why a node may not make a write, or an empty string."""


class NodeRestriction:
    """Plugin NodeRestriction: checks the writes of group `system:nodes`.

    Which kinds a node can write at all is up to the authorizer.
    """

    def __init__(self, naming: Naming, pods: Lister[PodRecord], node_uids: Lister[str]) -> None:
        leases = naming.node_lease_namespace
        self._rules: Mapping[str, Rule] = {
            "pods": PodRules(pods, node_uids, naming.translate("orch.io/config.mirror")).why_not,
            "nodes": NodeRules(naming).why_not,
            "persistentvolumeclaims": why_no_claim,
            "serviceaccounts": lambda attributes, node: why_no_token(attributes, node, pods),
            f"leases.{naming.group('coordination.orch.io')}": lambda attributes, node: why_no_lease(
                attributes, node, leases
            ),
            f"csinodes.{naming.group('storage.orch.io')}": why_no_csi_node,
        }

    @classmethod
    def of(cls, host: AdmissionHost) -> NodeRestriction:
        """Return the plugin, backed by the server's pods and nodes."""
        return cls(host.naming, pod_records(host.targets), node_uids(host.targets))

    def handles(self, operation: Operation, resource: ResourceType, subresource: str) -> bool:
        """Handle all writes: a member of the group whose name is not a node's may not write anything."""
        return operation != "CONNECT"

    async def admit(self, attributes: Attributes) -> None:
        """Raise Forbidden (403) for a write that the node may not make.

        Raises NotFound (404) for a missing pod or node.
        """
        user = attributes.user
        if GROUP not in user.groups:
            return
        node = user.name.removeprefix(PREFIX)
        if not node or node == user.name:
            raise attributes.forbidden(f"could not determine node from user {go_quote(user.name)}")
        rule = self._rules.get(attributes.resource.qualified)
        if rule is None:
            return
        why = rule(attributes, node)
        if not isinstance(why, str):
            why = await why
        if why:
            raise attributes.forbidden(why)
