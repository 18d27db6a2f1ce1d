"""Filters that look at one node and its pods: taints, affinity to nodes, ports, resources (reference SIM-63)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from orchtw.simulation.nodes.evictions import tolerates
from orchtw.simulation.scheduling import reasons
from orchtw.simulation.scheduling.node_info import NodeInfo
from orchtw.simulation.scheduling.pod_info import PodInfo, ports_conflict
from orchtw.simulation.scheduling.reasons import Refusal
from orchtw.wire.objects import Object

_UNSCHEDULABLE: Final = Refusal(reasons.NODE_UNSCHEDULABLE, ("node(s) were unschedulable",), lasting=True)
_AFFINITY: Final = Refusal(
    reasons.NODE_AFFINITY, ("node(s) didn't match Pod's node affinity/selector",), lasting=True
)
_PORTS: Final = Refusal(
    reasons.NODE_PORTS, ("node(s) didn't have free ports for the requested pod ports",)
)
_TOO_MANY: Final = "Too many pods"


class NodeFilters:
    """Filters for one pod. `unschedulable` is the taint of cordoned nodes."""

    __slots__ = ("_pod", "_tolerates_cordon")

    def __init__(self, pod: PodInfo, unschedulable: Object) -> None:
        self._pod = pod
        self._tolerates_cordon = _tolerated(pod.tolerations, unschedulable)

    def check(self, node: NodeInfo) -> Refusal | None:
        """Return why the pod does not fit the node, the first reason in the release's order."""
        pod = self._pod
        if node.unschedulable and not self._tolerates_cordon:
            return _UNSCHEDULABLE
        if node.taints and (refusal := self._untolerated(node)) is not None:
            return refusal
        if pod.choice is not None and not pod.choice.matches(node.name, node.labels):
            return _AFFINITY
        if pod.ports and any(ports_conflict(port, taken) for port in pod.ports for taken in node.ports):
            return _PORTS
        shape, has_room = node.has_room
        if shape is not pod.shape:
            has_room = self._has_room(node)
            node.has_room = pod.shape, has_room
        return None if has_room else self._shortages(node)

    def _untolerated(self, node: NodeInfo) -> Refusal | None:
        for taint in node.taints:
            if not _tolerated(self._pod.tolerations, taint):
                text = f"node(s) had untolerated taint {{{taint['key']}: {taint.get('value') or ''}}}"
                return Refusal(reasons.TAINTS, (text,), lasting=True)
        return None

    def _has_room(self, node: NodeInfo) -> bool:
        """Report whether the node has all resources that the pod asks for; nearly all nodes have."""
        allocatable, used = node.allocatable, node.used
        return len(node.pods) < node.most_pods and all(
            amount <= allocatable.get(name, 0) - used[name] for name, amount in self._pod.shape[2]
        )

    def _shortages(self, node: NodeInfo) -> Refusal:
        found = [_TOO_MANY] if len(node.pods) >= node.most_pods else []
        for name, amount in self._pod.requests.items():
            if amount and amount > node.allocatable.get(name, 0) - node.used[name]:
                found.append(f"Insufficient {name}")
        return Refusal(reasons.NODE_RESOURCES, tuple(found))


def _tolerated(tolerations: Sequence[Object], taint: Object) -> bool:
    return any(tolerates(each, taint) for each in tolerations)
