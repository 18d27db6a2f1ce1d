"""Flow control at work: its shared parts, and the seats of one request (reference FLOW-4)."""

from __future__ import annotations

import time
from collections.abc import Callable

from twisted.application.service import Service
from twisted.internet.interfaces import IDelayedCall, IReactorTime

from orchtw.flowcontrol.levels import KnownFlow
from orchtw.flowcontrol.live import Live
from orchtw.flowcontrol.queued import WaitingRoom
from orchtw.flowcontrol.queueset import Queue, Seating
from orchtw.flowcontrol.starts import Starts
from orchtw.flowcontrol.stats import MUTATING, READ_ONLY, InFlight, Watermark
from orchtw.flowcontrol.work_estimator import Work
from orchtw.request import Ending, Response


class FlowControl(Service):
    """Parts of flow control. `request_timeout_s` is the time limit of a request, a quarter of it for waiting."""

    def __init__(
        self,
        live: Live,
        work: Work,
        clock: IReactorTime,
        request_timeout_s: float,
        wall: Callable[[], float] = time.time,
    ) -> None:
        self.live = live
        self.work = work
        self.clock = clock
        self.seconds = clock.seconds
        self.request_timeout_s = request_timeout_s
        self.in_flight = InFlight()
        self.reads, self.writes = (self.in_flight.executing[kind] for kind in (READ_ONLY, MUTATING))
        self.room = WaitingRoom(clock, wall, request_timeout_s, self.in_flight)
        self.starts = Starts(clock.seconds, lambda work: clock.callLater(0, work), self.room.call)
        self._later: set[IDelayedCall] = set()

    def stopService(self) -> None:
        """Cancel the timers, so that no request waits for seats any more."""
        later, self._later = self._later, set()
        for call in later:
            call.cancel()
        super().stopService()  # type: ignore[no-untyped-call]

    def later(self, delay_s: float, work: Callable[[], None]) -> IDelayedCall:
        """Run `work` after a delay, unless the service is stopped before."""

        def run() -> None:
            self._later.discard(call)
            work()

        call = self.clock.callLater(delay_s, run)
        self._later.add(call)
        return call

    def forget(self, call: IDelayedCall) -> None:
        """Cancel a delayed call, if it is pending."""
        if call in self._later:
            self._later.discard(call)
            call.cancel()


class Seats:
    """Seats of one request while it is served; without `seating` it is counted, but takes none.

    Seats from a queue set are charged to the queue for the time they are taken.
    """

    __slots__ = (
        "_began", "_control", "_flow", "_mark", "_pool", "_queue", "_seating", "_took_s", "linger_s", "seats",
    )  # fmt: skip

    def __init__(
        self,
        control: FlowControl,
        flow: KnownFlow,
        seating: Seating | None,
        seats: int,
        pool: int,
        queue: Queue | None,
        mark: Watermark,
    ) -> None:
        self._control = control
        self._flow = flow
        self._seating = seating
        self._pool = pool
        self._queue = queue
        self._mark: Watermark | None = mark
        self.seats = seats
        self.linger_s = 0.0
        now = self._began = control.seconds()
        mark.add(now)
        stats = flow.stats
        stats.dispatched += 1
        stats.executing += 1
        stats.seats += seats

    @property
    def limited(self) -> bool:
        """Implement `Occupied.limited`, as `age_s` below."""
        return self._seating is not None

    @property
    def age_s(self) -> float:
        return self._took_s if self._mark is None else self._control.seconds() - self._began

    def keep(self, response: Response) -> None:
        """Occupy the seats until the response has been sent, or the request's time is over."""
        timer = self._control.later(self._control.request_timeout_s, self.leave)

        def ended(_ending: Ending) -> None:
            self._control.forget(timer)
            self.leave()

        response.on_end(ended)

    def leave(self) -> None:
        """Release the seats once; later calls do nothing."""
        mark = self._mark
        if mark is None:
            return
        self._mark = None
        mark.leave()
        control, stats = self._control, self._flow.stats
        took_s = self._took_s = control.seconds() - self._began
        stats.executing -= 1
        stats.durations.observe(took_s)
        if self.linger_s:
            control.later(self.linger_s, lambda: self._give(took_s))
            return
        self._give(took_s)

    def _give(self, took_s: float) -> None:
        self._flow.stats.seats -= self.seats
        seating = self._seating
        if seating is not None and seating.give(self._flow, self.seats, self._pool, self._queue, took_s):
            self._control.starts.freed(seating)
