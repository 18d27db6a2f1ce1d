"""Waiting until the simulated cluster has done what is due."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final

from twisted.internet.interfaces import IReactorTime
from twisted.internet.task import deferLater

from orchtw.client.work_queue import WorkQueue

LOOK_S: Final = 0.002
"""Real seconds between two looks."""
LOOKS: Final = 3
"""Looks in a row that must find all queues at rest: a write of one controller is work for another."""
LIMIT_S: Final = 5.0
"""Longest real wait for one timer's work, which a controller that fails again and again would never end."""


class Settling:
    """Waits for queues to rest; keys that return after failures are waited for as well.

    After a wait in vain failures are not waited for until they are over: an advance by a day has many timers.
    """

    def __init__(self, clock: IReactorTime, queues: Callable[[], Sequence[WorkQueue[Any]]]) -> None:
        self._clock = clock
        self._queues = queues
        self._gave_up = False

    async def settle(self) -> None:
        """Return when no queue has work, or after LIMIT_S."""
        end, quiet = self._clock.seconds() + LIMIT_S, 0
        while quiet < LOOKS and self._clock.seconds() < end:
            await deferLater(self._clock, LOOK_S, lambda: None)
            quiet = quiet + 1 if self._at_rest() else 0
        self._gave_up = self._gave_up or quiet < LOOKS

    def _at_rest(self) -> bool:
        queues = self._queues()
        failing = any(queue.failing for queue in queues)
        self._gave_up = self._gave_up and failing
        return not any(queue.busy for queue in queues) and (self._gave_up or not failing)
