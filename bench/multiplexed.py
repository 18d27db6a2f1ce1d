"""Many watches over one HTTP/2 connection, with as much of the protocol as that needs."""

from __future__ import annotations

import select
import ssl
from collections.abc import Iterator, Sequence

from hpack import Decoder, Encoder

from bench.http1 import CONNECT_TIMEOUT_S, RECORD_BYTES, BenchError, Endpoint
from bench.watcher import READS_A_TURN, Events
from orchtw.wire import http2_frames as frames
from orchtw.wire.http2_frames import HEAD, HEAD_BYTES, Flag, FrameKind, Setting

STREAM_BYTES = 4 << 20
CONNECTION_BYTES = 1 << 30
"""The windows of clients in Go, which are opened again as often as half of one has been read."""
AT_ONCE = 50  # requests before the first answers are read


class Multiplexed:
    """`count` watches of the same; `watches` are their events, `ended` that the connection is over."""

    def __init__(self, endpoint: Endpoint, path: str, accept: str, protobuf: bool, count: int) -> None:
        self._fields = Encoder().encode([
            (":method", "GET"), (":scheme", "https"), (":authority", f"{endpoint.host}:{endpoint.port}"),
            (":path", path), ("user-agent", "bench"), ("accept", accept),
            ("authorization", f"Bearer {endpoint.token}"),
        ])
        self.watches: Sequence[Events] = [Events(protobuf) for _ in range(count)]
        self.ended = False
        self._answered = 0
        self._received = b""
        self._unread: dict[int, int] = {}
        self._decoder = Decoder()
        self._socket = endpoint.socket("h2")

    def fileno(self) -> int:
        return self._socket.fileno()

    def open(self) -> None:
        """Ask for the watches and wait for the heads of the answers; BenchError unless each is a 200."""
        known = frames.settings([(Setting.ENABLE_PUSH, 0), (Setting.INITIAL_WINDOW_SIZE, STREAM_BYTES)])
        self._send(frames.PREFACE + known + frames.window_update(0, CONNECTION_BYTES))
        flags = Flag.END_HEADERS | Flag.END_STREAM
        numbers = list(range(1, 2 * len(self.watches), 2))
        for begun in range(0, len(numbers), AT_ONCE):
            some = numbers[begun : begun + AT_ONCE]
            self._send(b"".join(
                frames.head(len(self._fields), FrameKind.HEADERS, flags, number) + self._fields for number in some
            ))
            self._await(begun + len(some))

    def _await(self, answers: int) -> None:
        poll = select.poll()
        poll.register(self._socket, select.POLLIN)
        while self._answered < answers:
            if self.ended or not (self._socket.pending() or poll.poll(CONNECT_TIMEOUT_S * 1000)):
                raise BenchError(f"{answers - self._answered} watches were not answered")
            self.readable()

    def readable(self) -> int:
        """Read what is there; returns the number of events that counted."""
        parts = [self._received]
        try:
            for _ in range(READS_A_TURN):
                data = self._socket.recv(RECORD_BYTES)
                parts.append(data)
                if not data:
                    self._end("the server has closed the connection")
                    break
        except ssl.SSLWantReadError:
            pass
        except OSError as problem:
            self._end(str(problem))
        self._received = b"".join(parts)
        return sum(self._frame(*frame) for frame in self._frames())

    def _frames(self) -> Iterator[tuple[int, int, int, bytes]]:
        data, at = self._received, 0
        while len(data) - at >= HEAD_BYTES:
            high, low, kind, flags, number = HEAD.unpack_from(data, at)
            end = at + HEAD_BYTES + (high << 8 | low)
            if end > len(data):
                break
            yield kind, flags, number, data[at + HEAD_BYTES : end]
            at = end
        self._received = data[at:]

    def _frame(self, kind: int, flags: int, number: int, content: bytes) -> int:
        counted = 0
        if kind == FrameKind.DATA:
            counted = self.watches[number // 2].take(content)
            self._open_window(number, len(content), STREAM_BYTES)
            self._open_window(0, len(content), CONNECTION_BYTES)
        elif kind == FrameKind.HEADERS:
            self._head(content)
        elif kind == FrameKind.SETTINGS and not flags & Flag.ACK:
            self._send(frames.acknowledged_settings())
        elif kind == FrameKind.PING and not flags & Flag.ACK:
            self._send(frames.acknowledged_ping(content))
        if kind in (FrameKind.RST_STREAM, FrameKind.GOAWAY) or (
            flags & Flag.END_STREAM and kind in (FrameKind.DATA, FrameKind.HEADERS)
        ):
            watch = self.watches[number // 2]
            watch.ended, watch.error = True, watch.error or f"ended by a frame of type {kind}"
        return counted

    def _open_window(self, number: int, count: int, size: int) -> None:
        unread = self._unread.get(number, 0) + count
        if unread > size // 2:
            self._send(frames.window_update(number, unread))
            unread = 0
        self._unread[number] = unread

    def _head(self, content: bytes) -> None:
        fields = {str(name): str(value) for name, value in self._decoder.decode(content)}
        if fields[":status"] != "200":
            raise BenchError(f"watch: status {fields[':status']}")
        self._answered += 1

    def _end(self, reason: str) -> None:
        self.ended = True
        for watch in self.watches:
            watch.ended, watch.error = True, watch.error or reason

    def _send(self, data: bytes) -> None:
        """Send all of a few bytes; the socket does not block, and has room for them but for a moment."""
        poll = select.poll()
        poll.register(self._socket, select.POLLOUT)
        while data:
            try:
                data = data[self._socket.send(data) :]
            except ssl.SSLWantWriteError:
                poll.poll(CONNECT_TIMEOUT_S * 1000)
