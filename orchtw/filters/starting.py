"""Requests during startup: only health checks are served, everything else gets 503."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Coroutine, Iterable
from typing import Any, Final

from orchtw.errors import ServiceUnavailable
from orchtw.filters.chain import Proceed
from orchtw.filters.plan import LEFT_OUT, NOTHING, Part, Short
from orchtw.filters.shutting_down import Doors
from orchtw.request import Request, Response

MESSAGE: Final = "the server is starting and still reading stored objects, please try again"
RETRY_AFTER_S: Final = 1

Answer = Callable[[Request, str], Awaitable[Response]]


class Starting:
    """Stage that rejects requests until the doors are open, except GET and HEAD of `paths`, served by `health`.

    Authentication is not possible yet: users and permissions are still being read from the store.
    """

    def __init__(self, doors: Doors, paths: Iterable[str], health: Answer) -> None:
        self._doors = doors
        self._paths = frozenset(paths)
        self._health = health

    def handle(self, request: Request, proceed: Proceed) -> Coroutine[Any, Any, Response]:
        """Proceed once the server has started. Raises ServiceUnavailable (503, Retry-After; reference OPS-13)."""
        return proceed(request) if self._doors.open else self._early(request)

    def plan(self, request: Request) -> Part:
        """Add nothing: what has been opened is not shut again."""
        return NOTHING

    def shorten(self, request: Request) -> Short:
        """Leave the stage out, as in plans."""
        return LEFT_OUT

    async def _early(self, request: Request) -> Response:
        if request.path in self._paths and request.method in ("GET", "HEAD"):
            return await self._health(request, request.path)
        raise ServiceUnavailable(MESSAGE, {"retryAfterSeconds": RETRY_AFTER_S})
