"""A long text that a thread makes part by part, as the client takes it."""

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
    """`parts`, some PART_BYTES at a time, made in the thread. `size_bytes` is what goes into the largest of them."""

    def __init__(self, offload: Offload, parts: Iterator[bytes], size_bytes: int) -> None:
        self._offload = offload
        self._parts = parts
        self._size_bytes = size_bytes

    async def next(self) -> bytes:
        """The next part; empty at the end. Raises what making it raises, and TooManyRequests (429)."""
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
    """The body that begins with `first` and goes on with `parts`; there is never more than one part ahead.

    Parts that cannot be made end the connection: the client must not take what it has for the whole.
    """

    __slots__ = ("_channel", "_ended", "_first", "_parts", "_paused", "_working")

    _log = Logger()

    def __init__(self, first: bytes, parts: ThreadParts) -> None:
        self._first = first
        self._parts = parts
        self._channel: ResponseChannel
        self._working = self._paused = self._ended = False

    def start(self, channel: ResponseChannel) -> None:
        """The response's head is on its way."""
        self._channel = channel
        channel.registerProducer(self, True)
        channel.write(chunk(self._first))
        if not self._paused:
            self.resumeProducing()

    def resumeProducing(self) -> None:
        """The transport has drained: go on, unless a part is being made already."""
        self._paused = False
        if not self._working and not self._ended:
            self._working = True
            Deferred.fromCoroutine(self._go_on())

    def pauseProducing(self) -> None:
        """The transport is full."""
        self._paused = True

    def stopProducing(self) -> None:
        """The connection is gone: what is being made is thrown away, and nothing more is."""
        self._ended = True

    connection_lost = stopProducing

    async def _go_on(self) -> None:
        try:
            while not self._paused and not self._ended:
                self._take(await self._parts.next())
        except StatusError:  # the state it is made of was let go, or too much waits for the thread
            self._abort()
        except Exception:  # noqa: BLE001 - whatever it is, only this answer ends
            self._log.failure("a body could not be made to its end")
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
