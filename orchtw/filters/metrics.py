"""Request metrics: counts, latencies and response sizes (reference METRIC-5)."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from functools import partial
from typing import Any

from orchtw.errors import TooManyRequests
from orchtw.filters.chain import Proceed
from orchtw.filters.plan import Part, Passage, Short
from orchtw.metrics.requests import RequestMetrics, RequestSeries
from orchtw.request import Ending, Request, Response, is_short


class MetricsStage:
    """Stage that counts every response, errors included; `seconds` is a monotonic clock.

    A short response is counted before it is sent; a long one or a watch, when sending it has ended.
    """

    def __init__(self, metrics: RequestMetrics, seconds: Callable[[], float]) -> None:
        self._metrics = metrics
        self._seconds = seconds

    def handle(self, request: Request, proceed: Proceed) -> Coroutine[Any, Any, Response]:
        """Count the response, or an aborted request if `proceed` raises."""
        return self._count(request, proceed, None)

    async def _count(self, request: Request, proceed: Proceed, known: RequestSeries | None) -> Response:
        """Do the work of `handle`; the series are looked up where they are not `known`."""
        began = self._seconds()
        try:
            response = await proceed(request)
        except BaseException:
            self._metrics.aborted(known or self._metrics.of(request))
            raise
        kind = known or self._metrics.of(request)
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

    def plan(self, request: Request) -> Part:
        """Keep the series: they are those of the resource's target, which the handler looks at."""
        kind = self._metrics.of(request)

        def passed(passage: Passage) -> None:
            kind.answered(passage.response.code, passage.took_s, 0.0, passage.size)

        return Part(passed=passed)

    def shorten(self, request: Request) -> Short:
        """Keep the series, as in plans."""
        kind, count = self._metrics.of(request), self._count
        return Short(around=lambda proceed, _whole: partial(count, proceed=proceed, known=kind))

    def _sent(
        self,
        kind: RequestSeries,
        code: int,
        size: int | None,
        began: float,
        webhooks_s: float,
        running: bool,
        ending: Ending,
    ) -> None:
        """Count a response that was sent or lost. Holds no reference to it or its request until then."""
        if running:
            self._metrics.opened(kind, -1)
        elif ending in (Ending.CLIENT_GONE, Ending.ABORTED):
            self._metrics.aborted(kind)
        if ending is Ending.NO_ROOM:
            code, size = TooManyRequests.code, None
        kind.answered(code, self._seconds() - began, webhooks_s, size)


def _size(response: Response) -> int | None:
    """Return the size of the body in bytes if it is known."""
    if response.stream is not None or response.parts is not None:
        return None
    if response.length is not None:
        return response.length
    body = response.body
    return len(body) if isinstance(body, bytes) else sum(len(piece) for piece in body)
