"""gzip for long responses: level 1, in a thread, a bounded piece at a time.

The event loop never compresses: a list of 60 MB would stop it for half a second.
"""

from __future__ import annotations

import zlib
from collections import OrderedDict
from collections.abc import Callable, Hashable, Iterator
from typing import Any

import attrs
from twisted.internet.defer import Deferred
from twisted.internet.interfaces import IPushProducer
from twisted.logger import Logger
from twisted.python.failure import Failure
from zope.interface import implementer

from orchtw.request import SHORT_BYTES
from orchtw.serving.response_bodies import Hold, Part, kept_bytes

# From here on compression pays, as in the reference server.
GZIP_BYTES = SHORT_BYTES
# Compressed bodies kept for equal requests: lists of 10,000 pods are 1 to 5 MiB.
KEPT_BYTES = 32 << 20
# Selectors and tokens in characters, as long as the ones that many clients share; and the memory that an identity of
# that length takes at most, with all objects that are made of a selector.
KEPT_IDENTITY = 2048
_IDENTITY_BYTES = 64 << 10
# Memory of a compressor at level 1.
_DEFLATE_BYTES = 320 << 10

RunInThread = Callable[..., Deferred[bytes]]

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


def text_size(identity: object) -> int:
    """The characters in an identity: texts in tuples, sets and `attrs` values, as far as they make it what it is."""
    size, left = 0, [identity]
    while left:
        value = left.pop()
        if isinstance(value, str | bytes):
            size += len(value)
        elif isinstance(value, tuple | frozenset):
            size += len(value)
            left.extend(value)
        else:
            left.extend(_parts_of(value))
    return size


def _parts_of(value: object) -> list[object]:
    """The fields by which a value is compared; none of one that equals only itself."""
    kind = type(value)
    if not attrs.has(kind) or kind.__eq__ is object.__eq__:
        return []
    return [getattr(value, field.name) for field in attrs.fields(kind) if field.eq]


class GzipCache:
    """Compressed bodies by the identity of their responses; the least recently used ones make room.

    What is bounded is the memory of both, alone and with all else that is held for readers (see `give_up`).
    Identities of more than KEPT_IDENTITY characters (long selectors) are not kept.
    """

    def __init__(self, limit_bytes: int = KEPT_BYTES) -> None:
        self._limit_bytes = limit_bytes
        self._bodies: OrderedDict[Hashable, bytes] = OrderedDict()
        self._warm: set[Hashable] = set()  # asked for, or made, since something had to go
        self._bytes = 0

    def __len__(self) -> int:
        return len(self._bodies)

    @property
    def longest_bytes(self) -> int:
        """The size of the longest body that is kept: a quarter of the room."""
        return self._limit_bytes // 4

    @property
    def used_bytes(self) -> int:
        """Return the bytes that it holds."""
        return self._bytes

    def get(self, identity: Hashable) -> bytes | None:
        """The compressed body, or None."""
        body = self._bodies.get(identity)
        if body is not None:
            self._bodies.move_to_end(identity)
            self._warm.add(identity)
        return body

    def put(self, identity: Hashable, body: bytes) -> None:
        """Keep a body, unless it or its identity is too long."""
        if len(body) > self.longest_bytes or identity in self._bodies or text_size(identity) > KEPT_IDENTITY:
            return
        self._bodies[identity] = body
        self._warm.add(identity)
        self._bytes += len(body) + _IDENTITY_BYTES
        while self._bytes > self._limit_bytes:
            self._drop(next(iter(self._bodies)))

    def give_up(self, size: int) -> None:
        """Let go of about so many bytes of what has not been asked for since the last time, the coldest first."""
        target = self._bytes - size
        for identity in [each for each in self._bodies if each not in self._warm]:
            if self._bytes <= target:
                break
            self._drop(identity)
        self._warm.clear()

    def _drop(self, identity: Hashable) -> None:
        self._warm.discard(identity)
        self._bytes -= len(self._bodies.pop(identity)) + _IDENTITY_BYTES


@implementer(IPushProducer)
class GzipBody:
    """Compresses the parts one by one in a thread and writes each; waits while the client is slow.

    `frame` frames what is written, and the frame of nothing is the end. `keep` gets the whole compressed body in the
    end, if that is not over `keep_bytes`. `hold` is told what the body takes of memory beside its `lasting` pieces.
    """

    def __init__(
        self,
        transport: Any,
        parts: Iterator[Part],
        run_in_thread: RunInThread,
        *,
        frame: Callable[[bytes], bytes],
        done: Callable[[], None],
        abort: Callable[[], None],
        hold: Hold,
        keep: Callable[[bytes], None] | None = None,
        keep_bytes: int = 0,
    ) -> None:
        self._transport = transport
        self._parts = parts
        self._hold = hold
        self._keep_bytes = keep_bytes
        self._run = run_in_thread
        self._frame = frame
        self._done = done
        self._abort = abort
        self._keep = keep
        self._kept: list[bytes] = []
        self._kept_bytes = 0
        self._deflate = zlib.compressobj(1, zlib.DEFLATED, 31)
        self._working = self._paused = self._stopped = False

    def start(self) -> None:
        """Begin; the head has been written."""
        self._transport.registerProducer(self, True)
        if self._hold(_DEFLATE_BYTES) and not self._paused:
            self.resumeProducing()

    def resumeProducing(self) -> None:
        """The client reads: compress the next part, if none is being compressed."""
        self._paused = False
        if not self._working and not self._stopped:
            self._working = True
            try:
                part = next(self._parts, None)
            except Exception:
                self._failed(Failure())  # type: ignore[no-untyped-call]
                return
            kept = 0 if part is None else kept_bytes(self._parts, part)
            if not self._hold(_DEFLATE_BYTES + self._kept_bytes + kept):
                return
            work = self._run(self._compress, part)
            work.addCallbacks(self._compressed, self._failed, callbackArgs=(part is None,))

    def pauseProducing(self) -> None:
        """The client is slow."""
        self._paused = True

    def stopProducing(self) -> None:
        """The client is gone: what is being compressed is thrown away, and nothing more is."""
        self._stopped = True
        self._parts = iter(())

    def _compress(self, part: Part | None) -> bytes:
        return self._deflate.flush() if part is None else self._deflate.compress(part)

    def _compressed(self, data: bytes, last: bool) -> None:
        self._working = False
        if self._stopped:
            return
        self._collect(data)
        if last:
            if self._keep is not None:
                self._keep(b"".join(self._kept))
            self._transport.unregisterProducer()
            self._transport.write(self._frame(data) + self._frame(b""))
            self._done()
            return
        if data:
            if not self._hold(_DEFLATE_BYTES + self._kept_bytes + len(data)):
                return
            self._transport.write(self._frame(data))
        if not self._paused:
            self.resumeProducing()

    def _collect(self, data: bytes) -> None:
        if self._keep is not None:
            self._kept.append(data)
            self._kept_bytes += len(data)
            if self._kept_bytes > self._keep_bytes:
                self._keep, self._kept, self._kept_bytes = None, [], 0

    def _failed(self, failure: Failure) -> None:
        self._working = False
        _log.failure("compressing a response failed", failure=failure)
        if not self._stopped:
            self._abort()
