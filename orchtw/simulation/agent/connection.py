"""One connection to the agent: one request, and perhaps another protocol after it (reference SIM-24)."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any, Final, Protocol
from urllib.parse import parse_qs, unquote, urlsplit

import h11
import msgspec
from twisted.internet.defer import Deferred
from twisted.internet.interfaces import IPushProducer
from twisted.internet.protocol import Protocol as TwistedProtocol
from twisted.logger import Logger
from zope.interface import implementer

from orchtw.simulation.agent.follower import started
from orchtw.simulation.agent.session import Session
from orchtw.simulation.agent.spdy import ProtocolError

MOST_BODY_BYTES: Final = 1 << 20


class Asked(msgspec.Struct, frozen=True, kw_only=True):
    """A request: its decoded path, and headers in lower case."""

    method: str
    target: str
    path: str
    query: dict[str, list[str]]
    headers: list[tuple[bytes, bytes]]

    @classmethod
    def of(cls, request: h11.Request) -> Asked:
        """Return the value of a request."""
        target = request.target.decode("latin-1")
        url = urlsplit(target)
        return cls(
            method=request.method.decode("latin-1"),
            target=target,
            path=unquote(url.path),
            query=parse_qs(url.query, keep_blank_values=True),
            headers=[(bytes(name), bytes(value)) for name, value in request.headers],
        )

    def values(self, name: bytes) -> list[str]:
        """Return the values of a header, which may be several on one line."""
        found = (value.decode("latin-1") for key, value in self.headers if key == name)
        return [each.strip() for line in found for each in line.split(",")]


class Upgraded(Protocol):
    """A protocol that has taken a connection over."""

    def feed(self, data: bytes) -> None:
        """Take in bytes of the client. Raises ProtocolError."""

    def lost(self) -> None:
        """Note that the client has gone."""


Serve = Callable[["AgentConnection", Asked], Awaitable[None]]
"""Answers one request on its connection."""


@implementer(IPushProducer)
class AgentConnection(TwistedProtocol):
    """A connection; `serve` answers its request."""

    _log = Logger()
    transport: Any

    def __init__(self, serve: Serve, opened: set[AgentConnection]) -> None:
        self._serve = serve
        self._opened = opened
        self._http = h11.Connection(our_role=h11.SERVER)
        self._asked: Asked | None = None
        self._size = 0
        self._working: Deferred[None] | None = None
        self._upgraded: Upgraded | None = None
        self._early = b""
        self.session: Session | None = None
        self.paused = False

    def connectionMade(self) -> None:
        """Begin; the client's pace is followed from now on."""
        self._opened.add(self)
        self.transport.setTcpNoDelay(True)
        self.transport.registerProducer(self, True)

    def connectionLost(self, reason: Any = None) -> None:
        """Give up what runs for the client."""
        self._opened.discard(self)
        if self._working is not None:
            self._working.cancel()
        if self._upgraded is not None:
            self._upgraded.lost()

    def pauseProducing(self) -> None:
        """Make no more output: the client does not read."""
        self.paused = True
        if self.session is not None:
            self.session.paused = True

    def resumeProducing(self) -> None:
        """Make output again: the client reads."""
        self.paused = False
        if self.session is not None:
            self.session.resume()

    def stopProducing(self) -> None:
        """Do nothing: the loss of the connection follows."""

    def dataReceived(self, data: bytes) -> None:
        """Take in bytes of the client."""
        try:
            if self._upgraded is not None:
                self._upgraded.feed(data)
            elif self._asked is not None and self._working is not None:
                self._early += data
                if len(self._early) > MOST_BODY_BYTES:
                    self.transport.abortConnection()
            else:
                self._http.receive_data(data)
                self._events()
        except (h11.RemoteProtocolError, ProtocolError):
            self.transport.abortConnection()

    def answer(self, code: int, body: bytes, content_type: str = "text/plain; charset=utf-8") -> None:
        """Send a whole answer, and close the connection."""
        self.begin(code, content_type, len(body))
        if self._asked is None or self._asked.method != "HEAD":
            self.body(body)
        self.end()

    def begin(self, code: int, content_type: str, length: int | None = None) -> None:
        """Send the head of an answer."""
        headers = [("Content-Type", content_type), ("Connection", "close")]
        if length is not None:
            headers.append(("Content-Length", str(length)))
        self._send(h11.Response(status_code=code, headers=headers))

    def body(self, data: bytes) -> None:
        """Send a part of the body."""
        if data:
            self._send(h11.Data(data=data))

    def end(self) -> None:
        """End the answer, and close."""
        self._send(h11.EndOfMessage())
        self._close()

    def switch(self, protocol: str) -> None:
        """Send the head of an answer that switches to SPDY, with the chosen protocol of its streams."""
        lines = "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: SPDY/3.1\r\n"
        if protocol:
            lines += f"X-Stream-Protocol-Version: {protocol}\r\n"
        self.transport.write(f"{lines}\r\n".encode("latin-1"))

    def take_over(self, upgraded: Upgraded, session: Session | None = None) -> None:
        """Pass all further bytes to another protocol."""
        self._upgraded, self.session = upgraded, session
        rest, self._early = self._http.trailing_data[0] + self._early, b""
        if rest:
            upgraded.feed(rest)

    def loseConnection(self) -> None:
        """Close once everything is sent; for the protocol that has taken over, as the methods below."""
        self._close()

    def write(self, data: bytes) -> None:
        self.transport.write(data)

    def hold(self, held: bool) -> None:
        """Stop reading from the client, or go on."""
        if held:
            self.transport.pauseProducing()
        else:
            self.transport.resumeProducing()

    def _events(self) -> None:
        while self._working is None:
            event = self._http.next_event()
            if isinstance(event, h11.Request):
                self._asked = Asked.of(event)
            elif isinstance(event, h11.Data):
                self._size += len(event.data)
                if self._size > MOST_BODY_BYTES:
                    self.transport.abortConnection()
                    return
            elif isinstance(event, h11.EndOfMessage):
                assert self._asked is not None
                self._working = started(self._serve(self, self._asked), self._failed)
            else:
                return

    def _failed(self, error: BaseException) -> None:
        self._log.warn("the simulated node agent failed: {error}", error=error)
        self.transport.abortConnection()

    def _send(self, event: Any) -> None:
        self.transport.write(self._http.send(event) or b"")

    def _close(self) -> None:
        self.transport.unregisterProducer()
        self.transport.loseConnection()
