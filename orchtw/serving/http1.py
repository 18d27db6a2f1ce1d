"""HTTP/1.1 channel: one connection's requests to the app, one at a time, and its responses in order."""

from __future__ import annotations

from collections.abc import Coroutine
from typing import Any

from twisted.internet.interfaces import IHalfCloseableProtocol, IHandshakeListener
from twisted.internet.protocol import connectionDone
from twisted.python.failure import Failure
from zope.interface import implementer

from orchtw.errors import StatusError
from orchtw.request import Request, Response
from orchtw.serving.answers import no_room, status_response
from orchtw.serving.edge import Edge
from orchtw.serving.exchange import OF_BODIES
from orchtw.serving.heads import CONTINUE
from orchtw.serving.limits import FREE_BYTES, PATIENCE_S
from orchtw.serving.request_parser import RequestParser
from orchtw.serving.responding import BUSY, CLOSING, HANDSHAKE, IDLE, RECEIVING, Responding

# Bytes of later requests that are kept while one is being served; beyond that the socket is not read.
HELD_BYTES = 65536
# The parser gets at most this at a time: it makes a request of every 20 bytes, if a hostile client so wishes.
_FEED_BYTES = 16384


@implementer(IHandshakeListener, IHalfCloseableProtocol)
class HTTPChannel(Responding):
    """HTTP/1.1 connection. Its transport has, beside Twisted's methods, `peer()`, `unsent`, `waiting` and `progress`
    (see `TLSServer`).

    A client that closes only its own side gets the responses to all its requests, but no more watch events.
    """

    __slots__ = ("_advancing", "_progress", "_since", "_stalled_since")

    def __init__(self, edge: Edge) -> None:
        super().__init__(edge)
        self._since = edge.now
        self._advancing = False
        self._progress = -1
        self._stalled_since = 0.0

    def makeConnection(self, transport: Any) -> None:
        """Take the transport, as Twisted's protocols."""
        self.transport = transport
        self.connectionMade()

    # Connection

    def connectionMade(self) -> None:
        """Register the accepted connection; the handshake follows."""
        self._edge.channels.add(self)

    def handshakeCompleted(self) -> None:
        """Begin to serve the known peer, or hand the connection over to HTTP/2 if negotiated."""
        take_over = self._edge.multiplexed
        if take_over is not None and self.transport.speaks() == b"h2":
            self._phase = CLOSING
            self._edge.channels.discard(self)
            self._parser.close()
            take_over(self.transport)
            return
        peer = self._parser.peer = self.transport.peer()
        self._known = peer.verified
        self._phase = IDLE
        self._since = self._edge.now

    def dataReceived(self, data: bytes) -> None:
        """Parse and serve, or keep for later."""
        if self._phase >= BUSY:
            self._hold(data)
        elif len(data) <= _FEED_BYTES:
            self._feed(data)
            self._advance()
        else:
            self._held = bytearray(data)
            self._advance()

    def connectionLost(self, reason: Failure = connectionDone) -> None:
        """Cancel the client's read, end its stream and release everything: the client is gone."""
        self._phase = CLOSING
        self._held = None
        self._edge.channels.discard(self)
        self._parser.close()
        self._lose(reason)

    def readConnectionLost(self) -> None:
        """Serve the received requests, end the stream, then close: the client sends no more."""
        self._ended = True
        if self._phase in (IDLE, RECEIVING, CLOSING):
            self._close()
        elif self._stream is not None:
            self._end_stream(self._stream)
        elif self._request is not None and self._request.passed_on:
            # Others may take for ever to answer, and a client that has left altogether looks the same.
            self.transport.abortConnection()

    def writeConnectionLost(self) -> None:
        """Do nothing: our transport closes both sides at once."""

    def _hold(self, data: bytes) -> None:
        if self._phase == CLOSING:
            return
        if self._held is None:
            self._held = bytearray()
        self._held += data
        if not self._reading_paused and len(self._held) > HELD_BYTES:
            self._reading_paused = True
            self.transport.pauseProducing()
        if len(self._held) > FREE_BYTES:
            self._account_or_abort()

    def _feed(self, data: bytes) -> None:
        rest = self._parser.feed(data)
        if rest:
            self._held = bytearray(rest) + (self._held or b"")

    def _advance(self) -> None:
        # A loop, not recursion: answers that are ready at once may be many in one read.
        if self._advancing:
            return
        self._advancing = True
        parser = self._parser
        try:
            while self._phase < BUSY:
                if parser.ready:
                    self._begin(*parser.ready.pop(0))
                elif self._held and parser.refusal is None:
                    data = bytes(self._held[:_FEED_BYTES])
                    del self._held[:_FEED_BYTES]
                    self._feed(data)
                else:
                    self._rest(parser)
                    break
        finally:
            self._advancing = False
        if parser.ready:
            self._account_or_abort()

    def _rest(self, parser: RequestParser) -> None:
        self._held = None
        if parser.refusal is not None:
            self._refuse(parser.refusal)
            return
        if self._ended:
            self._close()
            return
        if parser.mid:
            if self._phase != RECEIVING:
                self._since = self._edge.now
            self._phase = RECEIVING
            if not self._receive(parser):
                return
        else:
            self._phase = IDLE
            self._since = self._edge.now
        if self._reading_paused:
            self._reading_paused = False
            self.transport.resumeProducing()

    def _receive(self, parser: RequestParser) -> bool:
        """Report whether to receive the rest of a request; if not, it has been answered."""
        if parser.head_done and not (self._known or self._screened):
            refused = self._screen(parser.head())
            if refused is not None:
                self._refuse_head(refused)
                return False
        room = self._account()
        if not room:
            self._refuse(no_room())
        elif parser.expects_continue:
            parser.expects_continue = False
            self.transport.write(CONTINUE)
        return room

    def _refuse(self, refusal: StatusError) -> None:
        """Close behind the answer; nothing more is read. What is refused for its body passes the app's stages."""
        parser, decline = self._parser, self._edge.decline
        if decline is not None and isinstance(refusal, OF_BODIES) and parser.head_is_known:
            self._refuse_head(decline(parser.head(), refusal))
            return
        self._read_no_more()
        self._write_response(status_response(refusal))

    def _refuse_head(self, answer: Coroutine[Any, Any, Response]) -> None:
        """Answer a request whose body is not received, and close."""
        self._read_no_more()
        self._serve_head(answer)

    def _read_no_more(self) -> None:
        self._parser.close()
        self._flags = 0
        self._phase = BUSY

    def _evicted(self) -> None:
        """Make room for others: refuse an idle upload, drop a client that does not read."""
        self._holding = None
        if self._phase == RECEIVING and not self.transport.unsent:
            self._held = None
            self._refuse(no_room())
        else:
            self.transport.abortConnection()

    def _begin(self, request: Request, flags: int, size: int) -> None:
        self._phase = BUSY
        self._flags = flags
        self._serve(request, size)

    # Time and shutdown

    def expire(self, now: float) -> None:
        """Close if a limit has passed; while bytes of ours are unsent, only the write stall counts
        (reference DESIGN-12).
        """
        transport, limits = self.transport, self._edge.limits
        if transport.waiting and self._phase != HANDSHAKE:
            if transport.progress != self._progress:
                if self._progress >= 0:
                    self._recount()
                self._progress, self._stalled_since = transport.progress, now
            elif now - self._stalled_since > (PATIENCE_S if self._patient else limits.write_stall_s):
                transport.abortConnection()
            self._since = now
            return
        self._progress = -1
        if self._phase == IDLE:
            self._recount()
        age = now - self._since
        if self._phase == IDLE:
            if age > limits.idle_s:
                self._close()
        elif self._phase == RECEIVING:
            if age > limits.arrival_s:
                self._close()
        elif self._phase == HANDSHAKE and age > limits.handshake_s:
            transport.abortConnection()

    def take_no_more(self) -> None:
        """Close if idle; a running request is answered with `Connection: close`, a stream goes on."""
        if self._stream is None:
            self.wind_down()

    def wind_down(self) -> None:
        """Close if idle; end a stream in order; a running request is answered with `Connection: close`."""
        if self._stream is not None:
            self._end_stream(self._stream)
        elif self._phase == IDLE:
            self._close()
        elif self._phase == HANDSHAKE:
            self.transport.abortConnection()

    def distrust(self) -> None:
        """Wind down if the client is, or is about to be, verified by its certificate: that may no longer be valid."""
        if self._phase == HANDSHAKE or self.transport.peer().verified:
            self._retired = True
            self.wind_down()

