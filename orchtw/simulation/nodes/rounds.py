"""Rounds over the simulated nodes: each gives a sign of life once in every period, spread over it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import Final

from twisted.internet.defer import CancelledError, Deferred
from twisted.logger import Logger
from twisted.python.failure import Failure

from orchtw.client.concurrency import each
from orchtw.errors import StatusError
from orchtw.simulation.clock import SimulationClock, Timer

LEASE_PERIOD_S: Final = 10.0
LEASE_DURATION_S: Final = 40
MOST_RENEWALS: Final = 400
"""Largest number of Leases that are renewed in a real second: a fourth of one core."""

_GROUPS: Final = 10
_AT_A_TIME: Final = 16


def lease_period_s(nodes: int, speed: float) -> float:
    """Return the simulated seconds between two renewals of one Lease, longer where there would be too many."""
    return max(LEASE_PERIOD_S, nodes * speed / MOST_RENEWALS)


def grace_period_s(nodes: int, speed: float) -> float:
    """Return the simulated seconds of silence after which a node counts as unreachable."""
    return max(float(LEASE_DURATION_S), 4 * lease_period_s(nodes, speed))


class Rounds:
    """Calls `visit` for some of the names at a time, and `renew` for those whose last renewal is through."""

    _log = Logger()

    def __init__(
        self,
        clock: SimulationClock,
        visit: Callable[[Sequence[str]], None],
        renew: Callable[[str], Awaitable[None]],
    ) -> None:
        self._clock = clock
        self._visit = visit
        self._renew = renew
        self._groups: tuple[dict[str, None], ...] = tuple({} for _ in range(_GROUPS))
        self._group_of: dict[str, int] = {}
        self._busy: set[str] = set()
        self._writing: set[Deferred[None]] = set()
        self._timer: Timer | None = None
        self._turn = 0

    def __len__(self) -> int:
        return len(self._group_of)

    def __contains__(self, name: str) -> bool:
        return name in self._group_of

    def add(self, name: str) -> None:
        """Visit a name from now on."""
        if name not in self._group_of:
            number = min(range(_GROUPS), key=lambda each: len(self._groups[each]))
            self._group_of[name] = number
            self._groups[number][name] = None

    def remove(self, name: str) -> None:
        """Visit a name no longer."""
        number = self._group_of.pop(name, None)
        if number is not None:
            del self._groups[number][name]

    def start(self) -> None:
        """Begin the first round."""
        delay_s = lease_period_s(len(self), self._clock.speed) / _GROUPS
        self._timer = self._clock.call_later(delay_s, self._tick, settles=False)

    def stop(self) -> None:
        """End the rounds, with renewals under way."""
        if self._timer is not None:
            self._timer.cancel()
        for writing in tuple(self._writing):
            writing.cancel()

    def _tick(self) -> None:
        """Visit the next group. Busy names are left out: they wait for an earlier renewal of their own."""
        self._turn = (self._turn + 1) % _GROUPS
        names = tuple(self._groups[self._turn])
        self._visit(names)
        free = [name for name in names if name not in self._busy]
        if free:
            self._busy.update(free)
            writing = Deferred.fromCoroutine(each(free, self._one, _AT_A_TIME))
            self._writing.add(writing)
            writing.addErrback(self._failed)
            writing.addBoth(self._written, writing, free)
        self.start()

    async def _one(self, name: str) -> None:
        try:
            await self._renew(name)
        finally:
            self._busy.discard(name)

    def _failed(self, failure: Failure) -> None:
        """Log what is not a matter of the store or of the end; the next round tries again."""
        if not isinstance(failure.value, StatusError | CancelledError):
            self._log.failure("a sign of life of nodes failed", failure)

    def _written(self, result: None, writing: Deferred[None], names: Sequence[str]) -> None:
        self._writing.discard(writing)
        self._busy.difference_update(names)
