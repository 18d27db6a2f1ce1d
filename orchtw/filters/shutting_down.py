"""The end of the server as its clients see it: new requests are sent elsewhere (reference OPS-14)."""

from __future__ import annotations

from collections.abc import Coroutine
from typing import Any, Final

import attrs

from orchtw.filters.chain import Proceed
from orchtw.request import Request, Response

TEXT: Final = b"The apiserver is shutting down, please try again later.\n"
RETRY_AFTER_S: Final = 5

_EXEMPT_PATHS: Final = ("/readyz", "/livez", "/healthz", "/metrics")


@attrs.define(slots=True, eq=False)
class Doors:
    """State of admission to the server: `open` once the start is over, until it is `closed` to new requests."""

    closed: bool = False
    open: bool = False


class ShuttingDown:
    """Turns requests away once the doors are closed, but for health checks, metrics and the server's own.

    `agent` begins the User-Agent of API servers, which ask themselves until the end.
    """

    def __init__(self, doors: Doors, agent: str) -> None:
        self._doors = doors
        self._agent = agent

    def handle(self, request: Request, proceed: Proceed) -> Coroutine[Any, Any, Response]:
        """429 and an end of the connection, so that the client comes back by way of another server."""
        if self._doors.closed and not self._exempt(request):
            return self._turned_away()
        return proceed(request)

    def _exempt(self, request: Request) -> bool:
        return request.path.startswith(_EXEMPT_PATHS) or request.headers.get("user-agent", "").startswith(self._agent)

    async def _turned_away(self) -> Response:
        headers = [("Retry-After", str(RETRY_AFTER_S)), ("X-Content-Type-Options", "nosniff")]
        return Response(
            code=429, content_type="text/plain; charset=utf-8", body=TEXT, headers=headers, last=True
        )
