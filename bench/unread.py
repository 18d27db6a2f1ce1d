"""Watches whose events are received but not deciphered, so that reading them takes the server next to nothing.

What comes is TLS records, whose heads are not enciphered: they tell how much was sent. What an event takes is known
from watches beside these that are read in full. The chunks' heads differ with how many events go at once, so that a
number of events made from bytes may be wrong by a hundredth.
"""

from __future__ import annotations

import select
import socket
import time
from collections.abc import Iterable

from bench.watcher import Watcher

PAUSE_S = 0.05
"""Between two times that all are read: what has come meanwhile costs one call."""

_HEAD_BYTES = 5
_SEALING_BYTES = 17  # TLS 1.3 adds a type and a tag to what a record holds
_BUFFER_BYTES = 512 << 10
_buffer = bytearray(_BUFFER_BYTES)
_view = memoryview(_buffer)


class Unread:
    """The stream of a watch that has been opened; its bytes are counted from here on."""

    def __init__(self, watcher: Watcher) -> None:
        self._watcher = watcher
        self._socket = watcher.socket
        self._rest = b""
        self._skip = 0
        self.bytes = 0
        self.ended = False

    def fileno(self) -> int:
        return self._watcher.fileno()

    def readable(self) -> None:
        """Take what is there; a head that is cut through waits for its end."""
        kept = len(self._rest)
        _buffer[:kept] = self._rest
        try:
            received = socket.socket.recv_into(self._socket, _view[kept:])
        except BlockingIOError:
            return
        except OSError:
            received = 0
        if not received:
            self.ended = True
            return
        end, at, plain = kept + received, self._skip, 0
        while at + _HEAD_BYTES <= end:
            length = _buffer[at + 3] << 8 | _buffer[at + 4]
            plain += length - _SEALING_BYTES
            at += _HEAD_BYTES + length
        self._rest, self._skip = (b"", at - end) if at >= end else (bytes(_view[at:end]), 0)
        self.bytes += plain


class UnreadWatches:
    """All of a process, read together from time to time. `last_ns` is when something last came."""

    def __init__(self) -> None:
        self._epoll = select.epoll()
        self._by_fd: dict[int, Unread] = {}
        self._due_s = 0.0
        self.last_ns = self.bytes = 0

    def __len__(self) -> int:
        return len(self._by_fd)

    def add(self, watcher: Watcher) -> None:
        """Receive this one from now on."""
        self._by_fd[watcher.fileno()] = Unread(watcher)
        self._epoll.register(watcher.fileno(), select.EPOLLIN)

    def begin_phase(self) -> None:
        """Forget what has come so far."""
        self.bytes = 0
        for each in self._by_fd.values():
            each.bytes = 0

    def turn(self) -> float:
        """Read all that have something, if it is time to; how long until it is again (-1 where there are none)."""
        if not self._by_fd:
            return -1
        left = self._due_s - time.monotonic()
        if left > 0:
            return left
        ready = self._epoll.poll(0, len(self._by_fd))
        for fd, _ in ready:
            one = self._by_fd[fd]
            before = one.bytes
            one.readable()
            self.bytes += one.bytes - before
            if one.ended:
                self._epoll.unregister(fd)
        if ready:
            self.last_ns = time.monotonic_ns()
        self._due_s = time.monotonic() + PAUSE_S
        return PAUSE_S

    def least(self) -> int:
        """Return the bytes of the client that has received least."""
        return min((each.bytes for each in self._by_fd.values()), default=0)

    def each(self) -> Iterable[Unread]:
        """Close all of the connections."""
        return self._by_fd.values()
