"""HTTP/2 and gRPC as far as the etcd store speaks them (reference STORE-31)."""
# covers: orchtw.wire.http2_frames

from __future__ import annotations

from typing import Any

from hpack import Decoder, Encoder
from hypothesis import given
from hypothesis import strategies as st
from twisted.internet.error import ConnectionDone
from twisted.internet.testing import StringTransport
from twisted.python.failure import Failure
from twisted.trial.unittest import SynchronousTestCase

from orchtw.outbound.grpc.connection import (
    CONNECTION_WINDOW,
    DEFAULT_FRAME,
    DEFAULT_WINDOW,
    LAST_STREAM,
    PREFIX,
    GrpcCall,
    GrpcConnection,
)
from orchtw.outbound.grpc.status import DEADLINE_EXCEEDED, INTERNAL, RESOURCE_EXHAUSTED, UNAVAILABLE, RpcError
from orchtw.wire import http2_frames as frames
from orchtw.wire.http2_frames import HEAD, HEAD_BYTES, Flag, FrameKind, Setting
from tests.properties import examples

NEVER = float("inf")
FIELDS = frames.fields("http", "host:2379", "/etcdserverpb.KV/Range", [("te", "trailers")])
GOOD = [(":status", "200"), ("content-type", "application/grpc")]


class Transport(StringTransport):
    """Knows whether it was aborted."""

    aborted = False

    def setTcpKeepAlive(self, _value: bool) -> None: ...

    def abortConnection(self) -> None:
        self.aborted = True


class Asked(GrpcCall):
    """Remembers what comes back."""

    def __init__(self) -> None:
        self.messages: list[bytes] = []
        self.ends: list[RpcError | None] = []

    def message(self, body: bytes) -> None:
        self.messages.append(body)

    def ended(self, error: RpcError | None) -> None:
        self.ends.append(error)


def block(*fields: tuple[str, str]) -> bytes:
    """Fields as a server sends them that keeps no table."""
    encoder = Encoder()
    encoder.header_table_size = 0
    return bytes(encoder.encode(fields))


def frame(kind: int, flags: int, stream: int, content: bytes) -> bytes:
    return frames.head(len(content), kind, flags, stream) + content


def message(body: bytes) -> bytes:
    return PREFIX.pack(0, len(body)) + body


def answer(stream: int, *bodies: bytes, status: str = "0", said: str = "") -> bytes:
    """Return a whole response."""
    data = b"".join(frame(FrameKind.DATA, 0, stream, message(body)) for body in bodies)
    end = block(("grpc-status", status), ("grpc-message", said))
    flags = Flag.END_HEADERS | Flag.END_STREAM
    return (
        frame(FrameKind.HEADERS, Flag.END_HEADERS, stream, block(*GOOD))
        + data
        + frame(FrameKind.HEADERS, flags, stream, end)
    )


class ConnectionCase(SynchronousTestCase):
    def setUp(self) -> None:
        self.gone: list[str] = []
        self.connection = GrpcConnection(self.gone.append, 1 << 20)
        self.transport: Any = Transport()
        self.connection.makeConnection(self.transport)
        self.opening = self.transport.value()
        self.transport.clear()

    def sent(self) -> list[tuple[int, int, int, bytes]]:
        """Kind, flags, stream and content of each frame since the last time."""
        data, found = self.transport.value(), []
        self.transport.clear()
        while data:
            upper, lower, kind, flags, stream = HEAD.unpack_from(data)
            end = HEAD_BYTES + (upper << 8 | lower)
            found.append((kind, flags, stream, data[HEAD_BYTES:end]))
            data = data[end:]
        return found

    def ask(self, body: bytes = b"q", *, ends: bool = True, deadline: float = NEVER) -> tuple[int, Asked]:
        asked = Asked()
        return self.connection.start(FIELDS, body, asked, deadline, ends=ends), asked

    def receive(self, data: bytes) -> None:
        self.connection.dataReceived(data)

    def failure(self, asked: Asked) -> RpcError:
        """Return the one end of a call, which failed."""
        [error] = asked.ends
        assert error is not None
        return error


class AnswerTests(ConnectionCase):
    """Calls and their responses."""

    def test_question(self) -> None:
        """A call is its fields, which need no table, and its message with what precedes each of gRPC's."""
        self.assertTrue(self.opening.startswith(frames.PREFACE))
        first, _ = self.ask(b"one")
        second, _ = self.ask(b"two")
        sent = self.sent()
        self.assertEqual((first, second), (1, 3))
        self.assertEqual([each[:3] for each in sent[:2]], [(FrameKind.HEADERS, 4, 1), (FrameKind.DATA, 1, 1)])
        self.assertEqual(sent[3][3], message(b"two"))
        decoded = dict(Decoder().decode(sent[0][3]))
        self.assertEqual(
            decoded,
            {
                ":method": "POST",
                ":scheme": "http",
                ":path": "/etcdserverpb.KV/Range",
                ":authority": "host:2379",
                "te": "trailers",
            },
        )

    def test_long_fields(self) -> None:
        """Texts of any length can be read again."""
        for length in (126, 127, 128, 254, 255, 256, 1000):
            found: dict[Any, Any] = dict(Decoder().decode(frames.fields("https", "h", "/" + "p" * length, [])))
            self.assertEqual((found[":path"], found[":scheme"]), ("/" + "p" * length, "https"))

    @examples(100)
    @given(st.lists(st.binary(max_size=40), max_size=3), st.data())
    def test_any_pieces(self, bodies: list[bytes], data: st.DataObject) -> None:
        """However an answer is cut, by the network or into frames, it is the same."""
        self.setUp()
        number, asked = self.ask()
        joined = b"".join(map(message, bodies))
        cuts = sorted(data.draw(st.lists(st.integers(0, len(joined)), max_size=4)))
        parts = [joined[a:b] for a, b in zip([0, *cuts], [*cuts, len(joined)], strict=True)]
        raw = b"".join(
            [
                frame(FrameKind.HEADERS, Flag.END_HEADERS, number, block(*GOOD)),
                *(frame(FrameKind.DATA, 0, number, part) for part in parts),
                frame(FrameKind.HEADERS, Flag.END_HEADERS | Flag.END_STREAM, number, block(("grpc-status", "0"))),
            ]
        )
        step = data.draw(st.integers(1, 30))
        for at in range(0, len(raw), step):
            self.receive(raw[at : at + step])
        self.assertEqual((asked.messages, asked.ends), (bodies, [None]))

    def test_error(self) -> None:
        """A refused call has a code, and a text that may be encoded."""
        number, asked = self.ask()
        self.receive(answer(number, status="11", said="etcdserver: mvcc: 50%25 gone"))
        [error] = asked.ends
        assert error is not None
        self.assertEqual((error.code, error.text, error.sent), (11, "etcdserver: mvcc: 50% gone", True))

    def test_continued_fields(self) -> None:
        """Fields in several frames, with padding."""
        number, asked = self.ask()
        raw = block(("grpc-status", "0"))
        padded = b"\3" + raw[:4] + bytes(3)
        self.receive(frame(FrameKind.HEADERS, Flag.END_STREAM | Flag.PADDED, number, padded))
        self.receive(frame(FrameKind.CONTINUATION, Flag.END_HEADERS, number, raw[4:]))
        self.assertEqual(asked.ends, [None])

    def test_no_grpc(self) -> None:
        """A peer that speaks another protocol is dropped, or its HTTP status reported."""
        for flags in (Flag.END_HEADERS, Flag.END_HEADERS | Flag.END_STREAM):
            number, asked = self.ask()
            self.receive(frame(FrameKind.HEADERS, flags, number, block((":status", "404"))))
            problem = asked.ends[0]
            assert problem is not None
            self.assertEqual((problem.code, problem.text), (UNAVAILABLE, "HTTP status 404"))
        self.receive(frame(FrameKind.CONTINUATION, Flag.END_HEADERS, 9, b""))
        self.assertTrue(self.transport.aborted)


class NonsenseTests(ConnectionCase):
    """Responses that are not gRPC, or too much."""

    def test_trailers_only(self) -> None:
        """A response may be its trailers alone; without a status it is an unknown error."""
        for status, code in ((("grpc-status", "14"), 14), (("x", "y"), 2)):
            number, asked = self.ask()
            fields = block((":status", "200"), status, ("grpc-message", "%E2%82%AC away"))
            self.receive(frame(FrameKind.HEADERS, Flag.END_HEADERS | Flag.END_STREAM, number, fields))
            error = self.failure(asked)
            self.assertEqual((error.code, error.text, asked.messages), (code, "\N{EURO SIGN} away", []))

    def test_malformed_status(self) -> None:
        """A status that is not a number ends its call and nothing else."""
        for status in ("", "x", "-1", "1_0", "9" * 5000):
            number, asked = self.ask()
            self.receive(answer(number, status=status))
            self.assertEqual(self.failure(asked).code, INTERNAL)
            self.assertIn("malformed grpc-status", self.failure(asked).text)
        self.assertFalse(self.transport.aborted)

    def test_oversized_message(self) -> None:
        """A message over the limit ends its call before it is held; others go on."""
        self.connection = GrpcConnection(self.gone.append, 10)
        self.connection.makeConnection(self.transport)
        for cut in (1, 6, 16):
            number, asked = self.ask()
            _, other = self.ask()
            self.sent()
            raw = message(bytes(11))
            self.receive(frame(FrameKind.DATA, 0, number, raw[:cut]) + frame(FrameKind.DATA, 0, number, raw[cut:]))
            error = self.failure(asked)
            self.assertEqual(error.code, RESOURCE_EXHAUSTED)
            self.assertEqual(error.text, "grpc: received message larger than max (11 vs. 10)")
            self.assertEqual([each[0] for each in self.sent()], [FrameKind.RST_STREAM])
            self.assertEqual((asked.messages, other.ends), ([], []))
        number, asked = self.ask()
        self.receive(answer(number, bytes(10)))
        self.assertEqual((asked.messages, asked.ends), ([bytes(10)], [None]))

    def test_compressed_message(self) -> None:
        """No compression is offered, so a compressed message ends its call."""
        number, asked = self.ask()
        self.receive(frame(FrameKind.DATA, 0, number, PREFIX.pack(1, 1) + b"x"))
        self.assertEqual(self.failure(asked).code, INTERNAL)
        self.assertFalse(self.transport.aborted)

    def test_no_trailers(self) -> None:
        """A stream that ends with its data has no status."""
        number, asked = self.ask()
        self.receive(frame(FrameKind.DATA, Flag.END_STREAM, number, message(b"x")))
        self.assertEqual(self.failure(asked).text, "the stream ended without a status")

    def test_dropped(self) -> None:
        """Bytes that are not HTTP/2 drop the connection, and all calls fail with what was wrong with them."""
        begun = frame(FrameKind.HEADERS, 0, 1, b"\x40")
        padded = Flag.END_HEADERS | Flag.PADDED
        for raw, why in (
            (b"HTTP/1.1 400 Bad Request\r\n\r\n", "frame is too large"),
            (frames.head(DEFAULT_FRAME + 1, FrameKind.DATA, 0, 1), "frame is too large"),
            (frame(FrameKind.CONTINUATION, Flag.END_HEADERS, 1, b""), "CONTINUATION without HEADERS"),
            (begun + begun, "header block is not complete"),
            (begun + frame(FrameKind.CONTINUATION, 0, 3, b""), "header block is not complete"),
            (begun + frame(FrameKind.CONTINUATION, 0, 1, bytes(16_000)) * 5, "too many header fields"),
            (frame(FrameKind.HEADERS, Flag.END_HEADERS, 1, b"\xff\xff\xff\xff\xff"), ""),
            (frame(FrameKind.HEADERS, padded, 1, b""), "more padding than content"),
            (frame(FrameKind.HEADERS, padded, 1, b"\5abc"), "more padding than content"),
            (frames.settings([(Setting.MAX_FRAME_SIZE, 1)]), "maximum frame size of 1 bytes is out of range"),
            (frames.settings([(Setting.INITIAL_WINDOW_SIZE, 1 << 31)]),
             "initial window of 2147483648 bytes is out of range"),
        ):
            self.setUp()
            _, asked = self.ask()
            self.receive(raw)
            self.assertTrue(self.transport.aborted, raw)
            self.connection.connectionLost(Failure(ConnectionDone()))
            self.connection.secured.addErrback(lambda _: None)
            self.assertEqual(self.failure(asked).code, UNAVAILABLE)
            self.assertTrue(self.failure(asked).text.startswith(f"not gRPC: {why}"), self.failure(asked).text)

    @examples(200)
    @given(st.lists(st.tuples(st.integers(0, 10), st.integers(0, 63), st.integers(0, 5), st.binary(max_size=40))))
    def test_any_frames(self, received: list[tuple[int, int, int, bytes]]) -> None:
        """Whatever comes, a call ends at most once, and nothing is raised."""
        self.setUp()
        calls = [self.ask()[1], self.ask(ends=False)[1]]
        for kind, flags, stream, content in received:
            self.receive(frame(kind, flags, stream, content))
        self.connection.connectionLost(Failure(ConnectionDone()))
        self.connection.secured.addErrback(lambda _: None)
        self.assertEqual([len(each.ends) for each in calls], [1, 1])


class WindowTests(ConnectionCase):
    """Neither side sends more than the other has room for."""

    def test_large_question(self) -> None:
        """Data beyond the windows of stream and connection waits; the end comes once."""
        body = bytes(range(256)) * 600
        number, _ = self.ask(body)
        whole = message(body)
        taken = b"".join(content for kind, _, _, content in self.sent() if kind == FrameKind.DATA)
        self.assertEqual(len(taken), DEFAULT_WINDOW)
        self.receive(frames.window_update(0, 10_000))
        self.assertEqual(self.sent(), [])
        self.receive(frames.window_update(number, 50_000))
        taken += b"".join(content for _, _, _, content in self.sent())
        self.assertEqual(len(taken), DEFAULT_WINDOW + 10_000)
        self.receive(frames.window_update(0, 1 << 20) + frames.settings([(Setting.INITIAL_WINDOW_SIZE, 1 << 20)]))
        data = [each for each in self.sent() if each[0] == FrameKind.DATA]
        taken += b"".join(content for _, _, _, content in data)
        self.assertEqual((taken, [flags for _, flags, _, _ in data].count(Flag.END_STREAM)), (whole, 1))

    def test_frames_are_small(self) -> None:
        """No frame is larger than the other side takes."""
        self.receive(frames.settings([(Setting.INITIAL_WINDOW_SIZE, 1 << 20)]) + frames.window_update(0, 1 << 20))
        self.ask(bytes(100_000))
        self.assertLessEqual(max(len(content) for _, _, _, content in self.sent()), 16_384)

    def test_room_is_given(self) -> None:
        """A member may go on sending once half of its room is used up."""
        number, _ = self.ask(ends=False)
        self.sent()
        for _ in range(CONNECTION_WINDOW // 2 // 16_000 + 1):
            self.receive(frame(FrameKind.DATA, 0, number, message(bytes(15_995))))
        given = [(stream, int.from_bytes(content)) for kind, _, stream, content in self.sent()
                 if kind == FrameKind.WINDOW_UPDATE]  # fmt: skip
        self.assertEqual([stream for stream, _ in given].count(0), 1)
        self.assertGreater(sum(size for stream, size in given if stream == number), CONNECTION_WINDOW // 4)


class EndTests(ConnectionCase):
    """Ends of calls and connections."""

    def test_settings_and_pings(self) -> None:
        """Settings and pings are answered; the first settings mean that calls can be made."""
        self.assertFalse(self.connection.secured.called)
        self.receive(
            frames.settings([(Setting.MAX_CONCURRENT_STREAMS, 7)]) + frame(FrameKind.PING, 0, 0, b"12345678")
        )
        self.assertEqual(
            self.sent(), [(FrameKind.SETTINGS, Flag.ACK, 0, b""), (FrameKind.PING, Flag.ACK, 0, b"12345678")]
        )
        self.successResultOf(self.connection.secured)
        self.assertEqual(self.connection.most, 7)

    def test_refused_stream(self) -> None:
        """A stream that was refused has not been looked at; one that was reset may have been."""
        first, refused = self.ask()
        second, reset = self.ask()
        self.receive(frames.reset(first, frames.Code.REFUSED_STREAM) + frames.reset(second))
        self.assertEqual([each.ends[0] and each.ends[0].sent for each in (refused, reset)], [False, True])

    def test_going_away(self) -> None:
        """A member that shuts down answers what it has begun; the rest is free to be asked elsewhere."""
        first, begun = self.ask()
        _, stream = self.ask(ends=False)
        _, late = self.ask()
        self.receive(frame(FrameKind.GOAWAY, 0, 0, (3).to_bytes(4) + bytes(4)))
        self.assertEqual(len(self.gone), 1)
        self.assertEqual([each.ends and each.ends[0] and each.ends[0].sent for each in (begun, stream, late)],
                         [[], True, False])  # fmt: skip
        self.assertFalse(self.transport.disconnecting)
        self.receive(answer(first, b"a"))
        self.assertEqual((begun.messages, begun.ends), ([b"a"], [None]))
        self.assertTrue(self.transport.disconnecting)

    def test_streams_used_up(self) -> None:
        """The last stream of a connection is answered; later calls are for another connection."""
        self.connection._next = LAST_STREAM
        number, asked = self.ask()
        self.assertEqual((number, len(self.gone)), (LAST_STREAM, 1))
        self.receive(answer(number, b"a"))
        self.assertEqual((asked.messages, asked.ends), ([b"a"], [None]))
        self.assertTrue(self.transport.disconnecting)

    def test_late(self) -> None:
        """A call has a timeout; later messages are dropped."""
        number, asked = self.ask(deadline=5.0)
        _, other = self.ask(deadline=6.0)
        self.connection.late(5.0)
        [error] = asked.ends
        self.assertEqual(error and error.code, DEADLINE_EXCEEDED)
        self.assertEqual((str(error), other.ends), ("context deadline exceeded", []))
        self.receive(answer(number, b"late"))
        self.assertEqual(asked.messages, [])

    def test_lost(self) -> None:
        """A connection that is lost fails all its calls, which may have been carried out."""
        _, asked = self.ask()
        self.connection.connectionLost(Failure(ConnectionDone()))
        [error] = asked.ends
        assert error is not None
        self.assertEqual((error.code, error.sent, len(self.gone)), (UNAVAILABLE, True, 1))
        self.failureResultOf(self.connection.secured)

    def test_cancelled(self) -> None:
        """A cancelled call receives nothing more."""
        number, asked = self.ask(ends=False)
        self.sent()
        self.connection.cancel(number)
        self.assertEqual([kind for kind, *_ in self.sent()], [FrameKind.RST_STREAM])
        self.receive(answer(number, b"x"))
        self.connection.send(number, b"more")
        self.assertEqual((asked.messages, asked.ends, self.sent()), ([], [], []))
