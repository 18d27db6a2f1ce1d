"""A connection to a `WebhookServer`: requests one after the other, answered well or badly."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from typing import Any
from typing import Protocol as Interface

import attrs
import h11
import orjson
from twisted.internet.defer import Deferred
from twisted.internet.interfaces import IHalfCloseableProtocol
from twisted.internet.protocol import Protocol, connectionDone
from twisted.python.failure import Failure
from zope.interface import implementer


@attrs.frozen(slots=True, kw_only=True)
class WebhookRequest:
    """One request as it came; names of headers are in lower case. `user` is the common name of its certificate."""

    method: str
    target: str
    headers: Mapping[str, str]
    body: bytes
    user: str = ""

    @property
    def json(self) -> Any:
        """The body's JSON value."""
        return orjson.loads(self.body)


@attrs.frozen(slots=True, kw_only=True)
class Reply:
    """An answer that need not be a good one.

    With `raw` these bytes are sent and nothing else. `cut` sends only so many bytes of the body and ends the
    connection. `half_closed` ends the sending side and goes on reading. `silent` never answers. `close` ends the
    connection after the answer.
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
"""Ends the connection without a word."""

Answering = Callable[[WebhookRequest], Any]
"""What is answered: a Reply, bytes, a JSON value, or something that can be awaited for one."""


class ReviewServer(Interface):
    """Server that a webhook connection belongs to."""

    answer: Answering
    asked: list[WebhookRequest]

    def opened(self, connection: WebhookConnection) -> None:
        """Add an opened connection."""

    def closed(self, connection: WebhookConnection) -> None:
        """Remove a closed connection."""


@implementer(IHalfCloseableProtocol)
class WebhookConnection(Protocol):
    """Reads requests, has them answered and writes the answers; `gone` fires at its end."""

    transport: Any

    def __init__(self, server: ReviewServer) -> None:
        self.gone: Deferred[None] = Deferred()
        self._server = server
        self._h11 = h11.Connection(h11.SERVER)
        self._request: h11.Request | None = None
        self._body = b""
        self._answering: Deferred[None] | None = None

    def connectionMade(self) -> None:
        """Tell the server of the new connection."""
        self._server.opened(self)

    def dataReceived(self, data: bytes) -> None:
        """A part of a request."""
        try:
            self._h11.receive_data(data)
            self._read()
        except h11.RemoteProtocolError:
            self.transport.abortConnection()

    def readConnectionLost(self) -> None:
        """The client sends no more."""
        self.transport.loseConnection()

    def writeConnectionLost(self) -> None:
        """This side sends no more, and still reads."""

    def connectionLost(self, _reason: Failure = connectionDone) -> None:
        """The client is gone; an answer that is still being made is not needed."""
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
        """The answering function has failed, or was not needed any more: that is a 500, or nothing."""
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
        """TCP has two directions; of TLS' end only the farewell is sent."""
        if hasattr(self.transport, "getPeerCertificate"):
            self.transport.transport.loseWriteConnection()
        else:
            self.transport.loseWriteConnection()


def _reply(found: Any) -> Reply:
    if isinstance(found, Reply):
        return found
    return Reply(body=found if isinstance(found, bytes) else orjson.dumps(found))
