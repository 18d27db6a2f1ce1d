"""Preemption: pods of lower priority make room for a pod that fits nowhere (reference SIM-67)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Final

import attrs

from orchtw.responses.slices import Steps
from orchtw.simulation.scheduling.budgets import Budgets
from orchtw.simulation.scheduling.cycle import Surroundings
from orchtw.simulation.scheduling.node_info import NodeInfo
from orchtw.simulation.scheduling.pod_info import PodInfo
from orchtw.simulation.scheduling.reasons import NO_VICTIMS, NOT_HELPFUL, Refusal, summary

_LEAST_CANDIDATES: Final = 100
_NEVER: Final = "not eligible due to preemptionPolicy=Never."
_WAITING: Final = "not eligible due to a terminating pod on the nominated node."


@attrs.frozen(slots=True, eq=False)
class Candidate:
    """A node, the pods that would have to leave it, the most important first, and the budgets' breaches by that."""

    node: NodeInfo
    victims: tuple[PodInfo, ...]
    breaches: int


@attrs.frozen(slots=True, eq=False)
class Preemption:
    """Outcome of preemption: a candidate, or `message` with the reason against it.

    `keeps`: the node that was reserved before stays reserved.
    """

    candidate: Candidate | None = None
    message: str = ""
    keeps: bool = False


def preempt(
    pod: PodInfo, refusals: Mapping[str, Refusal], around: Surroundings, budgets: Callable[[], Budgets]
) -> Steps[Preemption]:
    """Find the pods that should make room for one that the nodes have refused."""
    nodes = around.cluster.nodes
    if not pod.preempts:
        return Preemption(message=_NEVER)
    if _waits(pod, nodes.get(pod.nominated), refusals):
        return Preemption(message=_WAITING, keeps=True)
    helpful = [name for name, refusal in refusals.items() if not refusal.lasting]
    reasons: Counter[str] = Counter({NOT_HELPFUL: len(refusals) - len(helpful)})
    candidates: list[Candidate] = []
    most = max(_LEAST_CANDIDATES, len(refusals) // 10)
    if not around.cluster.has_lower(pod.priority):
        reasons[NO_VICTIMS], helpful = len(helpful), []
    for name in helpful:
        node = nodes.get(name)
        if node is None or not node.present:
            continue
        found = _victims(pod, node, around, budgets)
        if isinstance(found, Candidate):
            candidates.append(found)
            if len(candidates) >= most:
                break
        else:
            reasons.update(found)
        yield
    if not candidates:
        return Preemption(message=summary(len(refusals), ((each, n) for each, n in reasons.items() if n)))
    return Preemption(min(candidates, key=_cost))


def _waits(pod: PodInfo, reserved: NodeInfo | None, refusals: Mapping[str, Refusal]) -> bool:
    """Report whether pods that were preempted for this one are still about to end."""
    if reserved is None:
        return False
    refusal = refusals.get(reserved.name)
    if refusal is not None and refusal.lasting:
        return False
    return any(each.terminating and each.priority < pod.priority for each in reserved.pods.values())


def _victims(
    pod: PodInfo, node: NodeInfo, around: Surroundings, budgets: Callable[[], Budgets]
) -> Candidate | Sequence[str]:
    """Return the candidate of a node, or the reasons why the node has none.

    Pods are really taken out of the picture meanwhile: all filters then see the cluster without them.
    """
    lower = [each for each in node.pods.values() if each.priority < pod.priority]
    if not lower:
        return (NO_VICTIMS,)
    cluster = around.cluster
    for each in lower:
        cluster.remove(each)
    gone = set(lower)
    try:
        refusal = around.fitting(pod).check(node)
        if refusal is not None:
            return refusal.reasons
        breaking, fine = budgets().divide(sorted(lower, key=_importance))
        victims, breaches = [], 0
        for each in (*breaking, *fine):
            cluster.add(each)
            gone.discard(each)
            if around.fitting(pod).check(node) is not None:
                cluster.remove(each)
                gone.add(each)
                victims.append(each)
                breaches += each in breaking
    finally:
        for each in gone:
            cluster.add(each)
    return Candidate(node, tuple(sorted(victims, key=_importance)), breaches)


def _importance(pod: PodInfo) -> tuple[int, int]:
    """Order pods from the most important one: by priority, then by age."""
    return -pod.priority, pod.started


def _cost(candidate: Candidate) -> tuple[int, int, int, int, int]:
    """Order candidates by what is lost, in the release's order."""
    priorities = [each.priority for each in candidate.victims]
    highest = max(priorities, default=0)
    started = min((each.started for each in candidate.victims if each.priority == highest), default=0)
    return candidate.breaches, highest, sum(each + (1 << 31) for each in priorities), len(priorities), -started
