"""Bound on the events that all simulated controllers write together (reference SIM-23)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from orchtw.simulation.world import World

BURST: Final = 300.0
RATE: Final = 30.0
"""Events that are written at once, and in a real second: a pod that starts has six, which cost more than all its
other writes. Some fifty pods have all of theirs; of thousands that start together, some have. Warnings have as much
again.
"""


class Bucket:
    """Tokens that come back by the time; `seconds` is the clock."""

    def __init__(self, seconds: Callable[[], float], burst: float, rate: float) -> None:
        self._seconds = seconds
        self._burst = burst
        self._rate = rate
        self._left = burst
        self._at = seconds()

    def take(self) -> bool:
        """Take a token; report whether there was one."""
        now = self._seconds()
        self._left = min(self._burst, self._left + (now - self._at) * self._rate)
        self._at = now
        if self._left < 1.0:
            return False
        self._left -= 1.0
        return True


class EventBudget:
    """One bucket for each type of event."""

    def __init__(self, world: World) -> None:
        seconds = world.host.clock.seconds
        self._buckets = {kind: Bucket(seconds, BURST, RATE) for kind in ("Normal", "Warning")}

    def take(self, event_type: str) -> bool:
        """Report whether an event of that type may be written now; those that may not are dropped."""
        return self._buckets[event_type].take()
