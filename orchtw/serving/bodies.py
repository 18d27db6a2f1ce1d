"""Response bodies that do not fit one write: pieces with backpressure, and streams."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

from twisted.internet.interfaces import IPullProducer
from zope.interface import implementer

from orchtw.request import chunk

# One write of a long body: large enough for few Python calls, small enough for other connections' latency
# (0.3 ms of encryption).
WRITE_BYTES = 256 * 1024


def joined(body: bytes | Sequence[bytes]) -> Iterator[bytes]:
    """The body in writes of about WRITE_BYTES: small pieces joined, large ones cut."""
    if isinstance(body, bytes):
        body = (body,)
    batch: list[bytes] = []
    size = 0
    for piece in body:
        if len(piece) > WRITE_BYTES:
            if batch:
                yield b"".join(batch)
                batch, size = [], 0
            for start in range(0, len(piece), WRITE_BYTES):
                yield piece[start : start + WRITE_BYTES]
            continue
        batch.append(piece)
        size += len(piece)
        if size >= WRITE_BYTES:
            yield b"".join(batch)
            batch, size = [], 0
    if batch:
        yield b"".join(batch)


def in_chunks(parts: Iterator[bytes]) -> Iterator[bytes]:
    """Parts that are made as they are asked for, each framed as a chunk, and the end of the body."""
    for part in parts:
        if part:
            yield chunk(part)
    yield b"0\r\n\r\n"


@implementer(IPullProducer)
class PieceBody:
    """Writes a body a part at a time, each when the transport has sent the one before."""

    __slots__ = ("_done", "_parts", "_transport")

    def __init__(self, transport: Any, parts: Iterator[bytes], done: Callable[[], None]) -> None:
        self._transport = transport
        self._parts = parts
        self._done = done

    def resumeProducing(self) -> None:
        """Write the next part; after the last, tell the channel."""
        part = next(self._parts, None)
        if part is not None:
            self._transport.write(part)
            return
        self._transport.unregisterProducer()
        self._done()

    def stopProducing(self) -> None:
        """The connection is gone."""
        self._parts = iter(())


class StreamChannel:
    """A `ResponseChannel` for HTTP/1.1: the framed bytes go to the transport as they are, shared and uncopied."""

    __slots__ = ("_abort", "_finished", "_transport", "write")

    def __init__(self, transport: Any, finished: Callable[[], None], abort: Callable[[], None]) -> None:
        self._transport = transport
        self._finished = finished
        self._abort = abort
        # One Python call less for each of 60,000 deliveries a second.
        self.write: Callable[[bytes], None] = transport.write

    def write_pieces(self, pieces: Sequence[bytes]) -> None:
        """One chunk: size, the pieces as they are, line end."""
        write = self._transport.write
        write(b"%x\r\n%b" % (sum(map(len, pieces)), pieces[0]))
        for piece in pieces[1:]:
            write(piece)
        write(b"\r\n")

    def registerProducer(self, producer: Any, streaming: bool) -> None:
        """Backpressure straight from the transport."""
        self._transport.registerProducer(producer, streaming)

    def finish(self) -> None:
        """Last chunk; the connection goes on."""
        self._transport.unregisterProducer()
        self._transport.write(b"0\r\n\r\n")
        self._finished()

    def abort(self) -> None:
        """Drop the connection."""
        self._abort()


class PlainStreamChannel(StreamChannel):
    """A `ResponseChannel` for HTTP/1.0, which knows no chunks: the framing is taken off, the close ends the body."""

    __slots__ = ()

    def __init__(self, transport: Any, finished: Callable[[], None], abort: Callable[[], None]) -> None:
        super().__init__(transport, finished, abort)
        self.write = self._write_plain

    def _write_plain(self, framed: bytes) -> None:
        self._transport.write(unframed(framed))

    def write_pieces(self, pieces: Sequence[bytes]) -> None:
        """The pieces as they are."""
        for piece in pieces:
            self._transport.write(piece)

    def finish(self) -> None:
        """The channel closes the connection."""
        self._transport.unregisterProducer()
        self._finished()


def unframed(framed: bytes) -> bytes:
    """The contents of complete HTTP chunks without sizes and line ends."""
    pieces, at = [], 0
    while at < len(framed):
        end = framed.index(b"\r\n", at)
        size = int(framed[at:end], 16)
        at = end + 2
        pieces.append(framed[at : at + size])
        at += size + 2
    return b"".join(pieces)
