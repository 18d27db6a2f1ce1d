"""Outlet of one stream: sends as much as the peer's windows allow, and the rest when they open."""

from __future__ import annotations

import abc
from typing import Any

from orchtw.serving.http2.limits import FLUSH_BYTES, FRAME_BYTES, TURN_BYTES
from orchtw.serving.http2.shared import Shared
from orchtw.serving.response_bodies import Part
from orchtw.wire.http2_frames import HEAD, Flag

# What nothing is ever put into: what a stream keeps it keeps in a list of its own.
_NOTHING: list[Part] = []
_pack = HEAD.pack


class Sending(abc.ABC):
    """The sending side of a connection: frames are gathered for one write, and streams take turns.

    `window` is the peer's window for all streams together. While `full`, the transport accepts nothing.
    """

    __slots__ = (
        *("_blocked", "_out", "_out_bytes", "_pulling", "_shared", "_waits"),
        *("full", "stuck", "transport", "window"),
    )

    def __init__(self, shared: Shared, window: int) -> None:
        self._shared = shared
        self.window = window
        self.full = False
        self.transport: Any = None
        self.stuck: dict[Outlet, float] = {}
        """Outlets with blocked bytes, and the time of their last progress."""
        self._blocked: dict[Outlet, None] = {}
        self._pulling: dict[Outlet, None] = {}
        self._out: list[Part] = []
        self._out_bytes = 0
        self._waits = False

    def write(self, frame: bytes) -> None:
        """Send a frame that no window holds back."""
        self._out.append(frame)
        self._out_bytes += len(frame)
        if not self._waits:
            self._wait()

    def data(self, stream: int, part: Part, size: int, flags: int) -> None:
        """Send a frame of data; it is in the windows."""
        self._out.append(_pack(size >> 8, size & 255, 0, flags, stream))
        self._out.append(part)
        self._out_bytes += size
        if self._out_bytes > FLUSH_BYTES:
            self.flush()
        elif not self._waits:
            self._wait()

    def flush(self) -> None:
        """Hand over what has been gathered."""
        out = self._out
        if out:
            self._out, self._out_bytes = [], 0
            self.transport.write(b"".join(out))

    def _wait(self) -> None:
        self._waits = True
        self._shared.later(self)

    def turn(self) -> None:
        """End a turn: long bodies get their next part, and gathered frames are written."""
        enough = self.window - TURN_BYTES
        pulling, self._pulling = self._pulling, {}
        for outlet in pulling:
            if self.full or self.window < enough:
                self._pulling[outlet] = None
            else:
                outlet.pull()
        self.flush()
        self._waits = False
        if self._pulling and not self.full:
            self._wait()

    def pull_later(self, outlet: Outlet) -> None:
        """Ask this stream's body for more at the end of the turn."""
        self._pulling[outlet] = None
        if not self._waits and not self.full:
            self._wait()

    def block(self, outlet: Outlet) -> None:
        """Queue a stream that could send, while the connection cannot."""
        self._blocked.pop(outlet, None)
        self._blocked[outlet] = None

    def drop(self, outlet: Outlet) -> None:
        """Remove a stream that sends no more."""
        self._blocked.pop(outlet, None)
        self._pulling.pop(outlet, None)
        self.stuck.pop(outlet, None)

    def unblock(self) -> None:
        """Let the queued streams send, each in its turn: the connection can send again."""
        while self._blocked and not self.full and self.window > 0:
            outlet = next(iter(self._blocked))
            del self._blocked[outlet]
            outlet.push()
        if self._pulling and not self.full and not self._waits:
            self._wait()

    # IPushProducer, for the transport

    def pauseProducing(self) -> None:
        """Pause: the transport accepts no more."""
        self.full = True

    def resumeProducing(self) -> None:
        """Resume the streams: the transport has sent everything."""
        self.full = False
        self.unblock()
        self.flush()

    def stopProducing(self) -> None:
        """Stop sending: the transport is gone, and the protocol is notified."""
        self.full = True

    @abc.abstractmethod
    def now(self) -> float:
        """Return the edge's time in seconds."""

    @abc.abstractmethod
    def sent(self, stream: int) -> None:
        """Handle a stream that is sent completely, its end included."""

    @abc.abstractmethod
    def abort(self, stream: int) -> None:
        """Reset a stream that cannot be completed."""


class Outlet:
    """Outlet of a stream, which serves its response as a transport does in HTTP/1.1.

    A pull producer is only asked for a part when some of it can be sent. `unsent` are the bytes that wait for a
    window, or for the transport. A push producer pauses as soon as there are any: a waiting watch is a position, and
    its bytes are shared with others.
    """

    __slots__ = (
        *("_connection", "_ending", "_offset", "_paused", "_pieces", "_producer", "_streaming"),
        *("stream", "unsent", "window"),
    )

    def __init__(self, connection: Sending, stream: int, window: int) -> None:
        self._connection = connection
        self.stream = stream
        self.window = window
        self.unsent = self._offset = 0
        self._pieces: list[Part] = _NOTHING
        self._producer: Any = None
        self._streaming = self._paused = self._ending = False

    def write(self, data: Part) -> None:
        """Send `data`, as far as the windows let it pass; may pause a push producer before it returns."""
        connection = self._connection
        size = len(data)
        if size <= FRAME_BYTES and size <= self.window and size <= connection.window and not self._pieces:
            if not connection.full and not self._ending and size:
                self.window -= size
                connection.window -= size
                connection.data(self.stream, data, size, 0)
                if self._producer is not None and not self._streaming:
                    connection.pull_later(self)
                return
        if size and not self._ending:
            self._keep(data, size)

    def write_last(self, data: bytes) -> bool:
        """Send a short body and the end in one frame; False: that cannot be, and nothing has been sent."""
        connection = self._connection
        size = len(data)
        if size > FRAME_BYTES or size > self.window or size > connection.window or connection.full:
            return False
        self.window -= size
        connection.window -= size
        self._ending = True
        connection.data(self.stream, data, size, Flag.END_STREAM)
        return True

    def end_with_head(self) -> None:
        """End the body with the head, which is sent next: there is no body."""
        self._ending = True

    def _keep(self, data: Part, size: int) -> None:
        if not self._pieces:
            self._pieces = []
            self._connection.stuck[self] = self._connection.now()
        self._pieces.append(data)
        self.unsent += size
        self.push()
        if self.unsent and self._streaming and self._producer is not None and not self._paused:
            self._paused = True
            self._producer.pauseProducing()

    def push(self) -> None:
        """Send what is kept, as far as the windows let it pass."""
        connection, pieces, moved = self._connection, self._pieces, False
        if not pieces:
            if self in connection.stuck and self._has_room():
                del connection.stuck[self]
                connection.pull_later(self)
            return
        while pieces and not connection.full:
            room = min(self.window, connection.window, FRAME_BYTES)
            if room <= 0:
                break
            self._send_piece(pieces, room)
            moved = True
        if not pieces:
            self._pieces = _NOTHING
            self._emptied()
            return
        if moved:
            connection.stuck[self] = connection.now()
        if self.window > 0:
            connection.block(self)

    def _send_piece(self, pieces: list[Part], room: int) -> None:
        connection, first, offset = self._connection, pieces[0], self._offset
        part: Part = first if not offset and len(first) <= room else memoryview(first)[offset : offset + room]
        size = len(part)
        if offset + size == len(first):
            del pieces[0]
            self._offset = 0
        else:
            self._offset = offset + size
        self.window -= size
        connection.window -= size
        self.unsent -= size
        connection.data(self.stream, part, size, Flag.END_STREAM if self._ending and not pieces else 0)

    def _emptied(self) -> None:
        connection = self._connection
        if connection.stuck:
            connection.stuck.pop(self, None)
        if self._ending:
            connection.sent(self.stream)
        elif self._producer is not None:
            if not self._streaming:
                connection.pull_later(self)
            elif self._paused:
                self._paused = False
                self._producer.resumeProducing()

    def end(self) -> None:
        """End the body; the connection is notified once all of it is sent."""
        if not self._ending:
            self._ending = True
            if not self._pieces:
                self._connection.data(self.stream, b"", 0, Flag.END_STREAM)
        if not self._pieces:
            self._connection.sent(self.stream)

    def registerProducer(self, producer: Any, streaming: bool) -> None:
        """Register a producer, as transports do; a pull producer is first asked when nothing is left unsent."""
        if self._producer is not None:
            raise RuntimeError("a producer is already registered")
        self._producer = producer
        self._streaming = streaming
        self._paused = False
        if not streaming:
            if not self._pieces:
                self._connection.pull_later(self)
        elif self._pieces:
            self._paused = True
            producer.pauseProducing()

    def unregisterProducer(self) -> None:
        """Forget the producer, which is done."""
        self._producer = None
        self._paused = False

    def pull(self) -> None:
        """Ask for more of a body that is sent in parts."""
        if self._producer is None or self._streaming or self._pieces:
            return
        if self._has_room():
            self._producer.resumeProducing()
        else:
            self._connection.stuck.setdefault(self, self._connection.now())

    def _has_room(self) -> bool:
        """Report whether the windows are open; if only the stream's is, it goes on in its turn."""
        if self.window > 0 >= self._connection.window:
            self._connection.block(self)
        return self.window > 0 and self._connection.window > 0

    def abortConnection(self) -> None:
        """Reset the stream: its body cannot be completed."""
        self._connection.abort(self.stream)

    def lose(self) -> None:
        """Drop everything: the stream is gone."""
        producer, self._producer = self._producer, None
        self._ending = True
        self._pieces = _NOTHING
        self.unsent = 0
        self._connection.drop(self)
        if producer is not None:
            producer.stopProducing()
