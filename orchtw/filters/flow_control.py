"""API priority and fairness: a request starts once its priority level has seats (reference FLOW-3, FLOW-4)."""

from __future__ import annotations

from collections.abc import Coroutine
from functools import partial
from typing import Any, Final

from orchtw.filters.chain import Proceed
from orchtw.filters.plan import Part, Passage, Short
from orchtw.flowcontrol.control import FlowControl, Seats
from orchtw.flowcontrol.levels import KnownFlow
from orchtw.flowcontrol.queued import Queued
from orchtw.flowcontrol.queueset import COMMON, Queue, Seating
from orchtw.flowcontrol.stats import READ_VERBS, kind_of
from orchtw.request import Request, Response
from orchtw.rules.long_running import long_running

_REFUSAL: Final = b"Too many requests, please try again later.\n"
_REFUSAL_HEADERS: Final = (("X-Content-Type-Options", "nosniff"), ("Retry-After", "1"))


def too_many_requests(request: Request) -> Response:
    """Return the plain-text 429 of a request that was not admitted, and mark it `given_up` (reference ERR-35)."""
    request.given_up = True
    return Response(
        code=429, content_type="text/plain; charset=utf-8", body=_REFUSAL, headers=list(_REFUSAL_HEADERS)
    )


class PriorityAndFairness:
    """Stage that classifies each request and queues it until it has seats.

    Of the long-running requests only watches are limited, and only during their initialization.
    """

    def __init__(self, control: FlowControl) -> None:
        self._control = control
        self._flow = control.live.flow

    def handle(self, request: Request, proceed: Proceed) -> Coroutine[Any, Any, Response]:
        """Return the response of `proceed` once the request has seats, or 429."""
        info, user = request.info, request.user
        assert info is not None and user is not None
        if long_running(info) and info.verb != "watch":
            return proceed(request)
        flow = self._flow(user, info)
        return self._seat(request, flow, proceed, proceed)

    def _seat(
        self, request: Request, flow: KnownFlow, proceed: Proceed, whole: Proceed
    ) -> Coroutine[Any, Any, Response]:
        """Return the response of `proceed`, or that of `whole` if the request has to wait for its seats, or 429."""
        assert request.info is not None
        request.answer_headers = flow.headers
        request.flow = flow
        seating = flow.level.seating
        if flow.at_once:
            return self._serve(request, proceed, flow, None, 1, COMMON)
        control = self._control
        if not control.starts.free():
            return self._wait_for_turn(request, whole, flow, seating)
        if seating is None:
            return self._serve(request, proceed, flow, None, 1, COMMON)
        info = request.info
        seats = 1 if info.verb == "get" else seating.width(control.work.seats(request, info))
        pool = seating.take(flow, seats)
        if not pool:
            return self._wait(request, whole, flow, seating, seats)
        return self._serve(request, proceed, flow, seating, seats, pool)

    def plan(self, request: Request) -> Part | None:
        """Hold while the flow is found as before; requests that would have to wait go the whole way."""
        control, flow, info = self._control, request.flow, request.info
        if not isinstance(flow, KnownFlow) or info is None or info.verb != "get":
            return None
        live, state, seating, stats = control.live, control.live.state, flow.level.seating, flow.stats
        starts_free, at_once, reads = control.starts.free, flow.at_once, control.reads
        if state is None:
            return None

        def free() -> bool:
            return at_once or ((seating is None or seating.roomy) and starts_free())

        def passed(passage: Passage) -> None:
            # As `Seats`: what comes and goes in one step leaves its highest marks.
            reads.touch(passage.ended_s)
            stats.dispatched += 1
            stats.durations.observe(passage.took_s)
            if seating is not None and not at_once:
                seating.touch()

        return Part(stands=(lambda: live.state is state,), free=free, passed=passed)

    def shorten(self, request: Request) -> Short | None:
        """Hold while the flow is found as before."""
        flow, live, state, seat = request.flow, self._control.live, self._control.live.state, self._seat
        if not isinstance(flow, KnownFlow) or state is None or not state.keeps(flow):
            return None
        return Short(
            stands=(lambda: live.state is state and state.keeps(flow),),
            around=lambda proceed, whole: partial(seat, flow=flow, proceed=proceed, whole=whole),
        )

    async def _wait_for_turn(
        self, request: Request, proceed: Proceed, flow: KnownFlow, seating: Seating | None
    ) -> Response:
        assert request.user is not None and request.info is not None
        request.queued = True
        try:
            await self._control.starts.turn(request.user.name)
        finally:
            request.queued = False
        if seating is None:
            return await self._serve(request, proceed, flow, None, 1, COMMON)
        seats = seating.width(self._control.work.seats(request, request.info))
        pool = seating.take(flow, seats)
        if not pool:
            return await self._wait(request, proceed, flow, seating, seats)
        return await self._serve(request, proceed, flow, seating, seats, pool)

    async def _wait(
        self, request: Request, proceed: Proceed, flow: KnownFlow, seating: Seating, seats: int
    ) -> Response:
        assert request.info is not None
        queued = await self._control.room.wait(request, flow, seating, seats)
        if not isinstance(queued, Queued):
            self._control.in_flight.dropped[kind_of(request.info.verb)] += 1
            return too_many_requests(request)
        return await self._serve(request, proceed, flow, seating, queued.seats, queued.pool, queued.queue)

    async def _serve(
        self,
        request: Request,
        proceed: Proceed,
        flow: KnownFlow,
        seating: Seating | None,
        count: int,
        pool: int,
        queue: Queue | None = None,
    ) -> Response:
        assert request.info is not None
        control, verb = self._control, request.info.verb
        mark = control.reads if verb in READ_VERBS else control.writes
        seats = request.occupied = Seats(control, flow, seating, count, pool, queue, mark)
        left = True
        try:
            response = await proceed(request)
            if verb != "watch" and not is_whole(response):
                left = False
                seats.keep(response)
            elif count > 1:
                seats.linger_s = control.work.lingers_s(request.info)
            return response
        finally:
            if left:
                seats.leave()


def is_whole(response: Response) -> bool:
    """Report whether the body is complete bytes: nothing is produced while it is sent."""
    return type(response.body) is bytes and response.parts is None and response.stream is None
