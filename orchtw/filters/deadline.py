"""The time limit of ordinary requests (reference LIMIT-2)."""

from __future__ import annotations

from collections.abc import Coroutine
from typing import Any

from twisted.internet.defer import CancelledError, Deferred
from twisted.internet.interfaces import IReactorTime
from twisted.logger import Logger
from twisted.python.failure import Failure

from orchtw.errors import StatusError, Timeout
from orchtw.filters.chain import Proceed
from orchtw.request import Ending, Request, Response
from orchtw.rules.options import request_timeout_s


class Deadline:
    """Gives writes `limit_s` seconds, or less where the request's `timeout` parameter says so.

    Reads answer out of memory or have shorter limits of their own. A write that is too late is answered
    with 504 and runs to its end: whether it happened is for the client to look up. What is passed on to others takes
    as long as those do.
    """

    _log = Logger()

    def __init__(self, clock: IReactorTime, limit_s: float) -> None:
        self._clock = clock
        self._limit_s = limit_s

    def handle(self, request: Request, proceed: Proceed) -> Coroutine[Any, Any, Response]:
        """Wait for as long as it may take. Raises Timeout (504), BadRequest (400, a bad `timeout`)."""
        asked_s = _asked_s(request)
        if request.method == "GET":
            return proceed(request)
        limit_s = self._limit_s if asked_s is None else min(asked_s, self._limit_s)
        request.ends_at_s = self._clock.seconds() + limit_s
        return self._limit(request, proceed(request), limit_s)

    async def _limit(self, request: Request, answer: Coroutine[Any, Any, Response], limit_s: float) -> Response:
        waiting: Deferred[Response] = Deferred()
        running = Deferred.fromCoroutine(answer)
        if running.called or request.passed_on:
            return await running
        timer = self._clock.callLater(limit_s, waiting.errback, Timeout.request())

        def finished(result: Response | Failure) -> None:
            in_time = timer.active()
            if in_time:
                timer.cancel()
            if not waiting.called:
                waiting.callback(result)
            elif isinstance(result, Response):
                result.drop(Ending.CLIENT_GONE if in_time else Ending.DEADLINE)
            elif not in_time and not isinstance(result.value, StatusError | CancelledError):
                self._log.failure("a request that was answered with 504 failed", failure=result)

        running.addBoth(finished)
        try:
            return await waiting
        finally:
            if request.queued:  # it has not begun, and now it need not
                running.cancel()


def _asked_s(request: Request) -> float | None:
    """The `timeout` parameter; watches ignore it (reference REQ-18)."""
    if "timeout=" not in request.query or (request.method == "GET" and request.flag("watch")):
        return None
    return request_timeout_s(request.params)
