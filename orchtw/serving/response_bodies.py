"""Response bodies that do not fit one write: pieces with backpressure, and streams."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, Protocol

from twisted.internet.interfaces import IPullProducer
from twisted.logger import Logger
from zope.interface import implementer

from orchtw.errors import StatusError
from orchtw.request import Ending
from orchtw.serving.limits import FREE_BYTES

# One write of a long body: large enough for few Python calls, small enough for other connections' latency
# (0.3 ms of encryption).
WRITE_BYTES = 256 * 1024
# From here on a piece is written by itself: a copy costs as much as another write.
ALONE_BYTES = WRITE_BYTES // 2


Body = bytes | Sequence[bytes]
Part = bytes | memoryview

Hold = Callable[[int], bool]
"""Receives the number of bytes held for a client; False: there is no room, and the connection ends."""


class Joined(Iterator[Part]):
    """Body in writes of about WRITE_BYTES: small pieces joined, large ones as views without copies.

    `kept_bytes` is the memory of the last part beside lasting pieces, with a piece that was read ahead to find its
    end. Parts already returned are not held here.
    """

    __slots__ = ("_ahead", "_lasts", "_pieces", "_start", "_whole", "kept_bytes")

    def __init__(self, body: Body) -> None:
        self._lasts = isinstance(body, bytes | list | tuple)
        self._pieces = iter((body,) if isinstance(body, bytes) else body)
        self._start = 0
        self._ahead: bytes | None = None
        self._whole: memoryview | None = None
        self.kept_bytes = 0

    def __next__(self) -> Part:
        if self._whole is not None:
            return self._view(self._whole)
        batch: list[bytes] = []
        size = 0
        while size < WRITE_BYTES and (piece := self._piece()) is not None:
            if len(piece) >= ALONE_BYTES:
                if batch:
                    self._ahead = piece
                    break
                return self._view(memoryview(piece))
            batch.append(piece)
            size += len(piece)
        if not batch:
            raise StopIteration
        self.kept_bytes = size + (0 if self._ahead is None or self._lasts else len(self._ahead))
        return b"".join(batch)

    def _piece(self) -> bytes | None:
        piece, self._ahead = self._ahead, None
        return next(self._pieces, None) if piece is None else piece

    def _view(self, whole: memoryview) -> memoryview:
        start, self._start = self._start, self._start + WRITE_BYTES
        self._whole = whole
        if self._start >= len(whole):
            self._whole, self._start = None, 0
        self.kept_bytes = 0 if self._lasts else len(whole)
        return whole[start : start + WRITE_BYTES]


def lasting(body: Body) -> Sequence[bytes]:
    """Return the pieces that stay in memory throughout the response; short ones are not worth counting.

    A sequence of another type than list and tuple makes its pieces on demand.
    """
    if isinstance(body, bytes):
        return (body,)
    return [piece for piece in body if len(piece) > FREE_BYTES] if isinstance(body, list | tuple) else ()


def framed(parts: Iterator[bytes], frame: Callable[[bytes], bytes]) -> Iterator[bytes]:
    """Yield parts as they are made, each framed, and the end of the body, an empty frame."""
    for part in parts:
        if part:
            made = frame(part)
            del part  # while what is made of it waits, there is no need for both
            yield made
            del made
    end = frame(b"")
    if end:
        yield end


def kept_bytes(parts: Iterator[Part], part: Part) -> int:
    """Return the bytes that the last part keeps in memory."""
    return parts.kept_bytes if isinstance(parts, Joined) else len(part)


@implementer(IPullProducer)
class PieceBody:
    """Producer that writes a body part by part, each when the transport has sent the one before.

    `hold` gets the memory of each part. A part that cannot be made ends the connection: the client must not take an
    incomplete body for the whole.
    """

    __slots__ = ("_done", "_hold", "_parts", "_transport")

    _log = Logger()

    def __init__(self, transport: Any, parts: Iterator[Part], done: Callable[[], None], hold: Hold) -> None:
        self._transport = transport
        self._parts = parts
        self._done = done
        self._hold = hold

    def resumeProducing(self) -> None:
        """Write the next part; after the last, tell the channel."""
        try:
            part = next(self._parts, None)
        except StatusError:
            self._transport.abortConnection()
            return
        except Exception:
            self._log.failure("failed to produce the rest of a response body")
            self._transport.abortConnection()
            return
        if part is None:
            self._transport.unregisterProducer()
            self._done()
        elif self._hold(kept_bytes(self._parts, part)):
            self._transport.write(part)

    def stopProducing(self) -> None:
        """Drop the parts: the connection is gone."""
        self._parts = iter(())


@implementer(IPullProducer)
class Drained:
    """Producer that writes nothing, and notifies the channel when the transport has sent everything."""

    __slots__ = ("_done", "_transport")

    def __init__(self, transport: Any, done: Callable[[], None]) -> None:
        self._transport = transport
        self._done = done

    def resumeProducing(self) -> None:
        """Notify the channel: nothing is left unsent."""
        self._transport.unregisterProducer()
        self._done()

    def stopProducing(self) -> None:
        """Do nothing: the connection is gone."""


class StreamOwner(Protocol):
    """Connection that a stream is sent over."""

    def stream_ended(self, ending: Ending) -> None:
        """Handle a stream that has written its end."""

    def stream_aborted(self) -> None:
        """Drop the connection: the stream cannot be completed."""

    def stream_reset(self) -> None:
        """Reset the connection, whatever else it carries."""


class StreamChannel:
    """A `ResponseChannel` for HTTP/1.1: the framed bytes go to the transport as they are, shared and uncopied."""

    __slots__ = ("_owner", "_transport", "write")

    def __init__(self, transport: Any, owner: StreamOwner) -> None:
        self._transport = transport
        self._owner = owner
        # One Python call less for each of 60,000 deliveries a second.
        self.write: Callable[[bytes], None] = transport.write

    def write_pieces(self, pieces: Sequence[bytes]) -> None:
        """Write one chunk: size, the pieces as they are, line end."""
        write = self._transport.write
        write(b"%x\r\n%b" % (sum(map(len, pieces)), pieces[0]))
        for piece in pieces[1:]:
            write(piece)
        write(b"\r\n")

    def registerProducer(self, producer: Any, streaming: bool) -> None:
        """Register a producer directly with the transport."""
        self._transport.registerProducer(producer, streaming)

    def finish(self, ending: Ending = Ending.COMPLETE) -> None:
        """Write the last chunk; the connection goes on."""
        self._transport.unregisterProducer()
        self._transport.write(b"0\r\n\r\n")
        self._owner.stream_ended(ending)

    def abort(self) -> None:
        """Drop the connection at once."""
        self._owner.stream_aborted()

    def reset(self) -> None:
        """Reset the connection, whatever it carries."""
        self._owner.stream_reset()


class PlainStreamChannel(StreamChannel):
    """A `ResponseChannel` for HTTP/1.0, which knows no chunks: the framing is taken off, the close ends the body."""

    __slots__ = ()

    def __init__(self, transport: Any, owner: StreamOwner) -> None:
        super().__init__(transport, owner)
        self.write = self._write_plain

    def _write_plain(self, framed: bytes) -> None:
        self._transport.write(unframed(framed))

    def write_pieces(self, pieces: Sequence[bytes]) -> None:
        """Write the pieces as they are."""
        for piece in pieces:
            self._transport.write(piece)

    def finish(self, ending: Ending = Ending.COMPLETE) -> None:
        """End the stream; the channel closes the connection."""
        self._transport.unregisterProducer()
        self._owner.stream_ended(ending)


def unframed(framed: bytes) -> bytes:
    """Return the contents of complete HTTP chunks without sizes and line ends."""
    pieces, at = [], 0
    while at < len(framed):
        end = framed.index(b"\r\n", at)
        size = int(framed[at:end], 16)
        at = end + 2
        pieces.append(framed[at : at + size])
        at += size + 2
    return b"".join(pieces)
