"""How a connection writes whole answers, one after the other: heads, streams, upgrades, and what comes after them."""

from __future__ import annotations

import abc
from collections.abc import Callable, Sequence

from twisted.logger import Logger

from orchtw.errors import BadRequest
from orchtw.request import Ending, Response, StreamBody, tell
from orchtw.serving.answering import Answering
from orchtw.serving.answers import status_response
from orchtw.serving.edge import Edge
from orchtw.serving.heads import head
from orchtw.serving.limits import FREE_BYTES
from orchtw.serving.request_parser import HTTP10, KEEP_ALIVE, UPGRADE
from orchtw.serving.response_bodies import Drained, PlainStreamChannel, StreamChannel

# The phases of a connection; from BUSY on, received bytes are not parsed.
HANDSHAKE, IDLE, RECEIVING, BUSY, CLOSING = range(5)

# The next pipelined request has to wait while more than this of earlier answers is unsent.
UNSENT_BYTES = 65536

_log = Logger()


class Responding(Answering):
    """Writes answers, tells who wants to know when they have been sent, and goes on to the next request.

    A stream keeps nothing of the answer that it is the body of: there are many that run for long.
    """

    __slots__ = (
        "_counted",
        "_ended",
        "_lost",
        "_patient",
        "_phase",
        "_reading_paused",
        "_retired",
        "_sending",
        "_streaming",
    )

    def __init__(self, edge: Edge) -> None:
        super().__init__(edge)
        self._phase = HANDSHAKE
        self._lost = self._ended = self._retired = self._patient = False
        self._counted = self._streaming = self._reading_paused = False
        self._sending: Sequence[Callable[[Ending], None]] | None = None
        """Those who want to know when the answer that is being sent has been."""

    def _answer(self, response: Response) -> None:
        if self._lost:
            response.drop(Ending.CLIENT_GONE)
            self._uncount()
            self._release()
            return
        try:
            self._write_response(response)
        except Exception:
            _log.failure("a response could not be written")
            self.transport.abortConnection()

    def _write_response(self, response: Response) -> None:
        if self._sending is not None:
            self._tell_end(Ending.ABORTED)  # of the answer in whose place this one is sent
        if response.upgrade is not None:
            self._write_upgrade(response)
            return
        self._sending, response.listeners = response.listeners, None
        framing = self._edge.date_line
        if not self._flags & KEEP_ALIVE or self._retired or self._edge.draining or response.last:
            self._flags &= ~KEEP_ALIVE
            framing += "Connection: close\r\n"
        elif self._flags & HTTP10:
            framing += "Connection: keep-alive\r\n"
        if response.stream is not None:
            self._write_stream(response, response.stream, framing)
        elif response.parts is not None:
            self._write_parts(response, response.parts, framing)
        else:
            self._write_body(response, framing)

    def _write_stream(self, response: Response, stream: StreamBody, framing: str) -> None:
        plain = bool(self._flags & HTTP10)
        if plain:
            if self._flags & KEEP_ALIVE:
                framing = self._edge.date_line + "Connection: close\r\n"
            self._flags &= ~KEEP_ALIVE
        else:
            framing += "Transfer-Encoding: chunked\r\n"
        self.transport.write(head(response.code, response.content_type, response.headers, framing))
        if self._is_head():
            self._tell_lost(stream)
            self._done()
            return
        self._request = None
        self._stream = stream
        self._streaming = True
        self._edge.stream_begun()
        self._patient = response.patient
        if response.patient:
            self.transport.be_patient()
        self._parser.sleep()
        if self._holding is not None:
            self._serving_bytes = 0
            self._account()
        channel = PlainStreamChannel if plain else StreamChannel
        stream.start(channel(self.transport, self))
        if self._ended and self._stream is not None:
            self._end_stream(self._stream)

    def _write_upgrade(self, response: Response) -> None:
        # From here on the connection is another protocol's; its limits are too.
        assert response.upgrade is not None
        if self._flags & (UPGRADE | HTTP10) != UPGRADE:
            response.end(Ending.ABORTED)
            if response.stream is not None:
                self._tell_lost(response.stream)
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

    def stream_ended(self, ending: Ending) -> None:
        """The stream has written its end."""
        self._stream = None
        self._patient = False
        if self._sending is not None and ending is not Ending.COMPLETE:
            self._tell_end(ending)
        self._done()

    def stream_aborted(self) -> None:
        """The stream cannot be completed: drop the connection."""
        self._stream = None
        self.transport.abortConnection()

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

    def _uncount(self) -> None:
        if self._counted:
            self._counted = False
            if self._streaming:
                self._streaming = False
                self._edge.stream_finished()
            else:
                self._edge.finished()

    def _tell_end(self, ending: Ending) -> None:
        listeners, self._sending = self._sending, None
        if listeners is not None:
            tell(listeners, ending)

    def _tell_lost(self, stream: StreamBody) -> None:
        try:
            stream.connection_lost()
        except Exception:
            _log.failure("a stream failed when its client had left")

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
