"""The simulated cluster's time, which runs faster than real time or stands until it is advanced (reference SIM-2)."""

from __future__ import annotations

import heapq
from collections.abc import Awaitable, Callable
from itertools import count
from typing import Any, Final

from twisted.internet.interfaces import IDelayedCall, IReactorTime
from twisted.internet.task import deferLater
from twisted.logger import Logger

TURN_S: Final = 0.005
"""Real seconds of calls in one turn of the reactor: an advance by a day has 86,400 rounds of Leases."""
FEW_CANCELLED: Final = 1_000
"""Cancelled timers that may stay in the heap whatever its size."""


class Timer:
    """A call that is due at a simulated time. One that `settles` may cause work, which `advance` waits for."""

    __slots__ = ("_call", "_cancelled", "due", "settles")

    def __init__(
        self, due: float, call: Callable[[], object], settles: bool, cancelled: Callable[[], object]
    ) -> None:
        self.due = due
        self.settles = settles
        self._call: Callable[[], object] | None = call
        self._cancelled = cancelled

    @property
    def active(self) -> bool:
        """Report whether the call is still to come."""
        return self._call is not None

    def cancel(self) -> None:
        """Do not make the call; safe after it."""
        if self._call is not None:
            self._call = None
            self._cancelled()

    def run(self) -> None:
        """Make the call, unless it was cancelled."""
        call, self._call = self._call, None
        if call is not None:
            call()


class SimulationClock:
    """Clock and timers of the simulated cluster.

    `speed` is the number of simulated seconds in one of the reactor; 0 stops the time except for `advance`. `now` is
    the time at the start in seconds since the epoch.
    """

    _log = Logger()

    def __init__(self, reactor: IReactorTime, now: float, speed: float = 1.0) -> None:
        self.speed = speed
        self._reactor = reactor
        self._began = now
        self._start = reactor.seconds()
        self._advanced = 0.0
        self._stands_at: float | None = None
        """Simulated seconds since the start, while an advance goes from timer to timer."""
        self._timers: list[tuple[float, int, Timer]] = []
        self._cancelled = 0
        """Number of cancelled timers in the heap."""
        self._number = count()
        self._pending: IDelayedCall | None = None

    def seconds(self) -> float:
        """Return the simulated seconds since the start."""
        if self._stands_at is not None:
            return self._stands_at
        return (self._reactor.seconds() - self._start) * self.speed + self._advanced

    def now(self) -> float:
        """Return the simulated time in seconds since the epoch."""
        return self._began + self.seconds()

    def not_before(self, time_s: float) -> None:
        """Count on from that time (seconds since the epoch) if it is ahead of `now`; timers are due as before."""
        self._began += max(0.0, time_s - self.now())

    def call_later(
        self, delay_s: float, call: Callable[..., object], *arguments: Any, settles: bool = True
    ) -> Timer:
        """Call after that many simulated seconds.

        `settles` is False for bookkeeping such as a renewed Lease, after which an advance need not wait for anyone.
        """
        made = Timer(self.seconds() + max(0.0, delay_s), lambda: call(*arguments), settles, self._one_cancelled)
        heapq.heappush(self._timers, (made.due, next(self._number), made))
        if self._timers[0][2] is made:
            self._arm()
        return made

    async def advance(self, seconds: float, settle: Callable[[], Awaitable[None]]) -> None:
        """Move the time on, through every timer that is due on the way, in order.

        `settle` waits until the work that a timer causes is done, which may set further timers.
        """
        end = self.seconds() + seconds
        await settle()
        turn_ends = self._reactor.seconds() + TURN_S
        try:
            while (timer := self._next()) is not None and timer.due <= end:
                self._stands_at = max(self.seconds(), timer.due)
                self._run_first()
                if timer.settles:
                    await settle()
                elif self._reactor.seconds() < turn_ends:
                    continue
                else:
                    await deferLater(self._reactor, 0)
                turn_ends = self._reactor.seconds() + TURN_S
        except BaseException:
            end = self.seconds()
            raise
        finally:
            # Also after a failure or a cancellation the time runs on, from where it has come to.
            self._stands_at = None
            self._advanced += max(0.0, end - self.seconds())
            self._arm()

    def stop(self) -> None:
        """Cancel all timers, for good."""
        self._timers.clear()
        self._cancelled = 0
        self._disarm()

    def _next(self) -> Timer | None:
        """Return the next timer that was not cancelled."""
        while self._timers:
            if self._timers[0][2].active:
                return self._timers[0][2]
            heapq.heappop(self._timers)
            self._cancelled -= 1
        return None

    def _run_first(self) -> None:
        """Make the call of the first timer; an error in it does not keep other timers from theirs."""
        _, _, timer = heapq.heappop(self._timers)
        try:
            timer.run()
        except Exception:  # noqa: BLE001 - a bug of one controller
            self._log.failure("a timer of the simulated clock failed")

    def _one_cancelled(self) -> None:
        """Count a cancelled timer; once most of the heap is cancelled ones, take them out."""
        self._cancelled += 1
        if self._cancelled > FEW_CANCELLED and 2 * self._cancelled > len(self._timers):
            self._timers = [each for each in self._timers if each[2].active]
            heapq.heapify(self._timers)
            self._cancelled = 0

    def _arm(self) -> None:
        """Have the reactor call when the next timer is due; while the time stands, only one that is due already."""
        self._disarm()
        timer = self._next()
        if timer is None or self._stands_at is not None:
            return
        left = max(0.0, timer.due - self.seconds())
        if self.speed:
            self._pending = self._reactor.callLater(left / self.speed, self._run)
        elif not left:
            self._pending = self._reactor.callLater(0, self._run)

    def _disarm(self) -> None:
        if self._pending is not None:
            self._pending.cancel()
            self._pending = None

    def _run(self) -> None:
        self._pending = None
        turn_ends = self._reactor.seconds() + TURN_S
        while (timer := self._next()) is not None and timer.due <= self.seconds():
            self._run_first()
            if self._reactor.seconds() >= turn_ends:
                break
        self._arm()
