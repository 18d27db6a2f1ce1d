"""Required affinity of a pod to others, and what pods that run ask of it (reference SIM-64)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, cast

from orchtw.simulation.scheduling import reasons
from orchtw.simulation.scheduling.cluster import Cluster
from orchtw.simulation.scheduling.node_info import NodeInfo
from orchtw.simulation.scheduling.pod_info import PodInfo
from orchtw.simulation.scheduling.reasons import Refusal
from orchtw.simulation.scheduling.terms import PodTerm

_NEAR: Final = Refusal(reasons.POD_AFFINITY, ("node(s) didn't match pod affinity rules",), lasting=True)
_APART: Final = Refusal(reasons.POD_AFFINITY, ("node(s) didn't match pod anti-affinity rules",))
_OTHERS: Final = Refusal(reasons.POD_AFFINITY, ("node(s) didn't satisfy existing pods anti-affinity rules",))

_Places = tuple[tuple[str, Mapping[str, int]], ...]
"""Labels, each with the numbers of pods by its value."""


class PodAffinityFilter:
    """Filter by the terms of one pod and by those of running pods that mean it."""

    def __init__(self, pod: PodInfo, cluster: Cluster) -> None:
        near = pod.affinity.near if pod.affinity else ()
        apart = pod.affinity.apart if pod.affinity else ()
        tally = cluster.near(near) if near else None
        self._near: _Places = ()
        if tally is not None:
            self._near = tuple((each.topology, tally.domain(each.topology)) for each in near)
        self._apart: _Places = tuple((each.topology, cluster.near((each,)).domain(each.topology)) for each in apart)
        self._others = _forbidden(pod, cluster)
        means_itself = all(each.matches(pod.namespace, pod.labels, cluster.namespace_labels) for each in near)
        self._first = means_itself and not any(counts for _, counts in self._near)
        """The pod is the first of those that want to be near each other."""

    @property
    def idle(self) -> bool:
        """Report whether every node passes."""
        return not (self._near or self._apart or self._others)

    def check(self, node: NodeInfo) -> Refusal | None:
        """Return why the pod does not fit the node."""
        labels = node.labels
        for key, counts in self._near:
            value = labels.get(key)
            if value is None or not (self._first or counts.get(value)):
                return _NEAR
        for key, counts in self._apart:
            if counts.get(labels.get(key, "")) and key in labels:
                return _APART
        for key, counts in self._others:
            if counts.get(labels.get(key, "")) and key in labels:
                return _OTHERS
        return None


def _forbidden(pod: PodInfo, cluster: Cluster) -> _Places:
    """Return the places of running pods that do not want this one near them."""
    found = []
    for each, tally in cluster.terms.apart.items():
        term = cast(PodTerm, each)
        if term.matches(pod.namespace, pod.labels, cluster.namespace_labels):
            found.append((term.topology, tally.domain(term.topology)))
    return tuple(found)
