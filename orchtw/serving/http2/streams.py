"""Streams of a connection: their callbacks, and the connection's orderly end once there are none."""

from __future__ import annotations

import abc
from typing import Final

from orchtw.serving.edge import Edge
from orchtw.serving.http2.limits import DEFAULT_WINDOW, FRAME_BYTES
from orchtw.serving.http2.outlet import Sending
from orchtw.serving.http2.problems import ConnectionProblem
from orchtw.serving.http2.shared import Shared
from orchtw.serving.http2.stream import Stream
from orchtw.wire import http2_frames as frames
from orchtw.wire.http2_frames import Code

NO_TABLE: Final = b"\x20"
"""Start of the first field block after the client has shrunk its table (RFC 7541 §4.2): this server uses no table."""


class Streams(Sending):
    """The streams that are open, and those whose requests are incomplete, with when they began.

    After `leave` no new requests are taken, those that are there end in order, and the connection closes behind them.
    Requests whose streams the client has reset, and which the app goes on with, count as streams: `orphans`.
    """

    __slots__ = (
        *("_closed", "_edge", "_last", "_leaving", "_prefix", "_receiving", "_since", "_streams"),
        *("free_bytes", "orphans"),
    )

    def __init__(self, shared: Shared) -> None:
        super().__init__(shared, DEFAULT_WINDOW)
        self._edge: Edge = shared.edge
        self._streams: dict[int, Stream] = {}
        self._receiving: dict[int, float] = {}
        self._since = shared.edge.now
        """Time at which the last stream ended."""
        self._last = self.free_bytes = self.orphans = 0
        self._prefix = b""
        self._closed = self._leaving = False

    def fields(self, stream: int, block: bytes, flags: int) -> None:
        """Send the fields of an answer."""
        if self._prefix:
            block, self._prefix = self._prefix + block, b""
        self.write(frames.fields_frames(stream, block, flags, FRAME_BYTES))

    def grant(self, stream: int, count: int) -> None:
        """Let the client send so many bytes more of a body."""
        self.write(frames.window_update(stream, count))

    def reset(self, stream: int, code: int) -> None:
        """Give a stream up."""
        self.write(frames.reset(stream, code))
        gone = self._streams.pop(stream, None)
        if gone is not None:
            gone.aborted()
        self._rest()

    def abort(self, stream: int) -> None:
        """Reset a stream that cannot be completed."""
        self.reset(stream, Code.INTERNAL_ERROR)

    def reset_connection(self) -> None:
        """Reset the connection with all of its streams, behind the frames that are gathered."""
        self.flush()
        self.transport.abortConnection()

    def receiving(self, stream: int, *, begun: bool) -> None:
        """Note that a body is being received, or no longer is."""
        if begun:
            self._receiving[stream] = self._edge.now
        else:
            self._receiving.pop(stream, None)

    def sent(self, stream: int) -> None:
        """Finish a stream that is sent completely, its end included."""
        self._streams[stream].sent()

    def over(self, stream: int, *, heard: bool, last: bool) -> None:
        """Remove a stream that has sent everything."""
        if not heard:
            self.write(frames.reset(stream, Code.NO_ERROR))
        del self._streams[stream]
        if last:
            self.leave()
        else:
            self._rest()

    def now(self) -> float:
        """Return the edge's time in seconds."""
        return self._edge.now

    def _known_stream(self, number: int) -> bool:
        """Report whether a stream without state has existed, or comes too late."""
        return bool(number & 1) and (number <= self._last or self._leaving)

    # The end

    def leave(self) -> None:
        """Take no more requests; the client is told which ones have not been looked at."""
        if not self._leaving and not self._closed:
            self._leaving = True
            self.write(frames.go_away(self._last, Code.NO_ERROR))
        self._rest()

    def take_no_more(self) -> None:
        """Close if idle; what is running goes on, and nothing more is taken."""
        self.leave()

    def wind_down(self) -> None:
        """Close if idle, end streams in order, let running requests finish."""
        for stream in list(self._streams.values()):
            stream.wind_down()
        self.leave()

    def _rest(self) -> None:
        """Note the end of a stream, perhaps of the last one."""
        if not self._streams:
            self._since = self._edge.now
            if self._leaving and not self._waits:
                self._wait()

    def turn(self) -> None:
        """End a turn, and close the connection if it is done."""
        super().turn()
        self._close_if_done()

    def _close_if_done(self) -> None:
        if self._leaving and not self._streams and not self._closed:
            self._close()

    def _close(self) -> None:
        self._closed = True
        self._stop_reading()
        self.flush()
        self.transport.unregisterProducer()
        self.transport.loseConnection()

    def _give_up(self, problem: ConnectionProblem) -> None:
        """Send the client the error; all streams are aborted."""
        streams, self._streams = self._streams, {}
        for stream in streams.values():
            stream.aborted()
        self.write(frames.go_away(self._last, problem.code, problem.reason.encode("ascii")))
        self._leaving = True
        self._close()

    @abc.abstractmethod
    def _stop_reading(self) -> None:
        """Let go of what has come and is not complete."""
