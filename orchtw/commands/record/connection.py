"""Requests of the command to a server: whole answers, and lines that come as the server writes them."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any, Final
from urllib.parse import urlencode, urlsplit

import attrs
import orjson
from twisted.internet.defer import Deferred
from twisted.python.failure import Failure

from orchtw.errors import ConfigError, TooManyRequests
from orchtw.exports.client import JSON, Params, ServerAnswer
from orchtw.outbound.credentials import CredentialsError, ShownHeaders
from orchtw.outbound.destination import Destination, default_port
from orchtw.outbound.dialer import Dialer, Unreachable
from orchtw.outbound.exchange import Broken, CallOutcome, ClientExchange, ResponseHead
from orchtw.outbound.exchanges import Exchanges
from orchtw.outbound.policy import BadTLS
from orchtw.outbound.remote import Remote
from orchtw.outbound.routes import DIAL_S, Route, TransportSettings
from orchtw.wire.json_values import loads
from orchtw.wire.objects import Object

AGENT: Final = "orch-record"
TIMEOUT_S: Final = 60.0
"""Time limit of a whole answer; lines have none."""

HELD_BYTES: Final = 1 << 20
"""Bytes of a body that may wait to be read. Then the connection pauses, and the server notices a slow reader."""

SHORT_BYTES: Final = 64 << 20
"""Limit of an answer that is read as a whole."""

_TROUBLES: Final = (Broken, Unreachable, BadTLS, CredentialsError, TooManyRequests)


class RefusedQuery(ConfigError):
    """Error about an answer that is a refusal."""

    def __init__(self, answer: ServerAnswer) -> None:
        super().__init__(answer.message)
        self.answer = answer


class Connection:
    """Client of one server, with kept connections. Every failure is a ConfigError with one line."""

    def __init__(self, remote: Remote, reactor: Any) -> None:
        self._remote = remote
        self._reactor = reactor
        self._exchanges: Exchanges[Route] = Exchanges(Dialer(reactor, "servers"), reactor, _destination)

    @property
    def url(self) -> str:
        """Return the URL of the server."""
        return self._remote.url

    async def close(self) -> None:
        """Drop all connections, and wait until they are closed."""
        await self._exchanges.stop()

    async def ask(
        self, method: str, path: str, params: Params = (), obj: Object | None = None, content: str = JSON
    ) -> ServerAnswer:
        """Return a whole answer; `obj` is sent as JSON of the content type. Raises ConfigError."""

        def late(_result: object, _timeout_s: float) -> Any:
            return Failure(ConfigError(f"{self.url}: no answer within {TIMEOUT_S:.0f} s"))  # type: ignore[no-untyped-call]

        asking = Deferred.fromCoroutine(self._whole(method, path, params, obj, content))
        return await asking.addTimeout(TIMEOUT_S, self._reactor, onTimeoutCancel=late)

    async def lines(self, path: str, params: Params = ()) -> AsyncIterator[Object]:
        """Yield the values of an answer's lines. Raises RefusedQuery, and ConfigError, also for an error line."""
        head, body = await self._asked("GET", path, params, b"", "")
        try:
            if head.code != 200:
                raise RefusedQuery(_answer(head.code, await body.whole()))
            rest = b""
            while data := await body.next():
                *complete, rest = (rest + data).split(b"\n")
                for line in complete:
                    yield _checked(_parsed(line))
            if rest:
                raise ConfigError(f"{self.url}: the answer ended in the middle of a line")
        except Broken as problem:
            raise ConfigError(f"{self.url}: {problem}") from None
        finally:
            body.drop()

    async def _whole(self, method: str, path: str, params: Params, obj: Object | None, content: str) -> ServerAnswer:
        body = b"" if obj is None else orjson.dumps(obj)
        head, received = await self._asked(method, path, params, body, content)
        try:
            return _answer(head.code, await received.whole())
        except Broken as problem:
            raise ConfigError(f"{self.url}: {problem}") from None
        finally:
            received.drop()

    async def _asked(
        self, method: str, path: str, params: Params, body: bytes, content: str
    ) -> tuple[ResponseHead, Body]:
        """Send a request; with credentials that can be renewed, once more after a 401. Raises ConfigError."""
        query = f"?{urlencode(params)}" if params else ""
        parts = urlsplit(self._remote.url)
        target = parts.path.rstrip("/") + path + query
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
        route = _route(self._remote, shown)
        headers = [
            ("Host", urlsplit(self._remote.url).netloc), ("User-Agent", AGENT), ("Accept", JSON),
            *shown.headers,
        ]  # fmt: skip
        if body:
            headers += [("Content-Type", content), ("Content-Length", str(len(body)))]
        exchange, head = await self._exchanges.ask(route, method, target, headers, body, repeatable=method == "GET")
        return head, Body(exchange)


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
        data = b""
        while piece := await self.next():
            data += piece
            if len(data) > SHORT_BYTES:
                raise Broken("the answer is too long")
        return data

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


def _answer(code: int, body: bytes) -> ServerAnswer:
    try:
        return ServerAnswer(code, loads(body))
    except ValueError:
        return ServerAnswer(code, None)


def _parsed(line: bytes) -> Object:
    try:
        value = loads(line)
    except ValueError:
        value = None
    if not isinstance(value, dict):
        raise ConfigError("the server's answer is not lines of JSON: is it a server with --enable-history?")
    return value


def _checked(value: Object) -> Object:
    """Return a line's value. Raises ConfigError for one that reports an error."""
    if value.get("type") == "ERROR":
        raise ConfigError(ServerAnswer(0, value.get("object")).message)
    return value
