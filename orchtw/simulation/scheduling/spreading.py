"""Topology spread: no domain may have many more of a pod's like than another (reference SIM-64)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Final

from orchtw.simulation.nodes.evictions import tolerates
from orchtw.simulation.scheduling import reasons
from orchtw.simulation.scheduling.cluster import Cluster
from orchtw.simulation.scheduling.node_info import NodeInfo
from orchtw.simulation.scheduling.pod_info import PodInfo
from orchtw.simulation.scheduling.reasons import Refusal
from orchtw.simulation.scheduling.terms import Spread

_TEXT: Final = "node(s) didn't match pod topology spread constraints"
_SKEWED: Final = Refusal(reasons.TOPOLOGY_SPREAD, (_TEXT,))
_UNLABELLED: Final = Refusal(reasons.TOPOLOGY_SPREAD, (f"{_TEXT} (missing required label)",), lasting=True)


class SpreadFilter:
    """Filter by the required constraints of one pod, which it has."""

    def __init__(self, pod: PodInfo, cluster: Cluster) -> None:
        hard = [each for each in pod.spreads if each.hard]
        keys = frozenset(each.topology for each in hard)
        self._limits: list[tuple[str, Mapping[str, int], int]] = []
        """Label, numbers of pods by its value, and the number that a value with room has at most."""
        for each in hard:
            counts, domains = _counts(pod, cluster, each, keys)
            enough = len(domains) >= each.min_domains
            least = min((counts.get(value, 0) for value in domains), default=0) if enough else 0
            self._limits.append((each.topology, counts, least + each.max_skew - each.selector.matches(pod.labels)))

    def check(self, node: NodeInfo) -> Refusal | None:
        """Return why the pod does not fit the node."""
        for key, counts, most in self._limits:
            value = node.labels.get(key)
            if value is None:
                return _UNLABELLED
            if counts.get(value, 0) > most:
                return _SKEWED
        return None


def _counts(
    pod: PodInfo, cluster: Cluster, spread: Spread, keys: frozenset[str]
) -> tuple[Mapping[str, int], Mapping[str, int]]:
    """Return the numbers of pods, and of nodes, by the value of the constraint's label, as far as nodes count."""
    tally = cluster.spread(pod.namespace, spread)
    everywhere = all(cluster.domain(key).total() == len(cluster.order) for key in keys)
    if everywhere and not (pod.choice is not None and spread.honors_choice) and not spread.honors_taints:
        return tally.domain(spread.topology), cluster.domain(spread.topology)
    pods: Counter[str] = Counter()
    domains: Counter[str] = Counter()
    for node in cluster.order:
        if _counted(pod, node, spread, keys):
            value = node.labels[spread.topology]
            domains[value] += 1
            pods[value] += tally.by_node.get(node.name, 0)
    return pods, domains


def _counted(pod: PodInfo, node: NodeInfo, spread: Spread, keys: frozenset[str]) -> bool:
    """Report whether a node counts for the constraint."""
    if not all(key in node.labels for key in keys):
        return False
    if spread.honors_choice and pod.choice is not None and not pod.choice.matches(node.name, node.labels):
        return False
    return not spread.honors_taints or all(
        any(tolerates(each, taint) for each in pod.tolerations) for taint in node.taints
    )
