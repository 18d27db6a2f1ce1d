"""Requests during graceful shutdown: new ones are rejected with Retry-After (reference OPS-14)."""

from __future__ import annotations

from collections.abc import Coroutine
from typing import Any, Final

import msgspec

from orchtw.filters.chain import Proceed
from orchtw.filters.plan import Part, Short
from orchtw.request import Request, Response

TEXT: Final = b"The apiserver is shutting down, please try again later.\n"
RETRY_AFTER_S: Final = 5

_EXEMPT_PATHS: Final = ("/readyz", "/livez", "/healthz", "/metrics")


class Doors(msgspec.Struct, eq=False):
    """Lifecycle flags: `open` once startup is over, `closed` once shutdown rejects new requests."""

    closed: bool = False
    open: bool = False


class ShuttingDown:
    """Stage that rejects requests once the doors are closed, except for health checks, metrics and API servers.

    `agent` is the User-Agent prefix of API servers, which still send requests to themselves during shutdown.
    """

    def __init__(self, doors: Doors, agent: str) -> None:
        self._doors = doors
        self._agent = agent

    def handle(self, request: Request, proceed: Proceed) -> Coroutine[Any, Any, Response]:
        """Return 429 and close the connection during shutdown, so that the client retries on another server."""
        if self._doors.closed and not self._exempt(request):
            return self._turned_away()
        return proceed(request)

    def plan(self, request: Request) -> Part:
        """Hold until the doors are closed."""
        doors = self._doors
        return Part(stands=(lambda: not doors.closed,))

    def shorten(self, request: Request) -> Short:
        """Hold until the doors are closed."""
        doors = self._doors
        return Short(stands=(lambda: not doors.closed,))

    def _exempt(self, request: Request) -> bool:
        return request.path.startswith(_EXEMPT_PATHS) or request.headers.get("user-agent", "").startswith(self._agent)

    async def _turned_away(self) -> Response:
        headers = [("Retry-After", str(RETRY_AFTER_S)), ("X-Content-Type-Options", "nosniff")]
        return Response(
            code=429, content_type="text/plain; charset=utf-8", body=TEXT, headers=headers, last=True
        )
