"""Long text that is made in a thread part by part, as the client reads it."""

from __future__ import annotations

from collections.abc import Iterator

from twisted.internet.defer import Deferred
from twisted.internet.interfaces import IPushProducer
from twisted.logger import Logger
from zope.interface import implementer

from orchtw.errors import StatusError
from orchtw.registry.offload import Offload
from orchtw.request import ResponseChannel, chunk
from orchtw.responses.slices import PART_BYTES


class ThreadParts:
    """Parts of a text, some PART_BYTES each, made in the thread. `size_bytes` is the input of the largest."""

    def __init__(self, offload: Offload, parts: Iterator[bytes], size_bytes: int) -> None:
        self._offload = offload
        self._parts = parts
        self._size_bytes = size_bytes

    async def next(self) -> bytes:
        """Return the next part; empty at the end. Raises the errors of making it, and TooManyRequests (429)."""
        return await self._offload.run(self._size_bytes, self._joined)

    def _joined(self) -> bytes:
        made: list[bytes] = []
        size = 0
        for part in self._parts:
            made.append(part)
            size += len(part)
            if size >= PART_BYTES:
                break
        return b"".join(made)


@implementer(IPushProducer)
class MadeStream:
    """Body that begins with `first` and continues with `parts`, of which at most one is made ahead.

    A part that cannot be made ends the connection, so that the client notices the truncation.
    """

    __slots__ = ("_channel", "_ended", "_first", "_parts", "_paused", "_working")

    _log = Logger()

    def __init__(self, first: bytes, parts: ThreadParts) -> None:
        self._first = first
        self._parts = parts
        self._channel: ResponseChannel
        self._working = self._paused = self._ended = False

    def start(self, channel: ResponseChannel) -> None:
        """Register the producer and write the first part: the response's head has been sent."""
        self._channel = channel
        channel.registerProducer(self, True)
        channel.write(chunk(self._first))
        if not self._paused:
            self.resumeProducing()

    def resumeProducing(self) -> None:
        """Continue, unless a part is being made already: the transport has drained."""
        self._paused = False
        if not self._working and not self._ended:
            self._working = True
            Deferred.fromCoroutine(self._go_on())

    def pauseProducing(self) -> None:
        """Pause: the transport is full."""
        self._paused = True

    def stopProducing(self) -> None:
        """Stop, and drop the part being made: the connection is gone."""
        self._ended = True

    connection_lost = stopProducing

    async def _go_on(self) -> None:
        try:
            while not self._paused and not self._ended:
                self._take(await self._parts.next())
        except StatusError:  # the state that it is made of has expired, or too much waits for the thread
            self._abort()
        except Exception:  # noqa: BLE001 - any other error ends only this response
            self._log.failure("failed to produce the rest of a response body")
            self._abort()
        finally:
            self._working = False

    def _take(self, part: bytes) -> None:
        if self._ended:
            return
        if part:
            self._channel.write(chunk(part))
        else:
            self._ended = True
            self._channel.finish()

    def _abort(self) -> None:
        if not self._ended:
            self._ended = True
            self._channel.abort()
