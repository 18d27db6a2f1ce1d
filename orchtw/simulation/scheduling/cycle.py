"""One attempt to find a node for a pod (reference SIM-62)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from random import Random
from typing import Final

import attrs

from orchtw.naming.naming import Naming
from orchtw.responses.slices import Steps
from orchtw.simulation.scheduling.cluster import Cluster
from orchtw.simulation.scheduling.fitting import Fitting
from orchtw.simulation.scheduling.node_info import NodeInfo
from orchtw.simulation.scheduling.pod_info import PodInfo
from orchtw.simulation.scheduling.reasons import Refusal
from orchtw.simulation.scheduling.scores import scores
from orchtw.simulation.scheduling.volumes import VolumeSources

_ALL_UP_TO: Final = 100
"""Number of nodes up to which all are looked at."""
_ENOUGH: Final = 50
"""Nodes that are compared for a pod without preferences among more: -60 % CPU against the release's share."""
_STEP: Final = 64
"""Nodes that are looked at in a row: about half a millisecond."""


@attrs.frozen(slots=True, eq=False)
class Surroundings:
    """The picture of the cluster, and what else an attempt needs."""

    cluster: Cluster
    sources: VolumeSources
    naming: Naming
    random: Random

    def fitting(self, pod: PodInfo) -> Fitting:
        """Return the filters of a pod, for the cluster as it is now."""
        return Fitting(pod, self.cluster, self.sources, self.naming)


@attrs.frozen(slots=True, eq=False)
class Attempt:
    """Outcome of an attempt: the node, or the refusals by the names of nodes. `fitting` has the pod's filters."""

    fitting: Fitting
    node: NodeInfo | None
    refusals: dict[str, Refusal]


class Cycle:
    """Finds nodes for pods, and begins each time behind the nodes that it looked at last."""

    def __init__(self, around: Surroundings) -> None:
        self._around = around
        self._next = 0

    def attempt(self, pod: PodInfo) -> Steps[Attempt]:
        """Return the outcome for a pod."""
        cluster, fitting = self._around.cluster, self._around.fitting(pod)
        refusals: dict[str, Refusal] = {}
        if fitting.refusal is not None:
            return Attempt(fitting, None, dict.fromkeys((node.name for node in cluster.order), fitting.refusal))
        reserved = cluster.nodes.get(pod.nominated) if pod.nominated else None
        if reserved is not None and reserved.present and fitting.check(reserved) is None:
            return Attempt(fitting, reserved, {})
        found = yield from self._fitting(pod, fitting.check, refusals)
        node = self._best(pod, found) if found else None
        return Attempt(fitting, node, refusals)

    def _fitting(
        self, pod: PodInfo, check: Callable[[NodeInfo], Refusal | None], refusals: dict[str, Refusal]
    ) -> Steps[list[NodeInfo]]:
        """Return nodes that the pod fits, as many as it takes for a good choice."""
        order = self._around.cluster.order
        enough, found = _enough(pod, len(order)), []
        start = self._next % len(order) if order else 0
        looked_at = 0
        for index in range(start, start + len(order)):
            node = order[index % len(order)]
            refusal = check(node)
            looked_at += 1
            if refusal is not None:
                refusals[node.name] = refusal
            else:
                found.append(node)
                if len(found) >= enough:
                    break
            if not looked_at % _STEP:
                yield
        self._next = start + looked_at
        # A node may have gone while other work had its turn.
        return [node for node in found if node.present]

    def _best(self, pod: PodInfo, nodes: Sequence[NodeInfo]) -> NodeInfo:
        """Return one of the nodes with the highest score."""
        if len(nodes) == 1:
            return nodes[0]
        found = scores(pod, nodes, self._around.cluster)
        most = max(found)
        best = [node for node, score in zip(nodes, found, strict=True) if score >= most]
        return best[int(self._around.random.random() * len(best))]


def _prefers(pod: PodInfo) -> bool:
    """Report whether the pod has preferences of its own."""
    wishes = pod.affinity is not None and (pod.affinity.prefers_near or pod.affinity.prefers_apart)
    return bool(wishes or pod.preferred_nodes or any(not each.hard for each in pod.spreads))


def _enough(pod: PodInfo, nodes: int) -> int:
    """Return the number of fitting nodes among which to choose; the release's share for pods with preferences."""
    if nodes <= _ALL_UP_TO:
        return nodes
    if not _prefers(pod):
        return _ENOUGH
    return max(_ALL_UP_TO, int(nodes * max(5.0, 50 - nodes / 125) / 100))
