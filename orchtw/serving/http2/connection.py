"""HTTP/2 protocol of a connection: its streams, frames about the connection itself, and its end."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from twisted.internet.error import ConnectionAborted
from twisted.internet.interfaces import IHalfCloseableProtocol, IPushProducer
from twisted.internet.protocol import connectionDone
from twisted.python.failure import Failure
from zope.interface import implementer

from orchtw.errors import StatusError
from orchtw.request import Request, SameHead
from orchtw.serving.budget import Holding
from orchtw.serving.http2.field_decoder import Field, FieldDecoder
from orchtw.serving.http2.limits import (
    CONNECTION_WINDOW,
    DEFAULT_WINDOW,
    FRAME_BYTES,
    MOST_WINDOW,
    NOISE_OF_SETTINGS,
    REQUESTS_A_TURN,
    SMALL_GRANT,
)
from orchtw.serving.http2.noise import Noise
from orchtw.serving.http2.problems import ConnectionProblem, FieldsTooLarge, Malformed, protocol_error
from orchtw.serving.http2.reader import FrameReader
from orchtw.serving.http2.request_fields import RequestHead, check_trailers, head_of
from orchtw.serving.http2.shared import Shared
from orchtw.serving.http2.stream import Stream
from orchtw.serving.http2.streams import NO_TABLE, Streams
from orchtw.serving.limits import FREE_BYTES, PATIENCE_S, SAME_BYTES, HeadersTooLarge
from orchtw.wire import http2_frames as frames
from orchtw.wire.http2_frames import Code, Flag, FrameKind, Setting


@implementer(IHalfCloseableProtocol, IPushProducer)
class HTTP2Channel(Streams):
    """HTTP/2 connection; its transport is as for `HTTPChannel`."""

    __slots__ = (
        *("_begun", "_client_window", "_decoder", "_held_back", "_holding", "_looked_s", "_noise", "_progress"),
        *("_reader", "_received_s", "_same_head", "_same_sender", "_settled"),
        *("_stalled_since", "_window", "known", "peer"),
    )

    def __init__(self, shared: Shared) -> None:
        super().__init__(shared)
        edge = shared.edge
        self._reader = FrameReader()
        self._decoder = FieldDecoder(edge.limits.header_lines)
        self._noise = Noise(edge)
        self._received_s = edge.now
        self._begun = 0
        self._same_head: SameHead | None = None
        """Headers of the last short head, for the next ones that are equal."""
        self._same_sender: SameHead | None = None
        """The same of requests with bodies."""
        self._window = CONNECTION_WINDOW
        self._client_window = DEFAULT_WINDOW
        self._held_back = self._settled = False
        self._progress = -1
        self._stalled_since = self._looked_s = 0.0
        self._holding: Holding | None = None

    def makeConnection(self, transport: Any) -> None:
        """Take the transport, as Twisted's protocols."""
        self.transport = transport
        self.peer = transport.peer()
        self.known = self.peer.verified
        self._edge.channels.add(self)
        transport.registerProducer(self, True)
        self.write(self._shared.opening)
        self.flush()
        if self._edge.draining:
            self.leave()

    # Received

    def dataReceived(self, data: bytes) -> None:
        """Take the frames apart, and begin what they ask for."""
        if self._closed:
            return
        self._reader.feed(data)
        if not self._held_back:
            self._take()

    def _take(self) -> None:
        corked, self._waits = self._waits, True
        self._begun = 0
        try:
            while not self._closed and not self.full and self._begun < REQUESTS_A_TURN:
                frame = self._reader.take()
                if frame is None:
                    break
                self._received_s = self._edge.now
                self._frame(*frame)
            else:
                self._hold_back()
        except ConnectionProblem as problem:
            self._give_up(problem)
        if self._holding is not None or self._reader.held_bytes > FREE_BYTES:
            self._account()
        self.flush()
        if not corked:
            self._waits = False
            if self._pulling and not self.full:
                self._wait()
        self._close_if_done()

    def _account(self) -> None:
        """Count what has come and is not complete; without room for it the connection ends."""
        size, holding = self._reader.held_bytes, self._holding
        if holding is None:
            holding = self._holding = self._edge.budget.holding(known=self.known, end=self._evicted)
        if size <= FREE_BYTES:
            self._release()
        elif holding.hold(size):
            holding.move()
        else:
            self.transport.abortConnection()

    def _release(self) -> None:
        holding, self._holding = self._holding, None
        if holding is not None:
            holding.release()

    def _evicted(self) -> None:
        """Drop the connection to make room for others."""
        self._holding = None
        self.transport.abortConnection()

    def _hold_back(self) -> None:
        """Pause reading until others have had their turn, or the client reads."""
        if not self._closed:
            self._held_back = True
            self.transport.pauseProducing()
            if not self.full:
                self._edge.call_later(0, self._go_on)

    def _go_on(self) -> None:
        if self._held_back and not self.full:
            self._held_back = False
            self.transport.resumeProducing()
            self._take()

    def resumeProducing(self) -> None:
        """Continue: the transport has sent everything."""
        super().resumeProducing()
        if self._held_back:
            self._edge.call_later(0, self._go_on)

    def _frame(self, kind: int, flags: int, number: int, content: bytes, taken: int) -> None:
        if kind == FrameKind.HEADERS:
            self._fields(number, flags, content)
        elif kind == FrameKind.DATA:
            self._data(number, flags, content, taken)
        elif kind == FrameKind.WINDOW_UPDATE:
            self._granted(number, frames.read_word(content))
        elif kind == FrameKind.SETTINGS:
            self._settings(flags, content)
        elif not self._settled:
            raise protocol_error("no SETTINGS")
        elif kind == FrameKind.RST_STREAM:
            self._reset(number)
        elif kind == FrameKind.PING:
            if not flags & Flag.ACK:
                self._noise.heard()
                self.write(frames.acknowledged_ping(content))
        elif kind == FrameKind.GOAWAY:
            self.leave()
        else:
            self._noise.heard()

    def _fields(self, number: int, flags: int, block: bytes) -> None:
        if not self._settled:
            raise protocol_error("no SETTINGS")
        ended = bool(flags & Flag.END_STREAM)
        stream = self._streams.get(number)
        if self._leaving:
            # Nothing new is taken, so what enters the table no longer matters.
            self._noise.heard()
            if stream is not None:
                self._trailers(stream, (), ended)
            return
        try:
            fields = self._decoder.decode(block)
        except FieldsTooLarge:
            self._refuse_fields(number, ended)
            return
        if stream is not None:
            self._trailers(stream, fields, ended)
        elif number > self._last and number & 1:
            self._begin(number, fields, ended)
        elif number & 1:
            self._noise.heard()  # our end of the stream and more of it have crossed
        else:
            raise protocol_error("stream identifier of the wrong side")

    def _begin(self, number: int, fields: list[Field], ended: bool) -> None:
        self._last = number
        if len(self._streams) + self.orphans >= self._shared.streams:
            self._noise.heard()
            self.write(frames.reset(number, Code.REFUSED_STREAM))
            return
        try:
            head = head_of(fields, self._decoder.size, self.peer, self._edge.limits)
            if ended and head.declared:
                raise Malformed
        except Malformed:
            self._noise.heard()
            self.write(frames.reset(number, Code.PROTOCOL_ERROR))
            return
        if head.size <= SAME_BYTES and head.request.repeated is None:
            self._know_again(head.request, ended=ended)
        self._start(number, head, ended)

    def _know_again(self, request: Request, *, ended: bool) -> None:
        """Have requests with equal headers share what the app knows their sender by."""
        same = self._same_head if ended else self._same_sender
        if same is None or same.headers != request.headers:
            same = SameHead(request.headers)
            if ended:
                self._same_head = same
            else:
                self._same_sender = same
        request.same_head = same

    def _start(self, number: int, head: RequestHead, ended: bool) -> None:
        self._begun += 1
        stream = self._streams[number] = Stream(self._edge, self._shared, self, number, self._client_window)
        stream.begin(head, ended=ended)

    def _refuse_fields(self, number: int, ended: bool) -> None:
        """Answer 431 and end the connection: later fields cannot be decoded."""
        if number > self._last:
            self._last = number
            request = Request(method="GET", path="/", peer=self.peer)
            refusal: StatusError = HeadersTooLarge("request header is too large")
            self._start(number, RequestHead(request, 0, None, False, refusal), ended)
        self.leave()

    def _trailers(self, stream: Stream, fields: Any, ended: bool) -> None:
        if stream.heard:
            self._noise.heard()
            self.reset(stream.number, Code.STREAM_CLOSED)
            return
        try:
            check_trailers(fields)
            if not ended:
                raise Malformed
        except Malformed:
            self._noise.heard()
            self.reset(stream.number, Code.PROTOCOL_ERROR)
            return
        stream.body(b"", 0, ended=True)

    def _data(self, number: int, flags: int, content: bytes, taken: int) -> None:
        if not self._settled:
            raise protocol_error("no SETTINGS")
        self._window -= taken
        if self._window < 0:
            raise ConnectionProblem(Code.FLOW_CONTROL_ERROR, "flow control window exceeded")
        if self._window < CONNECTION_WINDOW // 2:
            self.write(frames.window_update(0, CONNECTION_WINDOW - self._window))
            self._window = CONNECTION_WINDOW
        ended = bool(flags & Flag.END_STREAM)
        if not content and not ended:
            self._noise.heard()
        stream = self._streams.get(number)
        if stream is not None:
            stream.body(content, taken, ended=ended)
        elif not self._known_stream(number):
            raise protocol_error("DATA on a stream that is not open")
        else:
            self._noise.heard()
            if number <= self._last:
                self.write(frames.reset(number, Code.STREAM_CLOSED))

    def _granted(self, number: int, more: int) -> None:
        if not self._settled:
            raise protocol_error("no SETTINGS")
        if more < SMALL_GRANT:
            self._noise.heard()
        if number == 0:
            self.window += more
            if not more:
                raise protocol_error("window increment is zero")
            if self.window > MOST_WINDOW:
                raise ConnectionProblem(Code.FLOW_CONTROL_ERROR, "window is too large")
            self.unblock()
            return
        stream = self._streams.get(number)
        if stream is None:
            if not self._known_stream(number):
                raise protocol_error("WINDOW_UPDATE on a stream that is not open")
            return
        outlet = stream.transport
        outlet.window += more
        if not more:
            self.reset(number, Code.PROTOCOL_ERROR)
        elif outlet.window > MOST_WINDOW:
            self.reset(number, Code.FLOW_CONTROL_ERROR)
        else:
            outlet.push()

    def _settings(self, flags: int, content: bytes) -> None:
        self._settled = True
        if flags & Flag.ACK:
            return
        self._noise.heard(NOISE_OF_SETTINGS)
        windows = []
        # In order, as RFC 9113 asks: each value counts, also one that a later one of the same frame replaces.
        for setting, value in frames.read_settings(content):
            if setting == Setting.ENABLE_PUSH and value > 1:
                raise protocol_error("ENABLE_PUSH must be 0 or 1")
            if setting == Setting.MAX_FRAME_SIZE and not FRAME_BYTES <= value < 1 << 24:
                raise protocol_error("MAX_FRAME_SIZE is out of range")
            if setting == Setting.HEADER_TABLE_SIZE:
                self._prefix = NO_TABLE
            if setting == Setting.INITIAL_WINDOW_SIZE:
                windows.append(value)
        self.write(frames.acknowledged_settings())
        if windows:
            self._resize(windows)

    def _resize(self, windows: Sequence[int]) -> None:
        """Change all windows of streams by as much as the initial one, which takes these values one after the other.

        Each stream is looked at once, however many values there are: only the largest can be too large.
        """
        largest, more = max(windows) - self._client_window, windows[-1] - self._client_window
        self._client_window = windows[-1]
        outlets = [stream.transport for stream in self._streams.values()]
        if max(windows) > MOST_WINDOW or any(outlet.window + largest > MOST_WINDOW for outlet in outlets):
            raise ConnectionProblem(Code.FLOW_CONTROL_ERROR, "window is too large")
        for outlet in outlets:
            outlet.window += more
        if more > 0:
            for outlet in list(self.stuck):
                outlet.push()

    def _reset(self, number: int) -> None:
        self._noise.heard()
        stream = self._streams.pop(number, None)
        if stream is not None:
            stream.left()
        elif not self._known_stream(number):
            raise protocol_error("RST_STREAM on a stream that is not open")

    # The end

    def _stop_reading(self) -> None:
        self._reader.close()

    def connectionLost(self, reason: Failure = connectionDone) -> None:
        """End all streams: the client is gone."""
        self._closed = True
        self._edge.channels.discard(self)
        self._reader.close()
        self._release()
        self._out, self._out_bytes = [], 0
        streams, self._streams = self._streams, {}
        ours = isinstance(reason.value, ConnectionAborted)
        for stream in streams.values():
            if ours:
                stream.aborted()
            else:
                stream.left()

    def readConnectionLost(self) -> None:
        """Serve the received requests and end the watches: the client sends no more."""
        for number in list(self._receiving):
            self._streams.pop(number).left()
        for stream in list(self._streams.values()):
            # Others may take for ever to answer, and a client that has left altogether looks the same.
            if stream.passed_on:
                self.reset(stream.number, Code.CANCEL)
        self.wind_down()

    def writeConnectionLost(self) -> None:
        """Do nothing: our transport closes both sides at once."""

    # Time

    def expire(self, now: float) -> None:
        """End what has taken too long (reference DESIGN-12): a connection, or a stream of it."""
        transport, limits = self.transport, self._edge.limits
        if transport.waiting:
            if transport.progress != self._progress:
                self._progress, self._stalled_since = transport.progress, now
            elif now - self._stalled_since > limits.write_stall_s:
                transport.abortConnection()
            self._since = now
            return
        self._progress = -1
        for outlet, since in list(self.stuck.items()):
            stream = self._streams.get(outlet.stream)
            if stream is None:
                continue  # it had to make room for the one before
            if now - since > (PATIENCE_S if stream.patient else limits.write_stall_s):
                self.reset(outlet.stream, Code.CANCEL)
            elif since >= self._looked_s:
                stream.recount()
        self._looked_s = now
        for number, since in list(self._receiving.items()):
            if now - since > limits.arrival_s:
                self.reset(number, Code.CANCEL)
        if self._reader.waits:
            if now - self._received_s > limits.arrival_s:
                transport.abortConnection()
        elif not self._streams and now - max(self._since, self._received_s) > limits.idle_s:
            self.leave()

    def distrust(self) -> None:
        """Wind down if the client was verified by its certificate, which may no longer be valid."""
        if self.peer.verified:
            self.wind_down()


