"""GOAWAY: random closing of connections, so that long-lived clients spread over servers (reference LIMIT-17)."""

from __future__ import annotations

from collections.abc import Callable

from orchtw.filters.chain import Proceed
from orchtw.filters.plan import Part, Passage
from orchtw.request import Request, Response


class GoAway:
    """Stage that closes the connection after a response with probability `chance`; streams are left alone."""

    def __init__(self, chance: float, random: Callable[[], float]) -> None:
        self._chance = chance
        self._random = random

    async def handle(self, request: Request, proceed: Proceed) -> Response:
        """Return the response of `proceed`, marked `last` at random."""
        response = await proceed(request)
        if response.stream is None and self._random() < self._chance:
            response.last = True
        return response

    def plan(self, request: Request) -> Part:
        """Throw the dice for each request."""
        return Part(passed=self._passed)

    def _passed(self, passage: Passage) -> None:
        if self._random() < self._chance:
            passage.response.last = True
