"""Max-in-flight limits of reads and writes, used without priority and fairness (reference FLOW-1)."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from typing import Any

from orchtw.filters.chain import Proceed
from orchtw.filters.flow_control import is_whole, too_many_requests
from orchtw.filters.plan import Part, Passage
from orchtw.flowcontrol.stats import MUTATING, READ_ONLY, InFlight, Watermark, kind_of
from orchtw.request import Request, Response
from orchtw.rules.long_running import long_running


class MaxInFlight:
    """Limits of requests in flight (0: unlimited), exceeded with 429; administrators count but are never rejected."""

    def __init__(
        self, reads: int, writes: int, administrators: str, in_flight: InFlight, seconds: Callable[[], float]
    ) -> None:
        self._limits = {READ_ONLY: reads, MUTATING: writes}
        self._administrators = administrators
        self._in_flight = in_flight
        self._seconds = seconds

    def handle(self, request: Request, proceed: Proceed) -> Coroutine[Any, Any, Response]:
        """Return the response of `proceed`, or 429 at the limit. Long-running requests are not counted."""
        info, user = request.info, request.user
        assert info is not None and user is not None
        if long_running(info):
            return proceed(request)
        kind = kind_of(info.verb)
        mark, limit = self._in_flight.executing[kind], self._limits[kind]
        if limit and mark.count >= limit and self._administrators not in user.groups:
            self._in_flight.dropped[kind] += 1
            return _refuse(request)
        return self._serve(request, proceed, mark)

    def plan(self, request: Request) -> Part | None:
        """Let requests through while there is room for one more."""
        assert request.info is not None
        kind = kind_of(request.info.verb)
        mark, limit = self._in_flight.executing[kind], self._limits[kind]

        def passed(passage: Passage) -> None:
            mark.touch(passage.ended_s)

        return Part(free=lambda: not limit or mark.count < limit, passed=passed)

    async def _serve(self, request: Request, proceed: Proceed, mark: Watermark) -> Response:
        mark.add(self._seconds())
        left = True
        try:
            response = await proceed(request)
            if not is_whole(response):
                left = False
                response.on_end(lambda ending: mark.leave())
            return response
        finally:
            if left:
                mark.leave()


async def _refuse(request: Request) -> Response:
    return too_many_requests(request)
