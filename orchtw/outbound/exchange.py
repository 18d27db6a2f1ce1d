"""One HTTP/1.1 request and its response on a connection; after a 101, the bytes of another protocol."""

from __future__ import annotations

import socket
from collections.abc import Callable, Sequence
from enum import Enum
from typing import Any, Final
from typing import Protocol as Interface

import h11
import msgspec
from twisted.internet.defer import Deferred
from twisted.internet.error import ConnectionClosed, ConnectionDone
from twisted.internet.interfaces import IHalfCloseableProtocol, IHandshakeListener
from twisted.internet.protocol import Protocol, connectionDone
from twisted.python.failure import Failure
from zope.interface import implementer

from orchtw.errors import BadRequest
from orchtw.outbound.open_connections import OpenConnections

Headers = Sequence[tuple[str, str]]

HEAD_BYTES: Final = 256 * 1024
"""Limit of a response's head and the interim responses before it, with some room for cookies."""

HELD_BYTES: Final = 64 * 1024
"""Limit of body bytes that are held until a sink takes them; beyond it the connection is not read."""

_START: Final = b"HTTP/"
_TOO_LONG: Final = f"net/http: server response headers exceeded {HEAD_BYTES} bytes; aborted"
_MALFORMED: Final = "net/http: HTTP/1.x transport connection broken: malformed HTTP response: "

_KEEPALIVE: Final = ((socket.TCP_KEEPIDLE, 30), (socket.TCP_KEEPINTVL, 10), (socket.TCP_KEEPCNT, 3))


class CallOutcome(Enum):
    """Outcome of an HTTP exchange."""

    WHOLE = "whole"
    """The response was complete, or the other protocol's connection was closed in order."""
    CUT = "cut"
    """The other side closed the connection before that."""
    ABORTED = "aborted"
    """This side aborted the exchange."""


class Broken(Exception):
    """Error about a missing or unreadable response; the text has the reason, in the reference server's words.

    `cause` is why the connection has ended, if that was the reason. With `unanswered` no byte of a response had come:
    most likely the request was not read.
    """

    def __init__(self, text: str, cause: BaseException | None = None, *, unanswered: bool = False) -> None:
        super().__init__(text)
        self.cause = cause
        self.unanswered = unanswered


class ResponseHead(msgspec.Struct, frozen=True, kw_only=True):
    """Code and headers of a response, the headers in their order and spelling."""

    code: int
    headers: Headers

    def first(self, name: str) -> str:
        """Return the first value of a header, whose name is in lower case; empty if there is none."""
        return next((value for key, value in self.headers if key.lower() == name), "")


class BodySink(Interface):
    """Receiver of a response's body, or of the other protocol's bytes."""

    def received(self, data: bytes) -> None:
        """Take some bytes; may pause the exchange."""

    def ended(self, outcome: CallOutcome) -> None:
        """Take note of the end. Called once, unless the sink's own side has aborted the exchange."""


@implementer(IHandshakeListener, IHalfCloseableProtocol)
class ClientExchange(Protocol):
    """HTTP/1.1 exchange: one request and its response.

    `secured` fires when bytes can be sent, and fails when the connection cannot be made. The body is held, up to
    HELD_BYTES, until a sink takes it: `read_into`. `pause` and `resume` are for slow readers.
    """

    transport: Any = None

    def __init__(
        self,
        *,
        tls: bool,
        keep: Callable[[Any], None] | None = None,
        connections: OpenConnections | None = None,
    ) -> None:
        """Prepare an exchange. `keep` is given the connection if it may carry another request after the response.

        `connections` are notified of a connection's beginning and end.
        """
        self.secured: Deferred[None] = Deferred()
        self._tls = tls
        self._keep = keep
        self._connections = connections
        self._h11 = h11.Connection(our_role=h11.CLIENT, max_incomplete_event_size=HEAD_BYTES)
        self._answer: Deferred[ResponseHead] | None = None
        self._head_bytes = 0
        self._upgraded = False
        self._sink: BodySink | None = None
        self._held: list[bytes] = []
        self._held_bytes = 0
        self._paused = self._stopped = False
        self._outcome: CallOutcome | None = None
        self._lost = False
        self._listeners: list[Callable[[CallOutcome], None]] = []

    def on_end(self, tell: Callable[[CallOutcome], None]) -> None:
        """Have `tell` called once, when the exchange is over."""
        self._listeners.append(tell)

    # Asking

    def ask(self, method: str, target: str, headers: Headers, body: bytes = b"") -> Deferred[ResponseHead]:
        """Send the request; the result fires with the response's head (interim ones are skipped, a 101 is not).

        Fails with Broken. Raises BadRequest (400) for a request that cannot be encoded, and ends the exchange.
        """
        try:
            raw = [(name.encode("latin-1"), value.encode("latin-1")) for name, value in headers]
            request = h11.Request(method=method.encode(), target=target.encode("ascii"), headers=raw)
            pieces = [self._h11.send(request)]
            if body:
                pieces.append(self._h11.send(h11.Data(data=body)))
            pieces.append(self._h11.send(h11.EndOfMessage()))
        except (h11.LocalProtocolError, UnicodeEncodeError) as problem:
            self.abort()
            raise BadRequest(f"the request cannot be passed on: {problem}") from None
        answer = self._answer = Deferred(lambda _: self.abort())
        self.transport.write(b"".join(piece for piece in pieces if piece))
        return answer

    # Taking

    def read_into(self, sink: BodySink) -> None:
        """Pass held and coming bytes to `sink` from now on."""
        self._sink = sink
        held, self._held, self._held_bytes = self._held, [], 0
        for data in held:
            sink.received(data)
        if self._outcome is not None:
            self._tell_sink()
        elif not self._paused:
            self._resume_reading()

    def pause(self) -> None:
        """Stop reading: the sink has no room."""
        self._paused = True
        self._stop_reading()

    def resume(self) -> None:
        """Read again: the sink has room."""
        self._paused = False
        if self._sink is not None:
            self._resume_reading()

    def _stop_reading(self) -> None:
        if self._outcome is None and not self._stopped:
            self._stopped = True
            self.transport.pauseProducing()

    def _resume_reading(self) -> None:
        if self._outcome is None and self._stopped:
            self._stopped = False
            self.transport.resumeProducing()

    # The other protocol's bytes

    def write(self, data: bytes) -> None:
        """Send bytes of the protocol that a 101 has begun."""
        if self._outcome is None:
            self.transport.write(data)

    def go_on(self, transport: Any) -> None:
        """Take over a connection on which an exchange has ended, in place of dialling."""
        self.transport = transport
        self.secured.callback(None)

    def end_writing(self) -> None:
        """Stop sending but keep reading: TLS closes one direction at a time, as TCP does where there is no TLS."""
        if self._outcome is not None:
            return
        if self._tls:
            self.transport.loseConnection()
        else:
            self.transport.loseWriteConnection()

    def abort(self) -> None:
        """Drop the connection; the sink is not notified."""
        self._sink = None
        if not self.secured.called:
            self.secured.addErrback(lambda _: None)
        if self._outcome is None:
            self._end(CallOutcome.ABORTED)
            self._drop()

    def _drop(self) -> None:
        if self.transport is not None and not self._lost:
            self.transport.abortConnection()

    def _close(self) -> None:
        """Close in order, without waiting for the other side's TLS to confirm, which may take for ever."""
        if not self._lost:
            self.transport.loseConnection()
            if self._tls:
                self.transport.transport.loseConnection()

    # Twisted's

    def connectionMade(self) -> None:
        """Take note of the TCP connection; a TLS handshake is yet to come."""
        if self._connections is not None:
            self._connections.opened(self.transport)
        if not self._tls:
            self.secured.callback(None)

    def handshakeCompleted(self) -> None:
        """Note that the TLS handshake is complete."""
        if not self.secured.called:
            self.secured.callback(None)

    def keep_alive(self) -> None:
        """Enable keepalive, to notice a peer that is gone, and send small writes at once."""
        keep_alive(self.transport)

    def dataReceived(self, data: bytes) -> None:
        """Take a part of the response."""
        if self._outcome is not None:
            return
        if self._upgraded:
            self._take(data)
            return
        if self._answer is not None:
            at, self._head_bytes = self._head_bytes, self._head_bytes + len(data)
            # Other protocols greet and wait: h11 would wait for the end of a head.
            if at < len(_START) and not _START.startswith(data[: len(_START) - at], at):
                self._break(f"{_MALFORMED}illegal status line")
                return
        self._read(data)

    def _read(self, data: bytes) -> None:
        try:
            self._h11.receive_data(data)
            self._read_events()
        except h11.RemoteProtocolError as problem:
            too_long = problem.error_status_hint == 431
            self._break(_TOO_LONG if too_long else f"{_MALFORMED}{problem}")
        else:
            if self._answer is not None and self._head_bytes > HEAD_BYTES:
                self._break(_TOO_LONG)

    def readConnectionLost(self) -> None:
        """Finish: the other side has sent everything."""
        self._input_ended(ConnectionDone())
        self._close()

    def writeConnectionLost(self) -> None:
        """Ignore the end of this side's writing."""

    def connectionLost(self, reason: Failure = connectionDone) -> None:
        """Finish: the connection is closed."""
        self._lost = True
        if self._connections is not None:
            self._connections.closed(self.transport)
        if not self.secured.called:
            self.secured.errback(reason)
        self._input_ended(reason.value)

    # Events of the response

    def _read_events(self) -> None:
        while True:
            event = self._h11.next_event()
            if event is h11.NEED_DATA or event is h11.PAUSED or self._outcome is not None:
                return
            if isinstance(event, h11.InformationalResponse):
                if event.status_code == 101:
                    self._begin_other(event)
                    return
            elif isinstance(event, h11.Response):
                self._begin(event)
            elif isinstance(event, h11.Data):
                self._take(bytes(event.data))
            else:
                self._complete()
                return

    def _begin(self, event: h11.Response | h11.InformationalResponse) -> None:
        headers = [(name.decode("latin-1"), value.decode("latin-1")) for name, value in event.headers.raw_items()]
        answer, self._answer = self._answer, None
        if answer is not None:
            answer.callback(ResponseHead(code=event.status_code, headers=headers))
        # After the head was delivered: a sink that is set at once spares the transport a pause.
        if self._sink is None:
            self._stop_reading()

    def _begin_other(self, event: h11.InformationalResponse) -> None:
        self._upgraded = True
        rest, _ = self._h11.trailing_data
        if rest:
            self._take(rest)
        self._begin(event)

    def _take(self, data: bytes) -> None:
        if not data:
            return
        if self._sink is not None:
            self._sink.received(data)
            return
        self._held.append(data)
        self._held_bytes += len(data)
        if self._held_bytes > HELD_BYTES:
            self._stop_reading()

    def _complete(self) -> None:
        keep = self._keep if self._reusable() else None
        if keep is None:
            self._end(CallOutcome.WHOLE)
            self._close()
            return
        self._resume_reading()
        transport, self.transport, self._lost = self.transport, None, True
        # Kept before the end is reported: a sink that sends another request at once can use this connection.
        keep(transport)
        self._end(CallOutcome.WHOLE)

    def _reusable(self) -> bool:
        states = self._h11.our_state, self._h11.their_state
        return states == (h11.DONE, h11.DONE) and not self._h11.trailing_data[0]

    def _input_ended(self, cause: BaseException | None) -> None:
        if self._outcome is not None:
            return
        whole = isinstance(cause, ConnectionDone)
        if self._upgraded:
            self._end(CallOutcome.WHOLE if whole else CallOutcome.CUT)
            return
        if whole:
            try:
                self._h11.receive_data(b"")
                self._read_events()
            except h11.RemoteProtocolError:
                pass
        if self._outcome is None:
            self._break("EOF" if whole else "connection reset by peer", cause)

    def _break(self, why: str, cause: BaseException | None = None) -> None:
        answer, self._answer = self._answer, None
        self._end(CallOutcome.CUT)
        self._drop()
        if answer is not None:
            unanswered = isinstance(cause, ConnectionClosed) and not self._head_bytes
            answer.errback(Broken(why, cause, unanswered=unanswered))

    def _end(self, outcome: CallOutcome) -> None:
        if self._outcome is not None:
            return
        self._outcome = outcome
        self._tell_sink()
        listeners, self._listeners = self._listeners, []
        for tell in listeners:
            tell(outcome)

    def _tell_sink(self) -> None:
        # Dropped at the end: a sink that references the exchange would leave both to the garbage collector.
        sink, self._sink = self._sink, None
        if sink is not None and self._outcome is not None:
            sink.ended(self._outcome)


def keep_alive(transport: Any) -> None:
    """Have the system look after an idle connection, and send small writes at once."""
    try:
        transport.setTcpKeepAlive(True)
        transport.setTcpNoDelay(True)
        for option, value in _KEEPALIVE:
            transport.socket.setsockopt(socket.IPPROTO_TCP, option, value)
    except (AttributeError, OSError):
        pass  # it is closed already: the first read will show that
