"""Scores of the nodes that a pod fits: the release's plugins with the release's weights (reference SIM-65)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import log
from typing import Any, Final, cast

from orchtw.simulation.nodes.evictions import tolerates
from orchtw.simulation.scheduling.cluster import Cluster
from orchtw.simulation.scheduling.node_info import NodeInfo
from orchtw.simulation.scheduling.pod_info import PodInfo
from orchtw.simulation.scheduling.terms import PodTerm, Spread

_MOST: Final = 100.0
_TAINTS, _NODES, _SPREAD, _PODS = 3, 2, 2, 2
"""Weights; those of resources are 1."""
_HOST_SKEW, _ZONE_SKEW = 3, 5
"""Skews of the constraints that pods of a controller have by default."""

Scores = list[float]


def scores(pod: PodInfo, nodes: Sequence[NodeInfo], cluster: Cluster) -> Scores:
    """Return the scores of nodes, in their order."""
    shape = pod.shape
    known = [node.free_score for node in nodes]
    total = [
        score if of is shape else _resources(pod, node) for node, (of, score) in zip(nodes, known, strict=True)
    ]
    if any(node.soft_taints for node in nodes):
        _add(total, _TAINTS, _reversed([_intolerable(pod, node) for node in nodes]))
    if pod.preferred_nodes:
        _add(total, _NODES, _normalised([_wanted(pod, node) for node in nodes]))
    soft = [each for each in pod.spreads if not each.hard]
    if soft:
        _add(total, _SPREAD, _spread(pod, soft, nodes, cluster))
    elif pod.controller and not pod.spreads:
        _add(total, _SPREAD, _spread_by_default(pod, nodes, cluster))
    if len(cluster.terms.wishes) or (pod.affinity and (pod.affinity.prefers_near or pod.affinity.prefers_apart)):
        _add(total, _PODS, _near_pods(pod, nodes, cluster))
    return total


def _add(total: Scores, weight: int, found: Scores) -> None:
    for index, score in enumerate(found):
        total[index] += weight * score


def _resources(pod: PodInfo, node: NodeInfo) -> float:
    """Return the scores of free resources and of their balance; the node keeps their sum."""
    allocatable = node.allocatable
    cpu, memory = allocatable.get("cpu", 0), allocatable.get("memory", 0)
    cpu_share = min(1.0, (node.score_cpu + pod.score_cpu) / cpu) if cpu else 1.0
    memory_share = min(1.0, (node.score_memory + pod.score_memory) / memory) if memory else 1.0
    free = (2.0 - cpu_share - memory_share) * _MOST / 2
    score = free + (1.0 - abs(cpu_share - memory_share) / 2) * _MOST
    node.free_score = pod.shape, score
    return score


def _normalised(found: Scores) -> Scores:
    most = max(found)
    return [_MOST * each / most for each in found] if most else found


def _reversed(found: Scores) -> Scores:
    most = max(found)
    return [_MOST * (1 - each / most) for each in found] if most else [_MOST for _ in found]


def _intolerable(pod: PodInfo, node: NodeInfo) -> float:
    return float(
        sum(not any(tolerates(each, taint) for each in pod.tolerations) for taint in node.soft_taints)
    )


def _wanted(pod: PodInfo, node: NodeInfo) -> float:
    return float(sum(weight for weight, term in pod.preferred_nodes if term.matches(node.name, node.labels)))


def _spread_by_default(pod: PodInfo, nodes: Sequence[NodeInfo], cluster: Cluster) -> Scores:
    """Prefer nodes and zones with few pods of the same controller."""
    controller, zones = pod.controller, {node.zone for node in nodes}
    of_host, of_zone = log(len(nodes) + 2), log(len(zones) + 2)
    base = float(_HOST_SKEW - 1 + _ZONE_SKEW - 1)
    in_zones = {zone: base + cluster.in_zone(zone, controller) * of_zone for zone in zones}
    return _cheapest([node.controllers.get(controller, 0) * of_host + in_zones[node.zone] for node in nodes])


def _spread(pod: PodInfo, soft: Sequence[Spread], nodes: Sequence[NodeInfo], cluster: Cluster) -> Scores:
    """Prefer domains with few of the pods that constraints count; nodes without a label of theirs are last."""
    costs: list[float | None] = [0.0] * len(nodes)
    for each in soft:
        counts = cluster.spread(pod.namespace, each).domain(each.topology)
        values = [node.labels.get(each.topology) for node in nodes]
        weight = log(len({value for value in values if value is not None}) + 2)
        for index, value in enumerate(values):
            before = costs[index]
            if value is None or before is None:
                costs[index] = None
            else:
                costs[index] = before + counts.get(value, 0) * weight + each.max_skew - 1
    known = [cost for cost in costs if cost is not None]
    if not known:
        return [0.0] * len(nodes)
    scored = iter(_cheapest(known))
    return [0.0 if cost is None else next(scored) for cost in costs]


def _cheapest(costs: Scores) -> Scores:
    least, most = min(costs), max(costs)
    return [_MOST * (most + least - cost) / most for cost in costs] if most else [_MOST for _ in costs]


def _near_pods(pod: PodInfo, nodes: Sequence[NodeInfo], cluster: Cluster) -> Scores:
    """Weigh the pod's own preferences, and those of running pods that mean it."""
    wishes: list[tuple[int, str, Mapping[str, int]]] = []
    if pod.affinity:
        for weight, term in pod.affinity.prefers_near:
            wishes.append((weight, term.topology, cluster.near((term,)).domain(term.topology)))
        for weight, term in pod.affinity.prefers_apart:
            wishes.append((-weight, term.topology, cluster.near((term,)).domain(term.topology)))
    for each, tally in cluster.terms.wishes.items():
        weight, term = cast(tuple[int, PodTerm], each)
        if term.matches(pod.namespace, pod.labels, cluster.namespace_labels):
            wishes.append((weight, term.topology, tally.domain(term.topology)))
    found = [_sum(wishes, node.labels) for node in nodes]
    least, most = min(found), max(found)
    return [_MOST * (each - least) / (most - least) for each in found] if most > least else [0.0 for _ in found]


def _sum(wishes: Sequence[tuple[int, str, Mapping[str, int]]], labels: Mapping[str, Any]) -> float:
    return float(sum(weight * counts.get(labels[key], 0) for weight, key, counts in wishes if key in labels))
