"""PodResizeValidator: a running pod is not resized beyond what its node can give (reference PLUG-112)."""

from __future__ import annotations

from typing import Final

from orchtw.admission.attributes import Attributes, Operation
from orchtw.admission.host import AdmissionHost
from orchtw.errors import Cause
from orchtw.quota.amounts import ZERO, Amounts, amounts
from orchtw.quota.pods import pod_requests
from orchtw.registry.listers.lister import Lister
from orchtw.registry.listers.nodes import NodeState, nodes
from orchtw.schema.catalogue import ResourceType
from orchtw.values.causes import go_quote
from orchtw.wire.objects import Object

_UNITS: Final = (("cpu", 10**6), ("memory", 10**9))
"""Compute resources with the billionths of the unit in which they are shown: thousandths of a core, and bytes."""

_SYSTEM: Final = "orch.io/os"
_LINUX: Final = "linux"


class PodResizeValidator:
    """Plugin PodResizeValidator; `system` is the label with a node's operating system. Off, it does nothing."""

    def __init__(self, known: Lister[NodeState], system: str, *, on: bool = True) -> None:
        self._nodes = known
        self._system = system
        self._on = on

    @classmethod
    def of(cls, host: AdmissionHost) -> PodResizeValidator:
        """Return the plugin for the server's nodes, under the gate of resizes."""
        system = host.naming.translate(_SYSTEM)
        return cls(nodes(host.targets), system, on=host.gates["InPlacePodVerticalScaling"])

    def handles(self, operation: Operation, resource: ResourceType, subresource: str) -> bool:
        """Handle updates of the resize of Pods."""
        return self._on and operation == "UPDATE" and subresource == "resize" and resource.qualified == "pods"

    async def validate(self, attributes: Attributes) -> None:
        """Raise Forbidden (403) for more than the node can give, and for a node that cannot resize."""
        pod, old = attributes.obj or {}, attributes.old or {}
        spec = pod.get("spec") or {}
        name = spec.get("nodeName")
        if not name or spec == old.get("spec"):
            return
        node = await self._find(name)
        if node is None:
            raise attributes.forbidden(f"node {go_quote(name)} not found")
        if lacking := _lacking(spec, node):
            why = f"Node didn't have enough allocatable resources: {'; '.join(lacking)}"
            raise attributes.forbidden(why, [Cause("NodeCapacity", "", "")])
        system = node.labels.get(self._system, "")
        if system != _LINUX:
            why = f"pod resize is only supported on linux nodes, node {go_quote(name)} is {go_quote(system)}"
            raise attributes.forbidden(why, [Cause("UnsupportedPlatform", "", "")])

    async def _find(self, name: str) -> NodeState | None:
        """Return the node; one that another process has just made counts."""
        node = self._nodes.get("", name)
        if node is None and (wait := self._nodes.due()) is not None:
            await wait
            node = self._nodes.get("", name)
        return node


def _lacking(spec: Object, node: NodeState) -> list[str]:
    """Return a text for each resource of which the pod requests more than the node has, rounded up as both are."""
    requested, allocatable = pod_requests(spec), amounts(node.allocatable)
    found = []
    for name, unit in _UNITS:
        wanted, has = _units(requested, name, unit), _units(allocatable, name, unit)
        if wanted > has:
            found.append(f"{name}, requested: {wanted}, allocatable: {has}")
    return found


def _units(found: Amounts, name: str, unit: int) -> int:
    return -(-found.get(name, ZERO).nanos // unit)
