"""Status of a HorizontalPodAutoscaler, written step by step."""

from __future__ import annotations

from collections.abc import Sequence

from orchtw.simulation.workloads.conditions import condition
from orchtw.values.times import rfc3339
from orchtw.wire.objects import Object


class Report:
    """The status that one look at an autoscaler leads to; what it does not say stays."""

    def __init__(self, autoscaler: Object, now: float) -> None:
        self._now = now
        self.status: Object = dict(autoscaler.get("status") or {})

    def condition(self, kind: str, value: bool, reason: str, message: str) -> None:
        """Set a condition; its time changes with its value alone."""
        made = condition(kind, "True" if value else "False", reason, message, self._now)
        known = list(self.status.get("conditions") or ())
        for place, each in enumerate(known):
            if each["type"] == kind:
                if each["status"] == made["status"]:
                    made["lastTransitionTime"] = each.get("lastTransitionTime") or rfc3339(int(self._now))
                known[place] = made
                break
        else:
            known.append(made)
        self.status["conditions"] = known

    def replicas(self, current: int, desired: int) -> None:
        """Set the numbers of replicas."""
        self.status.update(currentReplicas=current, desiredReplicas=desired)

    def metrics(self, current: Sequence[Object]) -> None:
        """Set the values of the metrics."""
        self.status["currentMetrics"] = list(current)
