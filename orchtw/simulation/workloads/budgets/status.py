"""Status of PodDisruptionBudgets, and evictions under way."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from orchtw.simulation.workloads.budgets.expectation import Expectation
from orchtw.simulation.workloads.conditions import find, without
from orchtw.simulation.workloads.pods import PodView
from orchtw.values.times import parse_time, rfc3339
from orchtw.wire.objects import Object

ALLOWED: Final = "DisruptionAllowed"
EVICTED_S: Final = 120.0
"""Time after which a pod that was to be evicted and is still there counts again."""


def disrupted(
    status: Object, pods: Sequence[PodView], now: float
) -> tuple[dict[str, str], list[PodView], float | None]:
    """Return the evictions that are under way, pods whose eviction is overdue, and the seconds until the next is."""
    noted: Mapping[str, str] = status.get("disruptedPods") or {}
    kept: dict[str, str] = {}
    overdue: list[PodView] = []
    waits: list[float] = []
    for pod in pods:
        since = noted.get(pod.name)
        if since is None or pod.terminating:
            continue
        left_s = parse_time(since)[0] + EVICTED_S - now
        if left_s <= 0:
            overdue.append(pod)
        else:
            kept[pod.name] = since
            waits.append(left_s)
    return kept, overdue, min(waits, default=None)


def budget_status(
    budget: Object, pods: Sequence[PodView], expectation: Expectation, evicted: Mapping[str, str], now: float
) -> Object:
    """Return the status of a budget with these pods."""
    healthy = sum(pod.ready and not pod.terminating and pod.name not in evicted for pod in pods)
    allowed = max(0, healthy - expectation.desired) if expectation.expected > 0 else 0
    reason = "SufficientPods" if allowed else "InsufficientPods"
    return {
        "currentHealthy": healthy,
        "desiredHealthy": expectation.desired,
        "expectedPods": expectation.expected,
        "disruptionsAllowed": allowed,
        "disruptedPods": dict(evicted),
        "observedGeneration": budget["metadata"].get("generation", 0),
        "conditions": _conditions(budget, "True" if allowed else "False", reason, "", now),
    }


def failed_status(budget: Object, message: str, now: float) -> Object:
    """Return the status of a budget that cannot be worked out: nothing may be disrupted."""
    status = budget.get("status") or {}
    return {
        **status, "disruptionsAllowed": 0, "conditions": _conditions(budget, "False", "SyncFailed", message, now)
    }


def _conditions(budget: Object, value: str, reason: str, message: str, now: float) -> list[Object]:
    status, meta = budget.get("status") or {}, budget["metadata"]
    known = find(status, ALLOWED)
    since = known["lastTransitionTime"] if known is not None and known["status"] == value else rfc3339(int(now))
    made = {
        "type": ALLOWED, "status": value, "reason": reason, "message": message, "lastTransitionTime": since,
        "observedGeneration": meta.get("generation", 0),
    }  # fmt: skip
    return [*without(status.get("conditions") or (), ALLOWED), made]
