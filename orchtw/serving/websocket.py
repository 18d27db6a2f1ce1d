"""Stream of watch events over a WebSocket (RFC 6455): each event a message, the end a close frame."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from twisted.internet.interfaces import IHalfCloseableProtocol
from twisted.internet.protocol import Protocol, connectionDone
from twisted.python.failure import Failure
from wsproto.frame_protocol import CloseReason, Frame, FrameDecoder, FrameProtocol, Opcode, ParseFailed
from zope.interface import implementer

from orchtw.request import Ending, Response, StreamBody, chunks
from orchtw.serving.answers import ending_of
from orchtw.serving.edge import Edge
from orchtw.serving.response_bodies import unframed
from orchtw.watch.frame_messages import json_messages, protobuf_messages

# A peer that has been silent for this long is asked for a sign of life, again after the same time, and then given up.
PING_S = 30.0
UNANSWERED_PINGS = 2
# How long the peer may take to answer our close frame.
CLOSE_S = 5.0
# What a client may send between two sweeps (2 s): it has nothing to say but pongs, and each frame costs 13 µs.
RECEIVED_FRAMES = 100
RECEIVED_BYTES = 65536
# With more than this unsent a ping stays unanswered: who does not read cannot make pongs pile up.
UNSENT_BYTES = 65536

# Server's frames carry no mask, so all connections share what they send.
_FRAMES = FrameProtocol(client=False, extensions=[])
_PING = bytes(_FRAMES.ping())


class Messages:
    """HTTP chunks of whole watch frames as WebSocket frames, one for each event.

    Watchers of the same chunk share the result: a group of a thousand costs one conversion. The latest chunk and
    result are kept for that.
    """

    def __init__(self, split: Callable[[bytes], Iterable[bytes]], *, text: bool) -> None:
        self._split = split
        self._opcode = Opcode.TEXT if text else Opcode.BINARY
        self._chunk = self._frames = b""

    def frames(self, chunk: bytes) -> bytes:
        """Return the frames of a chunk."""
        if chunk is not self._chunk:
            pieces: list[bytes] = []
            for message in self._split(unframed(chunk)):
                pieces += (_header(self._opcode, len(message)), message)
            self._frames = b"".join(pieces)
            self._chunk = chunk
        return self._frames


def _header(opcode: Opcode, size: int) -> bytes:
    """Return the header of a whole message from a server, which is never masked (RFC 6455 §5.2).

    The library's takes 13 µs a message, this one 0.6: a watch that catches up sends thousands.
    """
    first = 0x80 | opcode
    if size < 126:
        return b"%c%c" % (first, size)
    if size < 1 << 16:
        return b"%c\x7e%b" % (first, size.to_bytes(2, "big"))
    return b"%c\x7f%b" % (first, size.to_bytes(8, "big"))


def messages_by_format() -> dict[str, Messages]:
    """Return text messages for JSON, binary ones for Protobuf."""
    return {"json": Messages(json_messages, text=True), "protobuf": Messages(protobuf_messages, text=False)}


def piece_messages(*, in_base64: bool) -> Messages:
    """Return messages for a body that is sent in pieces as they come: binary ones, or text in base64."""
    if in_base64:
        return Messages(lambda piece: (b64encode(piece),), text=True)
    return Messages(lambda piece: (piece,), text=False)


def open_socket(messages: Messages, transport: Any, received: bytes, response: Response, edge: Edge) -> None:
    """Go on as a WebSocket on a connection whose 101 has been written: see `Upgrade`."""
    WebSocket(messages, response, edge).take_over(transport, received)


@implementer(IHalfCloseableProtocol)
class WebSocket(Protocol):
    """Server's side of a WebSocket that carries a stream; from the client only pings and closes matter.

    It is a channel of the edge, swept and wound down with the others, and counts as a request until it closes. Its
    transport is a `TLSServer`. Towards the stream it is a `ResponseChannel`.
    """

    transport: Any
    _closing = _left = False
    _unanswered = _received_frames = _received_bytes = 0
    _progress = -1
    _stalled_since = 0.0

    def __init__(self, messages: Messages, response: Response, edge: Edge) -> None:
        self._messages = messages
        self._response = response
        self._stream: StreamBody | None = response.stream
        self._edge = edge
        self._decoder = FrameDecoder(client=False)
        self._since = edge.now

    def take_over(self, transport: Any, received: bytes) -> None:
        """Become the transport's protocol; `received` came behind the request."""
        transport.protocol = self
        self.transport = transport
        self._edge.channels.add(self)
        self._edge.in_flight += 1
        self._edge.stream_begun()
        if self._stream is not None:
            self._stream.start(self)
        if received:
            self.dataReceived(received)

    # ResponseChannel

    def write_pieces(self, pieces: Sequence[bytes]) -> None:
        """Send one chunk's events."""
        self.write(chunks(pieces))

    def write(self, framed: bytes) -> None:
        """Send the events of an HTTP chunk."""
        self.transport.write(self._messages.frames(framed))

    def registerProducer(self, producer: Any, streaming: bool) -> None:
        """Register a producer directly with the transport."""
        self.transport.registerProducer(producer, streaming)

    def finish(self, ending: Ending = Ending.COMPLETE) -> None:
        """Send a close frame after the end of the watch; the connection ends once the client has answered it."""
        self._stream = None
        self._response.end(ending)
        self.transport.unregisterProducer()
        self._begin_close(CloseReason.NORMAL_CLOSURE)

    def abort(self) -> None:
        """Drop the connection at once."""
        self.transport.abortConnection()

    reset = abort

    # Received

    def dataReceived(self, data: bytes) -> None:
        """Answer pings and closes."""
        if self._left:
            return
        if not self._closing:
            self._since = self._edge.now
        self._unanswered = 0
        self._received_bytes += len(data)
        self._decoder.receive_bytes(data)
        try:
            self._process()
        except ParseFailed as problem:
            self._close_now(problem.code)

    def _process(self) -> None:
        ping: Frame | None = None
        while (frame := self._decoder.process_buffer()) is not None:
            self._received_frames += 1
            if self._received_frames > RECEIVED_FRAMES or self._received_bytes > RECEIVED_BYTES:
                self._close_now(CloseReason.POLICY_VIOLATION)
                return
            if frame.opcode is Opcode.CLOSE:
                self._close_now(CloseReason.NORMAL_CLOSURE)
                return
            if frame.opcode is Opcode.PING:
                ping = frame
        # The latest ping alone needs an answer (RFC 6455 §5.5.3).
        if ping is not None and not self._closing and self.transport.unsent <= UNSENT_BYTES:
            assert isinstance(ping.payload, bytes)
            self.transport.write(bytes(_FRAMES.pong(ping.payload)))

    # The end

    def _begin_close(self, code: CloseReason) -> None:
        self._closing = True
        self._since = self._edge.now
        self.transport.write(bytes(_FRAMES.close(code)))

    def _close_now(self, code: CloseReason) -> None:
        """Send a close frame, unless one has been sent, and close without waiting for an answer."""
        self._end_stream(Ending.CLIENT_GONE if code is CloseReason.NORMAL_CLOSURE else Ending.ABORTED)
        if not self._closing:
            self._begin_close(code)
        self._leave()

    def _leave(self) -> None:
        self._closing = True
        if not self._left:
            self._left = True
            self._edge.stream_finished()
        self.transport.loseConnection()

    def _end_stream(self, ending: Ending) -> None:
        if self._stream is None:
            return
        self._stream = None
        self.transport.unregisterProducer()
        self._response.drop(ending)

    def readConnectionLost(self) -> None:
        """Close at once: the client sends no more, so it will not answer a close frame either."""
        self._close_now(CloseReason.NORMAL_CLOSURE)

    def writeConnectionLost(self) -> None:
        """Do nothing: our transport closes both sides at once."""

    def connectionLost(self, reason: Failure = connectionDone) -> None:
        """End the stream: the client is gone."""
        self._edge.channels.discard(self)
        self._end_stream(ending_of(reason))
        if not self._left:
            self._left = True
            self._edge.stream_finished()

    # Time and shutdown

    def expire(self, now: float) -> None:
        """Ask a silent peer for a sign of life, give up one that stays silent.

        While bytes of ours are unsent, a peer may be busy reading; then only the write stall counts.
        """
        self._received_frames = self._received_bytes = 0
        if self.transport.waiting:
            self._watch_stall(now)
            self._since = now
            return
        self._progress = -1
        silence_s = now - self._since
        if self._closing:
            if silence_s > CLOSE_S:
                self._leave()
        elif silence_s > PING_S * (self._unanswered + 1):
            if self._unanswered == UNANSWERED_PINGS:
                self.transport.abortConnection()
                return
            self._unanswered += 1
            self.transport.write(_PING)

    def _watch_stall(self, now: float) -> None:
        transport = self.transport
        if transport.progress != self._progress:
            self._progress, self._stalled_since = transport.progress, now
        elif now - self._stalled_since > self._edge.limits.write_stall_s:
            transport.abortConnection()

    def distrust(self) -> None:
        """Ignore: a WebSocket that has begun goes on."""

    def take_no_more(self) -> None:
        """Ignore: a WebSocket that has begun goes on."""

    def wind_down(self) -> None:
        """End the watch in order, if it has not ended yet: the server stops."""
        if self._stream is not None:
            self._end_stream(Ending.COMPLETE)
            self._begin_close(CloseReason.NORMAL_CLOSURE)
