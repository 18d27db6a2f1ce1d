"""Disruption budgets, as preemption heeds them where it can (reference SIM-67)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from orchtw.errors import StatusError
from orchtw.rules.selectors import LabelSelector, selector_of_object
from orchtw.simulation.scheduling.pod_info import PodInfo
from orchtw.wire.objects import Object


class Budgets:
    """Budgets with the disruptions that they allow now."""

    def __init__(self, budgets: Iterable[Object]) -> None:
        self._budgets = [_read(each) for each in budgets]

    def divide(self, pods: Sequence[PodInfo]) -> tuple[list[PodInfo], list[PodInfo]]:
        """Return the pods whose end would break a budget if the earlier ones ended too, and the others."""
        left = [allowed for *_, allowed in self._budgets]
        breaking: list[PodInfo] = []
        fine: list[PodInfo] = []
        for pod in pods:
            breaks = False
            for index, (namespace, selector, disrupted, _) in enumerate(self._budgets):
                if namespace == pod.namespace and pod.name not in disrupted and selector.matches(pod.labels):
                    left[index] -= 1
                    breaks = breaks or left[index] < 0
            (breaking if breaks else fine).append(pod)
        return breaking, fine


def _read(budget: Object) -> tuple[str, LabelSelector, frozenset[str], int]:
    status = budget.get("status") or {}
    try:
        selector = selector_of_object(budget["spec"].get("selector"))
    except StatusError:
        selector = LabelSelector(nothing=True)
    if selector.empty:
        selector = LabelSelector(nothing=True)
    allowed = status.get("disruptionsAllowed") or 0
    return budget["metadata"]["namespace"], selector, frozenset(status.get("disruptedPods") or ()), allowed
