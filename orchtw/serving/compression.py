"""gzip for long responses: level 1, in a thread, a bounded piece at a time.

The event loop never compresses: a list of 60 MB would stop it for half a second.
"""

from __future__ import annotations

import zlib
from collections import OrderedDict
from collections.abc import Callable, Hashable, Iterator
from typing import Any

from twisted.internet.defer import Deferred
from twisted.internet.interfaces import IPushProducer
from twisted.logger import Logger
from twisted.python.failure import Failure
from zope.interface import implementer

from orchtw.request import chunk

# From here on compression pays, as in the reference server.
GZIP_BYTES = 128 * 1024
# Compressed bodies kept for equal requests: lists of 10,000 pods are 1 to 5 MiB.
KEPT_BYTES = 32 << 20

RunInThread = Callable[..., Deferred[bytes]]

_log = Logger()


def accepts_gzip(accept_encoding: str) -> bool:
    """Whether an Accept-Encoding header allows gzip: named or by `*`, with a quality above 0 (RFC 9110 §12.5.3)."""
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


class GzipCache:
    """Compressed bodies by the identity of their responses; the least recently used ones make room."""

    def __init__(self, limit_bytes: int = KEPT_BYTES) -> None:
        self._limit_bytes = limit_bytes
        self._bodies: OrderedDict[Hashable, bytes] = OrderedDict()
        self._bytes = 0

    def get(self, identity: Hashable) -> bytes | None:
        """The compressed body, or None."""
        body = self._bodies.get(identity)
        if body is not None:
            self._bodies.move_to_end(identity)
        return body

    def put(self, identity: Hashable, body: bytes) -> None:
        """Keep a body, unless it would take more than a quarter of the room."""
        if len(body) * 4 > self._limit_bytes or identity in self._bodies:
            return
        self._bodies[identity] = body
        self._bytes += len(body)
        while self._bytes > self._limit_bytes:
            self._bytes -= len(self._bodies.popitem(last=False)[1])


@implementer(IPushProducer)
class GzipBody:
    """Compresses the parts one by one in a thread and writes each as a chunk; waits while the client is slow.

    `keep` gets the whole compressed body in the end, if that is not over `KEPT_BYTES`.
    """

    def __init__(
        self,
        transport: Any,
        parts: Iterator[bytes],
        run_in_thread: RunInThread,
        done: Callable[[], None],
        abort: Callable[[], None],
        keep: Callable[[bytes], None] | None = None,
    ) -> None:
        self._transport = transport
        self._parts = parts
        self._run = run_in_thread
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
        if not self._paused:
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
            work = self._run(self._compress, part)
            work.addCallbacks(self._compressed, self._failed, callbackArgs=(part is None,))

    def pauseProducing(self) -> None:
        """The client is slow."""
        self._paused = True

    def stopProducing(self) -> None:
        """The client is gone: what is being compressed is thrown away, and nothing more is."""
        self._stopped = True
        self._parts = iter(())

    def _compress(self, part: bytes | None) -> bytes:
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
            self._transport.write(chunk(data) + b"0\r\n\r\n")
            self._done()
            return
        if data:
            self._transport.write(chunk(data))
        if not self._paused:
            self.resumeProducing()

    def _collect(self, data: bytes) -> None:
        if self._keep is not None:
            self._kept.append(data)
            self._kept_bytes += len(data)
            if self._kept_bytes > KEPT_BYTES:
                self._keep, self._kept = None, []

    def _failed(self, failure: Failure) -> None:
        self._working = False
        _log.failure("compressing a response failed", failure=failure)
        if not self._stopped:
            self._abort()
