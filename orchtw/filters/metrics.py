"""Counts and measures every request (reference METRIC-5)."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from orchtw.errors import TooManyRequests
from orchtw.filters.chain import Proceed
from orchtw.metrics.requests import RequestKind, RequestMetrics
from orchtw.request import Ending, Request, Response, is_short


class MetricsStage:
    """Sees the answer that the client gets, refusals too; `seconds` is a clock that nobody sets.

    What is sent at once is counted at once; a long answer, and a watch, when it has been sent.
    """

    def __init__(self, metrics: RequestMetrics, seconds: Callable[[], float]) -> None:
        self._metrics = metrics
        self._seconds = seconds

    async def handle(self, request: Request, proceed: Proceed) -> Response:
        """Count the answer, or that the client has not waited for it."""
        began = self._seconds()
        try:
            response = await proceed(request)
        except BaseException:
            self._metrics.aborted(self._metrics.of(request))
            raise
        kind = self._metrics.of(request)
        if request.given_up:
            self._metrics.terminated(kind, response.code)
        if type(response.body) is bytes and is_short(response):
            seconds = self._seconds() - began
            kind.answered(response.code, seconds, request.webhooks_s, len(response.body))
            if kind.validates:
                self._metrics.validated(request, seconds)
            return response
        running = response.stream is not None
        if running:
            self._metrics.opened(kind, 1)
        response.on_end(partial(self._sent, kind, response.code, _size(response), began, request.webhooks_s, running))
        return response

    def _sent(
        self,
        kind: RequestKind,
        code: int,
        size: int | None,
        began: float,
        webhooks_s: float,
        running: bool,
        ending: Ending,
    ) -> None:
        """The answer has been sent or is lost; until then neither it nor its request is held here."""
        if running:
            self._metrics.opened(kind, -1)
        elif ending in (Ending.CLIENT_GONE, Ending.ABORTED):
            self._metrics.aborted(kind)
        if ending is Ending.NO_ROOM:
            code, size = TooManyRequests.code, None
        kind.answered(code, self._seconds() - began, webhooks_s, size)


def _size(response: Response) -> int | None:
    """Bytes of the body, where they are known."""
    if response.stream is not None or response.parts is not None:
        return None
    if response.length is not None:
        return response.length
    body = response.body
    return sum(len(piece) for piece in body) if isinstance(body, list | tuple) else None
