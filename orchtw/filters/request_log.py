"""One log line per request, for `-v 3` and more (reference OPS-18)."""

from __future__ import annotations

from twisted.internet.interfaces import IReactorTime
from twisted.logger import Logger

from orchtw.filters.chain import Proceed
from orchtw.request import Request, Response
from orchtw.rules.causes import MAX_SHOWN_CHARACTERS, go_quote

VERBOSITY = 3
"""The least `-v` that logs requests."""

LONGEST = MAX_SHOWN_CHARACTERS
"""Characters of a client's choosing that a field shows."""


def shown(text: str) -> str:
    """`text` in quotes, escaped as Go's %q does, so that a client can forge neither fields nor lines.

    What is longer than LONGEST is cut, and says so behind the quotes.
    """
    return go_quote(text) if len(text) <= LONGEST else f"{go_quote(text[:LONGEST])}...({len(text)} characters)"


class RequestLog:
    """Writes the lines; queries may hold tokens of other systems, so only the path is shown of a non-resource URL."""

    _log = Logger()

    def __init__(self, clock: IReactorTime) -> None:
        self._clock = clock

    async def handle(self, request: Request, proceed: Proceed) -> Response:
        """Write the line when the request has its answer; that of a stream when it begins."""
        began = self._clock.seconds()
        response = await proceed(request)
        self._write(request, response, self._clock.seconds() - began)
        return response

    def _write(self, request: Request, response: Response, latency_s: float) -> None:
        info = request.info
        uri = f"{request.path}?{request.query}" if request.query and info and info.is_resource else request.path
        self._log.info(
            'HTTP verb={verb} URI={uri} latency="{latency:.3f}ms" userAgent={agent} '
            'audit-ID="{audit_id}" srcIP="{address}:{port}" resp={code}{acting}',
            verb=shown(request.method),
            uri=shown(uri),
            latency=latency_s * 1000,
            agent=shown(request.headers.get("user-agent", "")),
            audit_id=request.audit_id,
            address=request.peer.address,
            port=request.peer.port,
            code=response.code,
            acting=_acting(request),
        )


def _acting(request: Request) -> str:
    """Who came and as whom he acted, where these are two (reference AUTHN-43)."""
    came, user = request.authenticated, request.user
    if came is None or user is None or came is user:
        return ""
    return f" user={shown(came.name)} actingAs={shown(user.name)}"
