"""Edge: the state that all connections of a listener share (app, limits, coarse clock, number of requests)."""

from __future__ import annotations

import time
from collections.abc import Callable, Coroutine
from typing import Any, Protocol

from twisted.internet.defer import Deferred, succeed
from twisted.internet.interfaces import IReactorTime
from twisted.logger import Logger

from orchtw.errors import StatusError
from orchtw.request import Request, Response
from orchtw.serving.budget import InflightBudget
from orchtw.serving.compression import RunInThread
from orchtw.serving.gzip_cache import GzipCache
from orchtw.serving.heads import http_date
from orchtw.serving.limits import EdgeLimits

_log = Logger()

App = Callable[[Request], Coroutine[Any, Any, Response]]

AtOnce = Callable[[Request], Response | None]
"""Returns the response to a request that the app can answer without waiting; None: the app has to be asked."""

Screen = Callable[[Request], Coroutine[Any, Any, Response] | bool]
"""Screens a request head before the body: returns the response of a refusal, or a flag for a user that is not
anonymous.
"""

Decline = Callable[[Request, StatusError], Coroutine[Any, Any, Response]]
"""Makes the response to a request, of which it gets the head alone, whose body is refused."""

# The clock ticks once a second (the Date header's step); connections are looked at every other tick.
TICK_S = 1.0
_SWEEP_TICKS = 2


class Channel(Protocol):
    """Connection, as the edge sees it."""

    def expire(self, now: float) -> None:
        """Close if a limit has passed at `now` (seconds of the edge's clock)."""

    def take_no_more(self) -> None:
        """Close if idle, for the server is about to stop; running requests go on."""

    def wind_down(self) -> None:
        """Wind down as the server stops: close if idle, end streams in order, let a running request finish."""

    def distrust(self) -> None:
        """Wind down if the client was verified by its certificate: an authority is gone."""


class Edge:
    """State of one listener. Of the requests `in_flight`, `streams` are responses that last, such as watches.

    `now` is the clock's time at the last tick: reading an attribute instead of a clock, and one timer instead of one
    a connection, is what keeps time limits free.
    """

    def __init__(
        self,
        app: App,
        *,
        clock: IReactorTime,
        run_in_thread: RunInThread,
        limits: EdgeLimits | None = None,
        screen: Screen | None = None,
        decline: Decline | None = None,
        at_once: AtOnce | None = None,
        compressed: GzipCache | None = None,
        wall: Callable[[], float] = time.time,
    ) -> None:
        self.app = app
        self.at_once = at_once
        self.screen = screen
        self.decline = decline
        self.limits = limits or EdgeLimits()
        self.budget = InflightBudget(self.limits.inflight_bytes, lambda: self.now)
        self.run_in_thread = run_in_thread
        self.channels: set[Channel] = set()
        self.compressed = GzipCache() if compressed is None else compressed
        self.multiplexed: Callable[[Any], None] | None = None
        """Takes over a connection whose client has chosen HTTP/2, if offered."""
        self.in_flight = 0
        self.streams = 0
        self.draining = False
        self._clock = clock
        self._wall = wall
        self._ticks = 0
        self._drained: list[Deferred[None]] = []
        self._answered: list[Deferred[None]] = []
        self.tick()

    def call_later(self, seconds: float, call: Callable[[], object]) -> None:
        """Have `call` made after so many seconds of the clock; 0 is the end of this turn."""
        self._clock.callLater(seconds, call)

    def tick(self) -> None:
        """Read the clocks once a TICK_S, and close the connections whose time has passed."""
        self.now = self._clock.seconds()
        self.date_line = f"Date: {http_date(self._wall())}\r\n"
        self._ticks += 1
        if self._ticks % _SWEEP_TICKS == 0:
            for channel in list(self.channels):
                self._expire(channel)
            self._report()

    def _report(self) -> None:
        budget = self.budget
        if budget.ended or budget.refused:
            _log.warn(
                "connections have used up --max-inflight-bytes: {ended} were closed, {refused} refused",
                ended=budget.ended,
                refused=budget.refused,
            )
            budget.ended = budget.refused = 0

    def _expire(self, channel: Channel) -> None:
        # One connection's trouble must not end the timer of all.
        try:
            channel.expire(self.now)
        except Exception:
            _log.failure("a connection could not be checked")

    def finished(self) -> None:
        """Count a request as finished: its response is with the transport, or its client has left."""
        self.in_flight -= 1
        if self.in_flight == self.streams:
            self._tell_answered()
        if not self.in_flight:
            waiting, self._drained = self._drained, []
            _fire(waiting)

    def stream_begun(self) -> None:
        """Count a request in flight as a stream."""
        self.streams += 1
        if self.in_flight == self.streams:
            self._tell_answered()

    def stream_finished(self) -> None:
        """Count a stream as finished, as `finished`."""
        self.streams -= 1
        self.finished()

    def _tell_answered(self) -> None:
        if self._answered:
            waiting, self._answered = self._answered, []
            _fire(waiting)

    def take_no_more(self) -> None:
        """Answer what is running and take no more; streams go on (reference OPS-14)."""
        self.draining = True
        for channel in list(self.channels):
            channel.take_no_more()

    def wind_down(self) -> None:
        """Answer what is running and take no more: idle connections close, streams end in order."""
        self.draining = True
        for channel in list(self.channels):
            channel.wind_down()

    def distrust(self) -> None:
        """Have clients that were verified by certificates shake hands again (reference AUTHN-55)."""
        for channel in list(self.channels):
            channel.distrust()

    def drain(self) -> Deferred[None]:
        """Return a Deferred that fires when no request is in flight."""
        return succeed(None) if not self.in_flight else _waiting(self._drained)

    def answered(self) -> Deferred[None]:
        """Return a Deferred that fires when only streams are in flight."""
        return succeed(None) if self.in_flight == self.streams else _waiting(self._answered)


def _waiting(line: list[Deferred[None]]) -> Deferred[None]:
    deferred: Deferred[None] = Deferred(lambda each: line.remove(each) if each in line else None)
    line.append(deferred)
    return deferred


def _fire(waiting: list[Deferred[None]]) -> None:
    for deferred in waiting:
        deferred.callback(None)
