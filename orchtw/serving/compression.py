"""gzip for long responses: level 1, in a thread, a bounded piece at a time.

The event loop never compresses: a list of 60 MB would stop it for half a second. Pieces of a list that know what
they are made of are compressed each by itself, so that one that has been compressed before is sent as it was.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable, Hashable, Iterator
from functools import partial
from struct import Struct
from typing import Any, Final

from twisted.internet.defer import Deferred
from twisted.internet.interfaces import IPushProducer
from twisted.logger import Logger
from twisted.python.failure import Failure
from zope.interface import implementer

from orchtw.request import SHORT_BYTES, MarkedPieces
from orchtw.serving.crc import joined_crc, shift_of
from orchtw.serving.gzip_cache import Compressed, GzipCache
from orchtw.serving.response_bodies import WRITE_BYTES, Hold, Part, kept_bytes

# From here on compression pays, as in the reference server.
GZIP_BYTES = SHORT_BYTES
# Memory of a compressor at level 1.
_DEFLATE_BYTES = 320 << 10
# Kept pieces that are written at once: half a millisecond.
_READY_PIECES = 64
_LEVEL = 1
# Sent as they are, between compressed pieces: heads of lists need no compressor.
_STORED_BYTES = 2048
# No name, no time; the fastest level; Unix.
_HEAD: Final = b"\x1f\x8b\x08\0\0\0\0\0\x04\x03"
_TRAILER: Final = Struct("<LL")
_STORED: Final = Struct("<BHH")
# The last block, empty.
_LAST: Final = b"\x03\0"

RunInThread = Callable[..., Deferred[Any]]

Step = tuple[Hashable, Callable[[], tuple[Part, int]]]
"""A part of a body: what a cache knows it by, or None; and how to make it, with the bytes that keeps in memory."""

_log = Logger()


def accepts_gzip(accept_encoding: str) -> bool:
    """Report whether Accept-Encoding allows gzip: named or by `*`, with a quality above 0 (RFC 9110 §12.5.3)."""
    star = False
    for entry in accept_encoding.lower().split(","):
        coding, _, parameters = entry.partition(";")
        coding = coding.strip()
        if coding not in ("gzip", "x-gzip", "*"):
            continue
        allowed = _quality(parameters) > 0
        if coding != "*":
            return allowed
        star = allowed
    return star


def _quality(parameters: str) -> float:
    name, _, value = parameters.partition("=")
    if name.strip() != "q":
        return 1.0
    try:
        return float(value)
    except ValueError:
        return 0.0


def marked_steps(body: MarkedPieces, identity: Hashable) -> Iterator[Step]:
    """Yield the pieces of a list; nothing is made of those that are kept."""

    def made(index: int) -> tuple[Part, int]:
        piece = body[index]
        return piece, len(piece)

    for index in range(len(body)):
        mark = body.mark(index)
        yield (None if mark is None else (identity, mark)), partial(made, index)


def plain_steps(parts: Iterator[Part]) -> Iterator[Step]:
    """Yield parts that are not kept."""
    for part in parts:
        yield None, lambda part=part: (part, kept_bytes(parts, part))  # type: ignore[misc]


@implementer(IPushProducer)
class GzipBody:
    """Producer that compresses the parts one by one in a thread and writes each; it waits for slow clients.

    `frame` frames each part; an empty one is the end. `cache` has the pieces that have been compressed; None: the
    parts are compressed as one. `hold` gets the memory of the body beside its `lasting` pieces.
    """

    def __init__(
        self,
        transport: Any,
        steps: Iterator[Step],
        run_in_thread: RunInThread,
        *,
        frame: Callable[[bytes], bytes],
        done: Callable[[], None],
        abort: Callable[[], None],
        hold: Hold,
        cache: GzipCache | None = None,
    ) -> None:
        self._transport = transport
        self._steps = steps
        self._hold = hold
        self._run = run_in_thread
        self._frame = frame
        self._done = done
        self._abort = abort
        self._cache = cache
        self._deflate: Any = None  # a list may need none
        self._crc = self._size = 0
        self._ready = [_HEAD]
        self._working = self._paused = self._stopped = False

    def start(self) -> None:
        """Begin; the head has been written."""
        self._transport.registerProducer(self, True)
        if self._hold(_DEFLATE_BYTES) and not self._paused:
            self.resumeProducing()

    def resumeProducing(self) -> None:
        """Compress the next part, if none is being compressed: the client reads."""
        self._paused = False
        if not self._working and not self._stopped:
            self._working = True
            try:
                key, part, kept, last = self._next()
            except Exception:
                self._failed(Failure())  # type: ignore[no-untyped-call]
                return
            if not self._hold(_DEFLATE_BYTES + kept + sum(map(len, self._ready))):
                return
            if last and self._cache is not None:
                self._compressed(self._end(), None, last=True)
                return
            work = self._run(self._end) if last else self._run(self._compress, part)
            work.addCallbacks(self._compressed, self._failed, callbackArgs=(key, last))

    def pauseProducing(self) -> None:
        """Pause after the present part: the client is slow."""
        self._paused = True

    def stopProducing(self) -> None:
        """Stop and drop the part being compressed: the client is gone."""
        self._stopped = True
        self._steps = iter(())

    def _next(self) -> tuple[Hashable, Part, int, bool]:
        """Gather kept pieces; return the next other part with its key and memory, and whether the body has ended.

        The part is empty if there is enough to be written without it.
        """
        size = 0
        for key, make in self._steps:
            piece = self._cache.get(key) if self._cache is not None and key is not None else None
            if piece is None:
                part, kept = make()
                if self._cache is None or len(part) > _STORED_BYTES:
                    return key, part, kept, False
                piece = _stored(bytes(part))
            self._take(piece)
            size += len(piece.data)
            if size >= WRITE_BYTES or len(self._ready) >= _READY_PIECES:
                return None, b"", 0, False
        return None, b"", 0, True

    def _take(self, piece: Compressed) -> None:
        """Add a piece to what has yet to be written."""
        self._ready.append(piece.data)
        self._crc = joined_crc(self._crc, piece.crc, piece.shift)
        self._size += piece.size

    def _compress(self, part: Part) -> Compressed:
        if not part:
            return _piece(b"", part)
        if self._deflate is None:
            self._deflate = zlib.compressobj(_LEVEL, zlib.DEFLATED, -zlib.MAX_WBITS)
        data = self._deflate.compress(part)
        return _piece(data if self._cache is None else data + self._deflate.flush(zlib.Z_FULL_FLUSH), part)

    def _end(self) -> Compressed:
        return _piece(_LAST if self._cache is not None or self._deflate is None else self._deflate.flush(), b"")

    def _compressed(self, piece: Compressed, key: Hashable, last: bool) -> None:
        self._working = False
        if self._stopped:
            return
        self._take(piece)
        if self._cache is not None and key is not None:
            self._cache.put(key, piece)
        if last:
            self._ready.append(_TRAILER.pack(self._crc, self._size & 0xFFFFFFFF))
        data, self._ready = b"".join(self._ready), []
        if last:
            self._transport.unregisterProducer()
            self._transport.write(self._frame(data) + self._frame(b""))
            self._done()
            return
        if data:
            if not self._hold(_DEFLATE_BYTES + len(data)):
                return
            self._transport.write(self._frame(data))
        if not self._paused:
            self.resumeProducing()

    def _failed(self, failure: Failure) -> None:
        self._working = False
        _log.failure("compressing a response failed", failure=failure)
        if not self._stopped:
            self._abort()


def _piece(data: bytes, part: Part) -> Compressed:
    return Compressed(data, zlib.crc32(part), len(part), shift_of(len(part)))


def _stored(part: bytes) -> Compressed:
    """Return a short part as a block that is not compressed."""
    return _piece(_STORED.pack(0, len(part), len(part) ^ 0xFFFF) + part, part)
