"""The time limit of ordinary requests (supplement C4)."""

from __future__ import annotations

from collections.abc import Coroutine
from typing import Any

from twisted.internet.defer import Deferred
from twisted.internet.interfaces import IReactorTime
from twisted.logger import Logger
from twisted.python.failure import Failure

from orchtw.errors import BadRequest, StatusError, Timeout
from orchtw.request import Request, Response
from orchtw.rules.options import request_timeout_s


class Deadline:
    """Gives writes `limit_s` seconds, or less where the request's `timeout` parameter says so.

    Reads answer out of memory or have shorter limits of their own. A write that is too late is answered
    with 504 and runs to its end: whether it happened is for the client to look up.
    """

    _log = Logger()

    def __init__(self, clock: IReactorTime, limit_s: float) -> None:
        self._clock = clock
        self._limit_s = limit_s

    async def keep(self, request: Request, answer: Coroutine[Any, Any, Response]) -> Response:
        """Await `answer` for as long as it may take. Raises Timeout (504), BadRequest (400, a bad `timeout`)."""
        try:
            asked_s = _asked_s(request)
        except BadRequest:
            answer.close()
            raise
        if request.method == "GET":
            return await answer
        limit_s = self._limit_s if asked_s is None else min(asked_s, self._limit_s)
        waiting: Deferred[Response] = Deferred()
        running = Deferred.fromCoroutine(answer)
        if running.called:
            return await running
        timer = self._clock.callLater(limit_s, waiting.errback, Timeout.request())

        def finished(result: Response | Failure) -> None:
            if timer.active():
                timer.cancel()
                waiting.callback(result)
            elif isinstance(result, Failure) and not isinstance(result.value, StatusError):
                self._log.failure("a request that was answered with 504 failed", failure=result)

        running.addBoth(finished)
        return await waiting


def _asked_s(request: Request) -> float | None:
    """The `timeout` parameter; watches ignore it (supplement A8)."""
    if "timeout=" not in request.query or (request.method == "GET" and request.flag("watch")):
        return None
    return request_timeout_s(request.params)
