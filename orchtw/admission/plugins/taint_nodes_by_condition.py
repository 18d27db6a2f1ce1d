"""TaintNodesByCondition: no pods are scheduled to a new node before it is ready (reference PLUG-16)."""

from __future__ import annotations

from typing import Final

from orchtw.admission.attributes import Attributes, Operation
from orchtw.admission.host import AdmissionHost
from orchtw.registry.emission_order import put
from orchtw.schema.catalogue import ResourceType

_EFFECT: Final = "NoSchedule"
_FROM_TAINTS_ON: Final = ("taints", "configSource", "externalID")


class TaintNodesByCondition:
    """Plugin TaintNodesByCondition; `not_ready` is the key of the taint."""

    def __init__(self, not_ready: str) -> None:
        self._not_ready = not_ready

    @classmethod
    def of(cls, host: AdmissionHost) -> TaintNodesByCondition:
        """Return the plugin with the taint of the server's vocabulary."""
        return cls(host.naming.translate("node.orch.io/not-ready"))

    def handles(self, operation: Operation, resource: ResourceType, subresource: str) -> bool:
        """Handle creates of Nodes."""
        return operation == "CREATE" and not subresource and resource.qualified == "nodes"

    async def admit(self, attributes: Attributes) -> None:
        """Add the taint, unless present."""
        node = attributes.obj or {}
        spec = dict(node.get("spec") or {})
        taints = spec.get("taints") or []
        if any(each.get("key") == self._not_ready and each.get("effect") == _EFFECT for each in taints):
            return
        put(spec, "taints", [*taints, {"key": self._not_ready, "effect": _EFFECT}], _FROM_TAINTS_ON)
        attributes.fill({**node, "spec": spec})
