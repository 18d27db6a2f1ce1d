"""Request timeout of requests that are not long-running (reference LIMIT-2)."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from functools import partial
from typing import Any, Final

from twisted.internet.defer import CancelledError, Deferred
from twisted.internet.interfaces import IReactorTime
from twisted.logger import Logger
from twisted.python.failure import Failure

from orchtw.errors import StatusError, Timeout
from orchtw.filters.chain import Proceed
from orchtw.filters.first_step import READS, Detached, Resumed
from orchtw.filters.plan import NOTHING, Part, Short
from orchtw.request import Ending, Request, Response
from orchtw.rules.long_running import long_running
from orchtw.rules.options import request_timeout_s
from orchtw.rules.request_info import parse

SOURCE: Final = "timeout-handler"
"""Label of this stage in the metric of requests that end after their timeout response."""

Late = Callable[[str, str], None]
"""Callback for a request that ended after its timeout response: the source, and the outcome ("ok" or "error")."""


def _say_nothing(source: str, status: str) -> None:
    """Record nothing: the default of a stage without metrics."""


class TimeoutStage:
    """Stage that limits requests to `limit_s` seconds, or to their `timeout` parameter if that is shorter.

    A late request gets 504. A read is then cancelled, as if its client had disconnected. A write runs to its end:
    the client has to look up its outcome. Long-running and proxied requests have no limit.
    """

    _log = Logger()

    def __init__(self, clock: IReactorTime, limit_s: float, late: Late = _say_nothing) -> None:
        self._clock = clock
        self._late = late
        self._limit_s = limit_s

    def handle(self, request: Request, proceed: Proceed) -> Coroutine[Any, Any, Response]:
        """Await the response within the limit. Raises Timeout (504), BadRequest (400, a bad `timeout`)."""
        return self._within(request, proceed, self._limit_of(request))

    def _limit_of(self, request: Request) -> float:
        asked_s = _asked_s(request) if "timeout=" in request.query else None
        return self._limit_s if asked_s is None else min(asked_s, self._limit_s)

    def _within(self, request: Request, proceed: Proceed, limit_s: float) -> Coroutine[Any, Any, Response]:
        if request.method in READS:
            return self._read(request, proceed(request), limit_s)
        request.ends_at_s = self._clock.seconds() + limit_s
        return self._limit(request, proceed(request), limit_s)

    def plan(self, request: Request) -> Part | None:
        """Add nothing to reads: what is answered at once meets no limit, and a bad `timeout` has been refused."""
        return NOTHING if request.method in READS else None

    def shorten(self, request: Request) -> Short:
        """Keep the limit: it is in the query."""
        limit_s, within = self._limit_of(request), self._within
        return Short(around=lambda proceed, _whole: partial(within, proceed=proceed, limit_s=limit_s))

    async def _read(self, request: Request, answer: Coroutine[Any, Any, Response], limit_s: float) -> Response:
        # Take the first step by hand: most reads finish in it and need no timer and no Deferred.
        try:
            waiting = answer.send(None)
        except StopIteration as done:
            return done.value  # type: ignore[no-any-return]
        timer, rest = None, Resumed(answer, waiting)
        if not _takes_its_time(request):
            timer = self._clock.callLater(limit_s, lambda: _give_up(request, rest))
        try:
            return await rest
        except CancelledError:
            if request.given_up:
                raise Timeout.request() from None
            raise
        finally:
            if timer is not None and timer.active():
                timer.cancel()

    async def _limit(self, request: Request, answer: Coroutine[Any, Any, Response], limit_s: float) -> Response:
        try:
            first = answer.send(None)
        except StopIteration as done:
            return done.value  # type: ignore[no-any-return]
        if _takes_its_time(request):
            return await Resumed(answer, first)
        waiting: Deferred[Response] = Deferred()

        def give_up() -> None:
            request.given_up = True
            waiting.errback(Timeout.request())

        timer = self._clock.callLater(limit_s, give_up)

        def finished(result: Response | Failure) -> None:
            in_time = timer.active()
            if in_time:
                timer.cancel()
            if not waiting.called:
                waiting.callback(result)
            else:
                self._ended_alone(result, in_time=in_time)

        running = Detached(answer, first, finished)
        try:
            return await waiting
        finally:
            if request.queued:  # not started yet: no need to start it now
                running.cancel()

    def _ended_alone(self, result: Response | Failure, *, in_time: bool) -> None:
        """Drop the response of a write that ended after its 504 or its client's disconnect; count the former."""
        if not in_time:
            self._late(SOURCE, "ok" if isinstance(result, Response) else "error")
        if isinstance(result, Response):
            result.drop(Ending.CLIENT_GONE if in_time else Ending.DEADLINE)
        elif not in_time and not isinstance(result.value, StatusError | CancelledError):
            self._log.failure("a request that was answered with 504 failed", failure=result)


def _give_up(request: Request, rest: Resumed) -> None:
    request.given_up = True
    rest.waiting.cancel()


def _takes_its_time(request: Request) -> bool:
    """Report whether a request is long-running (reference LIMIT-3) or proxied."""
    return request.passed_on or (request.info is not None and long_running(request.info))


def _asked_s(request: Request) -> float | None:
    """Return the `timeout` parameter in seconds; long-running requests ignore it (reference REQ-18)."""
    if long_running(parse(request.method, request.path, request.params)):
        return None
    return request_timeout_s(request.params)
