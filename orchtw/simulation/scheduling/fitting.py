"""All filters of one pod, put together (reference SIM-63)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from orchtw.naming.naming import Naming
from orchtw.simulation.scheduling.cluster import Cluster
from orchtw.simulation.scheduling.filters import NodeFilters
from orchtw.simulation.scheduling.node_info import NodeInfo
from orchtw.simulation.scheduling.pod_affinity import PodAffinityFilter
from orchtw.simulation.scheduling.pod_info import PodInfo
from orchtw.simulation.scheduling.reasons import Refusal
from orchtw.simulation.scheduling.spreading import SpreadFilter
from orchtw.simulation.scheduling.volumes import VolumeFilter, VolumeSources

CORDONED: Final = "node.orch.io/unschedulable"

_Check = Callable[[NodeInfo], Refusal | None]


class Fitting:
    """Filters that know what pods and volumes there are now. `refusal`: why no node at all will do."""

    __slots__ = ("_check", "_checks", "_pod", "refusal", "volumes")

    def __init__(self, pod: PodInfo, cluster: Cluster, sources: VolumeSources, naming: Naming) -> None:
        self._pod = pod
        self.volumes = VolumeFilter(pod, sources, naming) if pod.claims else None
        self.refusal = None if self.volumes is None else self.volumes.refusal
        cordoned = {"key": naming.translate(CORDONED), "effect": "NoSchedule"}
        self._checks: list[_Check] = [NodeFilters(pod, cordoned).check]
        if self.volumes is not None:
            self._checks.append(self.volumes.check)
        if any(each.hard for each in pod.spreads):
            self._checks.append(SpreadFilter(pod, cluster).check)
        affinity = PodAffinityFilter(pod, cluster)
        if not affinity.idle:
            self._checks.append(affinity.check)
        # Most pods have one check, which is called for each of many nodes.
        self._check: _Check = self._checks[0] if len(self._checks) == 1 else self._first_refusal

    def check(self, node: NodeInfo) -> Refusal | None:
        """Return why the pod does not fit the node, with the pods that have room reserved there."""
        if node.nominated:
            return self._check_reserved(node)
        return self._check(node)

    def _first_refusal(self, node: NodeInfo) -> Refusal | None:
        for check in self._checks:
            if (refusal := check(node)) is not None:
                return refusal
        return None

    def _check_reserved(self, node: NodeInfo) -> Refusal | None:
        """Check the node as if pods of at least this priority, which wait for it, were on it already."""
        pod = self._pod
        waiting = [
            each
            for each in node.nominated.values()
            if each.key != pod.key and each.priority >= pod.priority and each.key not in node.pods
        ]
        for each in waiting:
            node.add(each)
        try:
            refusal = self._check(node)
        finally:
            for each in waiting:
                node.remove(each)
        return refusal or self._check(node)
