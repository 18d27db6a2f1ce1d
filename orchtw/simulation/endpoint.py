"""`/debug/simulation`: the time of the simulated cluster, and its advance (reference SIM-3)."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable
from typing import Any, Final

import orjson
from twisted.internet.defer import DeferredLock

from orchtw.endpoints.paths import JSON
from orchtw.errors import BadRequest, ServiceUnavailable
from orchtw.request import Request, Response
from orchtw.simulation.clock import SimulationClock
from orchtw.values.times import rfc3339
from orchtw.wire.json_values import loads

PATH: Final = "/debug/simulation"
MOST_S: Final = 366 * 86_400
"""Longest single advance: a year."""


class SimulationEndpoint:
    """Endpoint of the simulated time, for those who may do all; the index does not list it.

    `works` tells whether this process runs the controllers, whose time is advanced.
    """

    methods = frozenset({"GET", "HEAD", "POST"})

    def __init__(
        self, clock: SimulationClock, settle: Callable[[], Awaitable[None]], works: Callable[[], bool]
    ) -> None:
        self._clock = clock
        self._settle = settle
        self._works = works
        self._advancing = DeferredLock()

    def paths(self) -> Iterable[str]:
        """Return no paths: the endpoint is not listed."""
        return ()

    def aliases(self) -> Iterable[tuple[str, str]]:
        """Return the one path."""
        return ((PATH, PATH),)

    async def handle(self, request: Request, path: str) -> Response:
        """Show the time, after an advance if one is asked for.

        Raises BadRequest (400), and ServiceUnavailable (503) where another process runs the controllers.
        """
        if request.method == "POST":
            seconds = _read(request.body)
            if not self._works():
                raise ServiceUnavailable("another process runs the controllers: the time is to be advanced there")
            # One at a time: two would each go through the other's timers.
            await self._advancing.acquire()
            try:
                await self._clock.advance(seconds, self._settle)
            finally:
                self._advancing.release()
        shown = {"now": rfc3339(int(self._clock.now())), "speed": self._clock.speed}
        return Response(content_type=JSON, body=orjson.dumps(shown) + b"\n")


def _read(body: bytes) -> float:
    """Return the seconds of an advance. Raises BadRequest (400)."""
    try:
        asked: Any = loads(body)
    except ValueError as error:
        raise BadRequest(f"the body is not JSON: {error}") from None
    if not isinstance(asked, dict) or asked.keys() != {"advance"}:
        raise BadRequest('the body must be a JSON object with "advance", in seconds')
    seconds = asked["advance"]
    if isinstance(seconds, bool) or not isinstance(seconds, int | float) or not 0 <= seconds <= MOST_S:
        raise BadRequest(f"advance: must be a number of seconds from 0 to {MOST_S}")
    return float(seconds)
