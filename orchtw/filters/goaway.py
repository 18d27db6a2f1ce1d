"""Clients that stay connected for ever are asked to connect anew now and then, so that load spreads over servers
(reference LIMIT-17).
"""

from __future__ import annotations

from collections.abc import Callable

from orchtw.filters.chain import Proceed
from orchtw.request import Request, Response


class GoAway:
    """Closes the connection behind an answer with probability `chance`; running requests are not hurt by it."""

    def __init__(self, chance: float, random: Callable[[], float]) -> None:
        self._chance = chance
        self._random = random

    async def handle(self, request: Request, proceed: Proceed) -> Response:
        """Return the response of `proceed`, now and then as the connection's last one."""
        response = await proceed(request)
        if response.stream is None and self._random() < self._chance:
            response.last = True
        return response
