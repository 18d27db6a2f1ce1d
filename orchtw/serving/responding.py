"""Writing of HTTP/1 responses, one after the other: heads, streams, upgrades, and what follows them."""

from __future__ import annotations

import abc
from collections.abc import Sequence

from orchtw.errors import BadRequest
from orchtw.request import Ending, Response, StreamBody, chunk
from orchtw.serving.answers import status_response
from orchtw.serving.edge import Edge
from orchtw.serving.exchange import ServerExchange
from orchtw.serving.heads import BODILESS, head
from orchtw.serving.limits import FREE_BYTES
from orchtw.serving.request_parser import HTTP10, KEEP_ALIVE, UPGRADE, RequestParser
from orchtw.serving.response_bodies import Drained, PlainStreamChannel, StreamChannel

# The phases of a connection; from BUSY on, received bytes are not parsed.
HANDSHAKE, IDLE, RECEIVING, BUSY, CLOSING = range(5)

# The next pipelined request has to wait while more than this of earlier answers is unsent.
UNSENT_BYTES = 65536
# Bodies up to this are joined with their head into one TLS record; longer ones are sent, and kept, uncopied.
_JOINED_BYTES = 16000


class Responding(ServerExchange):
    """Writer of responses, which goes on to the next request once one has been sent."""

    __slots__ = ("_ended", "_flags", "_held", "_parser", "_phase", "_reading_paused", "_retired")

    def __init__(self, edge: Edge) -> None:
        super().__init__(edge)
        self._parser = RequestParser(edge.limits)
        self._held: bytearray | None = None
        """Received and not yet parsed bytes."""
        self._flags = 0
        """Flags of the request being answered (see `request_parser`)."""
        self._phase = HANDSHAKE
        self._ended = self._retired = self._reading_paused = False

    def _received_bytes(self) -> int:
        return self._parser.held_bytes + (len(self._held) if self._held else 0)

    def _write_response(self, response: Response) -> None:
        if response.upgrade is not None:
            if self._sending is not None:
                self._tell_end(Ending.ABORTED)
            self._write_upgrade(response)
            return
        self._take_listeners(response)
        if not self._flags & KEEP_ALIVE or self._retired or self._edge.draining or response.last:
            self._flags &= ~KEEP_ALIVE
        if response.stream is not None:
            self._write_stream(response, response.stream)
        elif response.parts is not None:
            if self._flags & HTTP10:
                self._flags &= ~KEEP_ALIVE  # the close ends the body
            self._write_parts(response, response.parts)
        else:
            self._write_body(response)

    def _answer_at_once(self, response: Response) -> None:
        # What most gets come to, with all that could be otherwise looked at in one place: 2 of their 21 microseconds.
        body = response.body
        if (
            self._flags == KEEP_ALIVE
            and response.lines
            and type(body) is bytes
            and 0 < len(body) <= _JOINED_BYTES
            and not (self._retired or self._edge.draining or response.last)
            and response.listeners is None
            and self._holding is None
            and not self._is_head()
        ):
            self.transport.write(self._plain_head(response, len(body)) + body)
            self._done()
        else:
            self._answer(response)

    def _plain_head(self, response: Response, length: int) -> bytes:
        """Return the head of a 200 whose lines are at hand, on a connection that goes on."""
        lines = f"HTTP/1.1 200 OK\r\n{self._edge.date_line}Content-Length: {length}\r\n{response.lines}\r\n"
        return lines.encode("latin-1")

    def _head(self, response: Response, length: int | None) -> bytes:
        framing = self._edge.date_line
        if not self._flags & KEEP_ALIVE:
            framing += "Connection: close\r\n"
        elif self._flags & HTTP10:
            framing += "Connection: keep-alive\r\n"
        if length is not None:
            if response.code not in BODILESS:
                framing += f"Content-Length: {length}\r\n"
        elif not self._flags & HTTP10:
            framing += "Transfer-Encoding: chunked\r\n"
        return head(response.code, response.content_type, response.headers, framing)

    def _write_head(self, first: bytes) -> None:
        self.transport.write(first)

    def _write_whole(self, first: bytes, body: bytes | Sequence[bytes], size: int) -> None:
        if not size:
            self.transport.write(first)
        elif size <= _JOINED_BYTES:
            self.transport.write(first + body if isinstance(body, bytes) else b"".join((first, *body)))
        else:
            self.transport.write(first)
            self.transport.write(body if isinstance(body, bytes) else b"".join(body))
        self._done()

    def _frame(self, part: bytes) -> bytes:
        return part if self._flags & HTTP10 else chunk(part)

    def _compresses(self, response: Response) -> bool:
        return not self._flags & HTTP10 and super()._compresses(response)

    def _write_stream(self, response: Response, stream: StreamBody) -> None:
        plain = bool(self._flags & HTTP10)
        if plain:
            self._flags &= ~KEEP_ALIVE
        self.transport.write(self._head(response, None))
        if self._is_head():
            self._tell_lost(stream)
            self._done()
            return
        if response.patient:
            self.transport.be_patient()
        self._parser.sleep()
        self._stream_from(response, stream)
        channel = PlainStreamChannel if plain else StreamChannel
        stream.start(channel(self.transport, self))
        if self._ended and self._stream is not None:
            self._end_stream(self._stream)

    def _write_upgrade(self, response: Response) -> None:
        # From here on the connection is another protocol's; its limits are too.
        assert response.upgrade is not None
        if self._flags & (UPGRADE | HTTP10) != UPGRADE:
            response.drop(Ending.ABORTED)
            self._write_response(status_response(BadRequest("an upgrade needs HTTP/1.1")))
            return
        headers = response.headers
        if not any(name.lower() == "connection" for name, _ in headers):
            headers = [*headers, ("Connection", "Upgrade")]
        self.transport.write(head(response.code, response.content_type, headers, self._edge.date_line))
        rest = bytes(self._held or b"")
        self._held = None
        self._phase = CLOSING
        self._edge.channels.discard(self)
        self._parser.close()
        self._release()
        if self._reading_paused:
            self.transport.resumeProducing()
        try:
            response.upgrade(self.transport, rest, response, self._edge)
        finally:
            self._uncount()
        if self._ended:
            self.transport.protocol.readConnectionLost()

    def _done(self) -> None:
        # The answer is with the transport. One that is still mostly unsent holds back the next request.
        if self._lost:
            self._uncount()
            return
        self._request = None
        if self._holding is not None or self.transport.unsent > FREE_BYTES:
            if not self._answered():
                return
            if self._flags & KEEP_ALIVE and self.transport.unsent > UNSENT_BYTES:
                self.transport.registerProducer(Drained(self.transport, self._next), False)
                return
        self._next()

    def _next(self) -> None:
        if self._sending is not None:
            self._tell_end(Ending.COMPLETE)
        self._uncount()
        if not self._flags & KEEP_ALIVE or self._retired or self._edge.draining:
            self._close()
            return
        self._phase = IDLE
        self._advance()

    def _close(self) -> None:
        self._phase = CLOSING
        self._held = None
        self._parser.close()
        self.transport.loseConnection()

    def _end_stream(self, stream: StreamBody) -> None:
        """End a stream in order; the connection closes behind it."""
        self._stream = None
        self.transport.unregisterProducer()
        if not self._flags & HTTP10:
            self.transport.write(b"0\r\n\r\n")
        self._tell_lost(stream)
        self._flags &= ~KEEP_ALIVE
        self._done()

    @abc.abstractmethod
    def _advance(self) -> None:
        """Go on with what has been received."""
