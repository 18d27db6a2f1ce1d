"""The start of the server as its clients see it: health checks are answered, everything else has to wait."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Coroutine, Iterable
from typing import Any, Final

from orchtw.errors import ServiceUnavailable
from orchtw.filters.chain import Proceed
from orchtw.filters.shutting_down import Doors
from orchtw.request import Request, Response

MESSAGE: Final = "the server is starting: what is stored is being read, please try again"
RETRY_AFTER_S: Final = 1

Answer = Callable[[Request, str], Awaitable[Response]]


class Starting:
    """Turns requests away until the doors are open, but for health checks at `paths`, which `health` answers.

    Nobody can be known yet, as users and rights are stored themselves.
    """

    def __init__(self, doors: Doors, paths: Iterable[str], health: Answer) -> None:
        self._doors = doors
        self._paths = frozenset(paths)
        self._health = health

    def handle(self, request: Request, proceed: Proceed) -> Coroutine[Any, Any, Response]:
        """503 with Retry-After (reference OPS-13)."""
        return proceed(request) if self._doors.open else self._early(request)

    async def _early(self, request: Request) -> Response:
        if request.path in self._paths and request.method in ("GET", "HEAD"):
            return await self._health(request, request.path)
        raise ServiceUnavailable(MESSAGE, {"retryAfterSeconds": RETRY_AFTER_S})
