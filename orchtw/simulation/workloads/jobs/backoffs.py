"""Delays before failed pods of a Job are replaced."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from orchtw.simulation.workloads.jobs.tally import ended_at
from orchtw.wire.objects import Object

FIRST_S: Final = 10.0
LONGEST_S: Final = 360.0


def backoff_left_s(failed: Sequence[Object], succeeded: Sequence[Object], now: float) -> float:
    """Return the seconds until a new pod may start: the delay doubles with each failure since the last success."""
    success = max(map(ended_at, succeeded), default=0)
    failures = [time for pod in failed if (time := ended_at(pod)) > success or not success]
    if not failures:
        return 0.0
    delay_s = min(FIRST_S * 2.0 ** min(len(failures) - 1, 10), LONGEST_S)
    return max(0.0, max(failures) + delay_s - now)
