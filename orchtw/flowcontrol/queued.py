"""Requests that wait for seats, and the end of their wait (reference FLOW-4)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from twisted.internet.defer import CancelledError, Deferred
from twisted.internet.interfaces import IReactorTime

from orchtw.flowcontrol.levels import KnownFlow
from orchtw.flowcontrol.queueset import Seating, WaitingRequest
from orchtw.flowcontrol.stats import InFlight, kind_of
from orchtw.request import Request
from orchtw.rules.options import request_timeout_s

NO_SEATS: Final = "concurrency-limit"
QUEUE_FULL: Final = "queue-full"
TIME_OUT: Final = "time-out"
CANCELLED: Final = "cancelled"

WAIT_SHARE: Final = 0.25
MAX_WAIT_S: Final = 60.0


class Queued(WaitingRequest):
    """Waiting request. `arrived` is its wall-clock time, `since` that of the reactor's clock."""

    __slots__ = ("arrived", "called", "known", "request", "since")

    def __init__(self, flow: KnownFlow, seats: int, request: Request, since: float, arrived: float) -> None:
        super().__init__(flow, seats)
        self.known = flow
        self.request = request
        self.since = since
        self.arrived = arrived
        self.called: Deferred[bool] = Deferred()


class WaitingRoom:
    """Queues requests in their levels; each waits for at most a quarter of its time."""

    def __init__(self, clock: IReactorTime, wall: Callable[[], float], limit_s: float, in_flight: InFlight) -> None:
        self._clock = clock
        self._wall = wall
        self._limit_s = limit_s
        self._in_flight = in_flight

    async def wait(self, request: Request, flow: KnownFlow, seating: Seating, seats: int) -> Queued | str:
        """Wait for seats: return the request, or why it got none. CancelledError: the client has left."""
        wait_s = self._wait_s(request)
        queued = Queued(flow, seats, request, self._clock.seconds(), self._wall())
        if not seating.wait(queued):
            return self._refused(flow, NO_SEATS if seating.queuing is None else QUEUE_FULL)
        stats = flow.stats
        assert queued.queue is not None
        stats.lengths.observe(len(queued.queue.waiting))
        stats.waiting += 1
        assert request.info is not None
        mark = self._in_flight.waiting[kind_of(request.info.verb)]
        mark.add(queued.since)
        timer = self._clock.callLater(wait_s, queued.called.callback, False)
        request.queued = True
        try:
            called = await queued.called
        except CancelledError:
            seating.leave(queued)
            stats.gave_up.observe(self._clock.seconds() - queued.since)
            stats.reject(CANCELLED)
            raise
        finally:
            request.queued = False
            stats.waiting -= 1
            mark.leave()
            if timer.active():
                timer.cancel()
        waited_s = self._clock.seconds() - queued.since
        if called:
            stats.waited.observe(waited_s)
            return queued
        seating.leave(queued)
        stats.gave_up.observe(waited_s)
        return self._refused(flow, TIME_OUT)

    def call(self, seating: Seating) -> bool:
        """Seat the next request and let it begin; report whether there was one."""
        waiting = seating.call()
        if waiting is None:
            return False
        assert isinstance(waiting, Queued)
        waiting.called.callback(True)
        return True

    def _refused(self, flow: KnownFlow, reason: str) -> str:
        flow.stats.reject(reason)
        return reason

    def _wait_s(self, request: Request) -> float:
        """Return the time to wait: a quarter of the request's time limit."""
        assert request.info is not None
        asks = request.info.verb != "watch" and "timeout=" in request.query
        asked_s = request_timeout_s(request.params) if asks else None
        limit_s = self._limit_s if asked_s is None else min(asked_s, self._limit_s)
        return min(limit_s * WAIT_SHARE, MAX_WAIT_S)
