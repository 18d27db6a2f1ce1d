"""Assessment of all metrics of an autoscaler together."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from orchtw.simulation.workloads.autoscaling.metrics import Proposal, Scene, Unmeasured, propose
from orchtw.wire.objects import Object


class Assessment(msgspec.Struct, frozen=True, kw_only=True):
    """The proposal that counts, None if too little is known; all current values; metrics that could not be had."""

    proposal: Proposal | None
    current: Sequence[Object]
    failures: Sequence[Unmeasured]
    count: int

    @property
    def summary(self) -> str:
        """Message about the metrics that could not be had."""
        return (
            f"invalid metrics ({len(self.failures)} invalid out of {self.count}), first error is: {self.failures[0]}"
        )


def decide(metrics: Sequence[Object], scene: Scene) -> Assessment:
    """Return the largest proposal; with metrics that could not be had, none that would scale down."""
    proposals: list[Proposal] = []
    failures: list[Unmeasured] = []
    for metric in metrics:
        try:
            proposals.append(propose(metric, scene))
        except Unmeasured as error:
            failures.append(error)
    best = max(proposals, key=lambda each: each.replicas, default=None)
    if best is not None and failures and best.replicas < scene.current:
        best = None
    current = [each.current for each in proposals]
    return Assessment(proposal=best, current=current, failures=failures, count=len(metrics))
