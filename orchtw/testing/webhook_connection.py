"""Connection to a `WebhookServer`: sequential requests, answered correctly or not."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from typing import Any
from typing import Protocol as Interface

import h11
import msgspec
import orjson
from twisted.internet.defer import Deferred
from twisted.internet.interfaces import IHalfCloseableProtocol
from twisted.internet.protocol import Protocol, connectionDone
from twisted.python.failure import Failure
from zope.interface import implementer


class WebhookRequest(msgspec.Struct, frozen=True, kw_only=True):
    """Received request; header names are in lower case. `user` is the common name of the client certificate."""

    method: str
    target: str
    headers: Mapping[str, str]
    body: bytes
    user: str = ""

    @property
    def json(self) -> Any:
        """Return the body's JSON value."""
        return orjson.loads(self.body)


class Reply(msgspec.Struct, frozen=True, kw_only=True):
    """Response, possibly a broken one.

    `raw` sends just these bytes. `cut` sends that many bytes of the body, then closes the connection. `half_closed`
    closes the sending side but keeps reading. `silent` never responds. `close` closes the connection after the
    response.
    """

    code: int = 200
    body: bytes = b""
    content_type: str = "application/json"
    headers: tuple[tuple[str, str], ...] = ()
    raw: bytes | None = None
    cut: int | None = None
    half_closed: bool = False
    silent: bool = False
    close: bool = False


HANG_UP = Reply(raw=b"", close=True)
"""Reply that closes the connection without a response."""

Answering = Callable[[WebhookRequest], Any]
"""Response of a test webhook: a Reply, bytes, a JSON value, or an awaitable of one."""


class ReviewServer(Interface):
    """Interface of the server that connections belong to."""

    answer: Answering
    asked: list[WebhookRequest]

    def opened(self, connection: WebhookConnection) -> None:
        """Add an opened connection."""

    def closed(self, connection: WebhookConnection) -> None:
        """Remove a closed connection."""


@implementer(IHalfCloseableProtocol)
class WebhookConnection(Protocol):
    """HTTP/1.1 server connection; `gone` fires when it is closed."""

    transport: Any

    def __init__(self, server: ReviewServer) -> None:
        self.gone: Deferred[None] = Deferred()
        self._server = server
        self._h11 = h11.Connection(h11.SERVER)
        self._request: h11.Request | None = None
        self._body = b""
        self._answering: Deferred[None] | None = None

    def connectionMade(self) -> None:
        """Register the connection with its server."""
        self._server.opened(self)

    def dataReceived(self, data: bytes) -> None:
        """Parse received bytes and answer complete requests."""
        try:
            self._h11.receive_data(data)
            self._read()
        except h11.RemoteProtocolError:
            self.transport.abortConnection()

    def readConnectionLost(self) -> None:
        """Close the connection when the client has closed its side."""
        self.transport.loseConnection()

    def writeConnectionLost(self) -> None:
        """Keep reading after this side is closed."""

    def connectionLost(self, _reason: Failure = connectionDone) -> None:
        """Unregister the connection and cancel a pending response."""
        self._server.closed(self)
        if self._answering is not None:
            self._answering.cancel()
        self.gone.callback(None)

    def _read(self) -> None:
        while True:
            event = self._h11.next_event()
            if isinstance(event, h11.Request):
                self._request, self._body = event, b""
            elif isinstance(event, h11.Data):
                self._body += bytes(event.data)
            elif isinstance(event, h11.EndOfMessage):
                self._answering = Deferred.fromCoroutine(self._answer())
                self._answering.addErrback(self._fail)
            else:
                return

    async def _answer(self) -> None:
        assert self._request is not None
        asked = WebhookRequest(
            method=self._request.method.decode(),
            target=self._request.target.decode(),
            headers={name.decode(): value.decode("latin-1") for name, value in self._request.headers},
            body=self._body,
            user=self._user(),
        )
        self._server.asked.append(asked)
        found = self._server.answer(asked)
        if inspect.isawaitable(found):
            found = await found
        self._answering = None
        self._send(_reply(found))

    def _fail(self, _failure: Failure) -> None:
        """Send a 500 if the answering function has failed, nothing if it was cancelled."""
        self._answering = None
        if not self.gone.called:
            self._send(Reply(code=500, body=b"the test's own function failed", content_type="text/plain"))

    def _user(self) -> str:
        get = getattr(self.transport, "getPeerCertificate", lambda: None)
        return "" if (shown := get()) is None else str(shown.get_subject().CN)

    def _send(self, reply: Reply) -> None:
        if reply.silent:
            return
        if reply.raw is not None:
            self.transport.write(reply.raw)
        else:
            self._send_whole(reply)
        if reply.half_closed:
            self._half_close()
        elif reply.close or reply.cut is not None:
            self.transport.loseConnection()
        elif reply.raw is None and self._h11.our_state is h11.DONE:
            self._h11.start_next_cycle()
            self._read()

    def _send_whole(self, reply: Reply) -> None:
        headers = [("Content-Type", reply.content_type), ("Content-Length", str(len(reply.body))), *reply.headers]
        pieces = [self._h11.send(h11.Response(status_code=reply.code, headers=headers))]
        if reply.cut is None:
            pieces += [self._h11.send(h11.Data(data=reply.body)), self._h11.send(h11.EndOfMessage())]
        else:
            pieces.append(self._h11.send(h11.Data(data=reply.body[: reply.cut])))
        self.transport.write(b"".join(piece for piece in pieces if piece))

    def _half_close(self) -> None:
        """Close the sending side of the TCP connection; under TLS no close alert is sent."""
        if hasattr(self.transport, "getPeerCertificate"):
            self.transport.transport.loseWriteConnection()
        else:
            self.transport.loseWriteConnection()


def _reply(found: Any) -> Reply:
    if isinstance(found, Reply):
        return found
    return Reply(body=found if isinstance(found, bytes) else orjson.dumps(found))
