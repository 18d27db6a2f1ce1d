"""HTTP/1.1 requests of tests over any `Network`."""

from __future__ import annotations

import json
import time
from collections import deque
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from typing import Any
from urllib.parse import quote, urlencode, urlsplit

import h11
import msgspec

from orchtw.testing.control.answers import RawAnswer, refusal
from orchtw.testing.control.network import Network, ServerConnection

ANSWER_S = 60.0
"""Timeout of a response, which the server itself gives up after as long."""

MOST_KEPT = 8
"""Idle connections that are kept: one for each thread that asks at the same time."""

JSON = "application/json"


class ServerRequest(msgspec.Struct, frozen=True, kw_only=True):
    """Request to the server; `path` has the query in it. A `body` other than bytes is sent as JSON."""

    method: str
    path: str
    body: Any = None
    headers: Mapping[str, str] = msgspec.field(default_factory=dict)

    def __str__(self) -> str:
        return f"{self.method} {self.path}"


def path_of(path: str, /, **parameters: Any) -> str:
    """Return a path with query parameters, without those that are None or empty."""
    given = {name: value for name, value in parameters.items() if value not in (None, "")}
    return f"{path}?{urlencode(given, quote_via=quote)}" if given else path


class Lines:
    """Body of a response as lines that come when the server has them."""

    def __init__(self, exchange: _Exchange) -> None:
        self._exchange = exchange
        self._rest = b""
        self._lines: deque[bytes] = deque()
        self._ended = False

    async def next(self, timeout_s: float) -> bytes | None:
        """Return the next line, None at the end. Raises TimeoutError, after which it may be tried again."""
        until = time.monotonic() + timeout_s
        while not self._lines:
            if self._ended:
                return None
            try:
                data = await self._exchange.data(until)
            except TimeoutError:
                raise
            except OSError:  # broken off, as watches of a server that is killed are
                data = b""
            self._ended = not data
            *whole, self._rest = (self._rest + data).split(b"\n")
            self._lines.extend(line for line in whole if line)
        return self._lines.popleft()


class HttpClient:
    """Client of one server, as the user of a token. Connections of finished requests are kept if they can be.

    `reason` returns an error that says why connections fail, if it is known; it may block.
    """

    def __init__(
        self,
        network: Network,
        url: str,
        ca_pem: str,
        token: str,
        reason: Callable[[], OSError | None] = lambda: None,
    ) -> None:
        self.network = network
        self._reason = reason
        parts = urlsplit(url)
        self._host = parts.hostname or "127.0.0.1"
        self._port = parts.port or 443
        self._ca_pem = ca_pem
        self._token = token
        self._kept: deque[ServerConnection] = deque(maxlen=MOST_KEPT)

    async def answer(self, request: ServerRequest, timeout_s: float = ANSWER_S) -> RawAnswer:
        """Return the response to a request, of any code. Raises TimeoutError and OSError."""
        async with self._explained():
            return await self._answer(request, timeout_s)

    async def _answer(self, request: ServerRequest, timeout_s: float) -> RawAnswer:
        exchange = await self._begin(request)
        try:
            until = time.monotonic() + timeout_s
            head = await exchange.head(until)
            pieces = []
            while piece := await exchange.data(until):
                pieces.append(piece)
            keep = exchange.reusable()
        except BaseException:
            exchange.connection.close()
            raise
        self._put_back(exchange.connection, keep=keep)
        headers: dict[str, str] = {}
        for raw_name, raw_value in head.headers:
            name, value = raw_name.decode(), raw_value.decode("latin-1")
            headers[name] = f"{headers[name]}, {value}" if name in headers else value
        return RawAnswer(head.status_code, headers, b"".join(pieces))

    @asynccontextmanager
    async def lines(self, request: ServerRequest, timeout_s: float = ANSWER_S) -> AsyncIterator[Lines]:
        """Open a response that goes on, such as a watch. Raises ApiError for codes of 400 and above."""
        async with self._explained():
            exchange = await self._begin(request)
        try:
            until = time.monotonic() + timeout_s
            async with self._explained():
                head = await exchange.head(until)
            if head.status_code >= 400:
                body = b""
                while piece := await exchange.data(until):
                    body += piece
                raise refusal(str(request), head.status_code, body)
            yield Lines(exchange)
        finally:
            exchange.connection.close()

    @asynccontextmanager
    async def _explained(self) -> AsyncIterator[None]:
        """Replace the error of a connection by the reason for it, if that is known."""
        try:
            yield
        except TimeoutError:
            raise
        except OSError as error:
            if (reason := await self.network.run(self._reason)) is None:
                raise
            raise reason from error

    def close(self) -> None:
        """Close the kept connections."""
        while self._kept:
            self._kept.pop().close()

    async def _begin(self, request: ServerRequest) -> _Exchange:
        connection = self._take_kept()
        if connection is None:
            connection = await self.network.connect(self._host, self._port, self._ca_pem)
        exchange = _Exchange(connection)
        try:
            await exchange.send(request, {"Host": f"{self._host}:{self._port}", **self._authorization()})
        except BaseException:
            connection.close()
            raise
        return exchange

    def _authorization(self) -> Mapping[str, str]:
        return {"Authorization": f"Bearer {self._token}", "User-Agent": "orchtw-testing"}

    def _take_kept(self) -> ServerConnection | None:
        while True:
            try:
                connection = self._kept.pop()
            except IndexError:
                return None
            if connection.idle():
                return connection
            connection.close()

    def _put_back(self, connection: ServerConnection, *, keep: bool) -> None:
        if keep and connection.idle() and len(self._kept) < MOST_KEPT:
            self._kept.append(connection)
        else:
            connection.close()


class _Exchange:
    """One request and its response on a connection."""

    def __init__(self, connection: ServerConnection) -> None:
        self.connection = connection
        self._http = h11.Connection(h11.CLIENT)

    async def send(self, request: ServerRequest, headers: Mapping[str, str]) -> None:
        body = request.body
        sent = {**headers, "Accept": JSON}
        if body is not None and not isinstance(body, bytes):
            body = json.dumps(body).encode()
            sent["Content-Type"] = JSON
        sent |= {**request.headers, "Content-Length": str(len(body or b""))}
        head = h11.Request(method=request.method, target=request.path, headers=list(sent.items()))
        events = [head, *([h11.Data(data=body)] if body else []), h11.EndOfMessage()]
        await self.connection.send(b"".join(self._http.send(each) or b"" for each in events))

    async def head(self, until: float) -> h11.Response:
        """Return the response's head. Raises TimeoutError and OSError."""
        while True:
            event = await self._event(until)
            if isinstance(event, h11.Response):
                return event

    async def data(self, until: float) -> bytes:
        """Return the next piece of the body, empty at its end. Raises TimeoutError and OSError."""
        while True:
            event = await self._event(until)
            if isinstance(event, h11.Data):
                if event.data:
                    return bytes(event.data)
            elif isinstance(event, h11.EndOfMessage):
                return b""

    def reusable(self) -> bool:
        """Report whether the connection may be used for another request."""
        return self._http.our_state is h11.DONE and self._http.their_state is h11.DONE

    async def _event(self, until: float) -> Any:
        try:
            while (event := self._http.next_event()) is h11.NEED_DATA:
                self._http.receive_data(await self.connection.receive(until - time.monotonic()))
        except h11.RemoteProtocolError as error:
            raise ConnectionError(f"the server broke off its response ({error})") from None
        if isinstance(event, h11.ConnectionClosed):
            raise ConnectionError("the server closed the connection without a response")
        return event
