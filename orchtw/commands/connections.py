"""Connections of a command to its server: requests with credentials, and bodies as they come."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any, Final
from urllib.parse import urlsplit

import attrs
from twisted.internet.defer import Deferred

from orchtw.errors import ConfigError, TooManyRequests
from orchtw.outbound.credentials import CredentialsError, ShownHeaders
from orchtw.outbound.destination import Destination, default_port
from orchtw.outbound.dialer import MOST, Dialer, Unreachable
from orchtw.outbound.exchange import Broken, CallOutcome, ClientExchange, Headers, ResponseHead
from orchtw.outbound.exchanges import MOST_IDLE, Exchanges
from orchtw.outbound.policy import BadTLS
from orchtw.outbound.remote import Remote
from orchtw.outbound.routes import DIAL_S, Route, TransportSettings

JSON: Final = "application/json"

HELD_BYTES: Final = 1 << 20
"""Bytes of a body that may wait to be read. Then the connection pauses, and the server notices a slow reader."""

SHORT_BYTES: Final = 64 << 20
"""Limit of an answer that is read as a whole."""

_TROUBLES: Final = (Broken, Unreachable, BadTLS, CredentialsError, TooManyRequests)


class ServerConnections:
    """Kept connections to one server for the program `agent`: at most `most`, of them `most_idle` idle ones."""

    def __init__(
        self, remote: Remote, reactor: Any, agent: str, most: int = MOST, most_idle: int = MOST_IDLE
    ) -> None:
        parts = urlsplit(remote.url)
        self._remote = remote
        self._prefix = parts.path.rstrip("/")
        self._fixed = (("Host", parts.netloc), ("User-Agent", agent), ("Accept", JSON))
        dialer = Dialer(reactor, "servers", most)
        self._exchanges: Exchanges[Route] = Exchanges(dialer, reactor, _destination, most_idle)
        self._routes: dict[bytes, Route] = {}

    @property
    def url(self) -> str:
        """Return the URL of the server."""
        return self._remote.url

    async def close(self) -> None:
        """Drop all connections, and wait until they are closed."""
        await self._exchanges.stop()

    async def asked(
        self, method: str, target: str, body: bytes = b"", content: str = ""
    ) -> tuple[ResponseHead, Body]:
        """Send a request; with credentials that can be renewed, once more after a 401. Raises ConfigError.

        `target` is the path with its query; `content` is the type of the body.
        """
        target = self._prefix + target
        credentials = self._remote.credentials
        try:
            shown = ShownHeaders() if credentials is None else await credentials.current()
            head, received = await self._sent(method, target, shown, body, content)
            if head.code == 401 and credentials is not None and credentials.refused(shown):
                received.drop()
                head, received = await self._sent(method, target, await credentials.current(), body, content)
        except _TROUBLES as problem:
            raise ConfigError(f"{self.url}: {problem}") from None
        return head, received

    async def _sent(
        self, method: str, target: str, shown: ShownHeaders, body: bytes, content: str
    ) -> tuple[ResponseHead, Body]:
        headers: Headers = [*self._fixed, *shown.headers]
        if body:
            headers = [*headers, ("Content-Type", content), ("Content-Length", str(len(body)))]
        route = self._route(shown)
        exchange, head = await self._exchanges.ask(route, method, target, headers, body, repeatable=method == "GET")
        return head, Body(exchange)

    def _route(self, shown: ShownHeaders) -> Route:
        route = self._routes.get(shown.certificate)
        if route is None:
            self._routes = {shown.certificate: (route := _route(self._remote, shown))}
        return route


class Body:
    """Body of an answer as it comes (a `BodySink`). The connection pauses while too much waits to be read."""

    def __init__(self, exchange: ClientExchange) -> None:
        self._exchange = exchange
        self._pieces: list[bytes] = []
        self._size = 0
        self._paused = False
        self._outcome: CallOutcome | None = None
        self._waiting: Deferred[None] | None = None
        exchange.read_into(self)

    def received(self, data: bytes) -> None:
        """Take some bytes of the body."""
        self._pieces.append(data)
        self._size += len(data)
        if self._size > HELD_BYTES and not self._paused:
            self._paused = True
            self._exchange.pause()
        self._wake()

    def ended(self, outcome: CallOutcome) -> None:
        """Take note of the end."""
        self._outcome = outcome
        self._wake()

    async def next(self) -> bytes:
        """Return what has come, or wait for it; empty at the end. Raises Broken for a truncated body."""
        if not self._pieces and self._outcome is None:
            self._waiting = Deferred()
            await self._waiting
        data, self._pieces, self._size = b"".join(self._pieces), [], 0
        if self._paused:
            self._paused = False
            self._exchange.resume()
        if not data and self._outcome is not CallOutcome.WHOLE:
            raise Broken("the connection was lost in the middle of the answer")
        return data

    async def whole(self) -> bytes:
        """Return the whole body, which is short. Raises Broken."""
        pieces, size = [], 0
        while piece := await self.next():
            pieces.append(piece)
            size += len(piece)
            if size > SHORT_BYTES:
                raise Broken("the answer is too long")
        return b"".join(pieces)

    async def start(self, count: int) -> bytes:
        """Read a body of any length to its end, and return the first `count` bytes. Raises Broken."""
        kept = b""
        while piece := await self.next():
            kept += piece[: count - len(kept)]
        return kept

    async def lines(self) -> AsyncIterator[bytes]:
        """Yield the lines as they come, without their ends. Raises Broken, also for an end inside of a line."""
        rest = b""
        while data := await self.next():
            *complete, rest = (rest + data).split(b"\n")
            for line in complete:
                yield line
        if rest:
            raise Broken("the answer ended in the middle of a line")

    def drop(self) -> None:
        """Drop the connection, unless the body has ended: the rest is not wanted."""
        if self._outcome is None:
            self._exchange.abort()

    def _wake(self) -> None:
        waiting, self._waiting = self._waiting, None
        if waiting is not None:
            waiting.callback(None)


def _route(remote: Remote, shown: ShownHeaders) -> Route:
    tls, parts = remote.tls, urlsplit(remote.url)
    if shown.certificate:
        tls = attrs.evolve(tls, certificate=shown.certificate, key=shown.key)
    port = parts.port or default_port(parts.scheme)
    return Route(TransportSettings(tls=tls), parts.scheme, parts.hostname or "", port)


async def _destination(route: Route) -> Destination:
    return Destination(
        scheme="https" if route.scheme == "https" else "http",
        host=route.host,
        port=route.port,
        tls=route.transport.tls.tls(),
        timeout_s=DIAL_S,
        server_name=route.transport.tls.server_name,
    )
