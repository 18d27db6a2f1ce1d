"""One HTTP/1.1 request and its answer on a connection of its own; after a 101 the bytes of another protocol."""

from __future__ import annotations

import socket
from collections.abc import Callable, Sequence
from enum import Enum
from typing import Any, Final
from typing import Protocol as Interface

import attrs
import h11
from twisted.internet.defer import Deferred
from twisted.internet.error import ConnectionDone
from twisted.internet.interfaces import IHalfCloseableProtocol, IHandshakeListener
from twisted.internet.protocol import Protocol, connectionDone
from twisted.python.failure import Failure
from zope.interface import implementer

from orchtw.errors import BadRequest

Headers = Sequence[tuple[str, str]]

HEAD_BYTES: Final = 256 * 1024
"""Of an answer's head, with some room for cookies."""

HELD_BYTES: Final = 64 * 1024
"""What comes of a body before somebody takes it; then the connection is read no more."""

_KEEPALIVE: Final = ((socket.TCP_KEEPIDLE, 30), (socket.TCP_KEEPINTVL, 10), (socket.TCP_KEEPCNT, 3))


class CallOutcome(Enum):
    """Outcome of an HTTP exchange."""

    WHOLE = "whole"
    """The answer was complete, or the other protocol's connection was closed in order."""
    CUT = "cut"
    """The other side has gone before that."""
    ABORTED = "aborted"
    """This side has given up."""


class Broken(Exception):
    """There is no answer, or none that can be read; the text says why, in the reference server's words."""


@attrs.frozen(slots=True, kw_only=True)
class ResponseHead:
    """Code and headers of an answer, the headers in their order and spelling."""

    code: int
    headers: Headers

    def first(self, name: str) -> str:
        """The first value of a header, whose name is in lower case; empty if there is none."""
        return next((value for key, value in self.headers if key.lower() == name), "")


class BodySink(Interface):
    """Takes the body of an answer, or the other protocol's bytes."""

    def received(self, data: bytes) -> None:
        """Some bytes; may pause the exchange."""

    def ended(self, outcome: CallOutcome) -> None:
        """There are no more. Called once, unless the sink's own side has aborted the exchange."""


@implementer(IHandshakeListener, IHalfCloseableProtocol)
class ClientExchange(Protocol):
    """HTTP/1.1 exchange: one request and its response.

    `secured` fires when bytes can be sent, and fails when the connection cannot be had. What follows the head waits,
    up to HELD_BYTES, until a sink takes it: `read_into`. `pause` and `resume` are for slow readers.
    """

    transport: Any = None

    def __init__(self, *, tls: bool, keep: Callable[[Any], None] | None = None) -> None:
        """With `keep` a connection that may carry another request is given to it when the answer is complete."""
        self.secured: Deferred[None] = Deferred()
        self._tls = tls
        self._keep = keep
        self._h11 = h11.Connection(our_role=h11.CLIENT, max_incomplete_event_size=HEAD_BYTES)
        self._answer: Deferred[ResponseHead] | None = None
        self._upgraded = False
        self._sink: BodySink | None = None
        self._held: list[bytes] = []
        self._held_bytes = 0
        self._paused = False
        self._outcome: CallOutcome | None = None
        self._told = self._lost = False
        self._listeners: list[Callable[[CallOutcome], None]] = []

    def on_end(self, tell: Callable[[CallOutcome], None]) -> None:
        """Have `tell` called once, when the exchange is over."""
        self._listeners.append(tell)

    # Asking

    def ask(self, method: str, target: str, headers: Headers, body: bytes = b"") -> Deferred[ResponseHead]:
        """Send the request; fires with the head of its answer (an interim one is passed over, a 101 is not).

        Fails with Broken. Raises BadRequest (400) for a request that cannot be written down, and ends the exchange.
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
        """From now on `sink` gets what comes, and first what is there."""
        self._sink = sink
        held, self._held, self._held_bytes = self._held, [], 0
        for data in held:
            sink.received(data)
        if self._outcome is not None:
            self._tell_sink()
        elif not self._paused:
            self._resume_reading()

    def pause(self) -> None:
        """The sink has no room: read nothing more."""
        self._paused = True
        if self._outcome is None:
            self.transport.pauseProducing()

    def resume(self) -> None:
        """The sink has room again."""
        self._paused = False
        if self._sink is not None:
            self._resume_reading()

    def _resume_reading(self) -> None:
        if self._outcome is None:
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
        """Send no more, and still read: TLS' close goes one way at a time, as TCP's does where there is no TLS."""
        if self._outcome is not None:
            return
        if self._tls:
            self.transport.loseConnection()
        else:
            self.transport.loseWriteConnection()

    def abort(self) -> None:
        """Drop the connection; the sink is not told."""
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
        """Close in order, without waiting for the other side's TLS to agree: that may take for ever."""
        if not self._lost:
            self.transport.loseConnection()
            if self._tls:
                self.transport.transport.loseConnection()

    # Twisted's

    def connectionMade(self) -> None:
        """TCP is there; TLS has its handshake to do."""
        if not self._tls:
            self.secured.callback(None)

    def handshakeCompleted(self) -> None:
        """Note that the TLS handshake is complete."""
        if not self.secured.called:
            self.secured.callback(None)

    def keep_alive(self) -> None:
        """Notice an other side that is gone for good, small writes at once."""
        keep_alive(self.transport)

    def dataReceived(self, data: bytes) -> None:
        """A part of the answer."""
        if self._outcome is not None:
            return
        if self._upgraded:
            self._take(data)
            return
        try:
            self._h11.receive_data(data)
            self._read_events()
        except h11.RemoteProtocolError as problem:
            self._break(f"net/http: HTTP/1.x transport connection broken: malformed HTTP response: {problem}")

    def readConnectionLost(self) -> None:
        """The other side sends no more: it has said all."""
        self._input_ended(whole=True)
        self._close()

    def writeConnectionLost(self) -> None:
        """This side has ended its writing."""

    def connectionLost(self, reason: Failure = connectionDone) -> None:
        """The other side is gone."""
        self._lost = True
        if not self.secured.called:
            self.secured.errback(reason)
        self._input_ended(whole=isinstance(reason.value, ConnectionDone))

    # Events of the answer

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
        if self._sink is None:
            self.transport.pauseProducing()
        answer, self._answer = self._answer, None
        if answer is not None:
            answer.callback(ResponseHead(code=event.status_code, headers=headers))

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
            self.transport.pauseProducing()

    def _complete(self) -> None:
        keep = self._keep if self._reusable() else None
        if keep is None:
            self._end(CallOutcome.WHOLE)
            self._close()
            return
        transport, self.transport, self._lost = self.transport, None, True
        self._end(CallOutcome.WHOLE)
        keep(transport)

    def _reusable(self) -> bool:
        states = self._h11.our_state, self._h11.their_state
        return states == (h11.DONE, h11.DONE) and not self._h11.trailing_data[0]

    def _input_ended(self, *, whole: bool) -> None:
        if self._outcome is not None:
            return
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
            self._break("EOF" if whole else "connection reset by peer")

    def _break(self, why: str) -> None:
        answer, self._answer = self._answer, None
        self._end(CallOutcome.CUT)
        self._drop()
        if answer is not None:
            answer.errback(Broken(why))

    def _end(self, outcome: CallOutcome) -> None:
        if self._outcome is not None:
            return
        self._outcome = outcome
        if self._sink is not None:
            self._tell_sink()
        listeners, self._listeners = self._listeners, []
        for tell in listeners:
            tell(outcome)

    def _tell_sink(self) -> None:
        if not self._told and self._sink is not None and self._outcome is not None:
            self._told = True
            self._sink.ended(self._outcome)


def keep_alive(transport: Any) -> None:
    """Have the system look after an idle connection, and send small writes at once."""
    try:
        transport.setTcpKeepAlive(True)
        transport.setTcpNoDelay(True)
        for option, value in _KEEPALIVE:
            transport.socket.setsockopt(socket.IPPROTO_TCP, option, value)
    except (AttributeError, OSError):
        pass  # it is gone already: the first read will say so
