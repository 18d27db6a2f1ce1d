"""Clients that break the protocol, or make too much of it."""
# covers: orchtw.serving.http2.request_fields

from __future__ import annotations

from hpack import Encoder
from hypothesis import given
from hypothesis import strategies as st
from twisted.trial.unittest import SynchronousTestCase

from orchtw.request import Response
from orchtw.serving.http2.limits import FIELDS_BYTES, NOISE, NOISE_OF_SETTINGS
from orchtw.wire import http2_frames as frames
from orchtw.wire.http2_frames import Code, Flag, FrameKind, Setting
from tests.properties import examples
from tests.serving.edge_doubles import RecordedStream, Waiting, answering
from tests.serving.http2.doubles import FIELDS, Wire, fields
from tests.serving.http2.test_reader import frame

GET = b"\x82\x87\x84\x41\x01a"
POST = b"\x83\x87\x84\x41\x01a"
MORE = 1 << 30


def packed(wanted: list[tuple[str, str]]) -> bytes:
    return Encoder().encode(wanted, huffman=False)


def headers(stream: int, block: bytes = GET, flags: int = Flag.END_HEADERS | Flag.END_STREAM) -> bytes:
    return frame(FrameKind.HEADERS, flags, stream, block)


class ConnectionTests(SynchronousTestCase):
    """Connection errors: all streams end, and the client is told (RFC 9113 §5.4.1)."""

    def code(self, data: bytes, wire: Wire | None = None) -> int | None:
        """Return the error code that ended the connection, or None."""
        wire = wire or Wire()
        wire.channel.dataReceived(data)
        wire.hear()
        self.assertEqual(wire.closed, wire.gone is not None)
        return wire.gone.error_code if wire.gone is not None else None

    def test_codes(self) -> None:
        """Each mistake has its code."""
        largest = frames.settings([(Setting.INITIAL_WINDOW_SIZE, 1 << 31)])
        table = {
            "fields": (headers(1, b"\xbf"), Code.COMPRESSION_ERROR),
            "server's stream": (headers(2), Code.PROTOCOL_ERROR),
            "data of idle": (frame(FrameKind.DATA, 0, 5, b"x"), Code.PROTOCOL_ERROR),
            "reset of idle": (frames.reset(5), Code.PROTOCOL_ERROR),
            "window of idle": (frames.window_update(5, 1000), Code.PROTOCOL_ERROR),
            "window by nothing": (frames.window_update(0, 0), Code.PROTOCOL_ERROR),
            "window too large": (frames.window_update(0, (1 << 31) - 1), Code.FLOW_CONTROL_ERROR),
            "first window": (largest, Code.FLOW_CONTROL_ERROR),
            "push": (frames.settings([(Setting.ENABLE_PUSH, 2)]), Code.PROTOCOL_ERROR),
            "push that is taken back": (
                frames.settings([(Setting.ENABLE_PUSH, 2), (Setting.ENABLE_PUSH, 0)]),
                Code.PROTOCOL_ERROR,
            ),
            "window that is taken back": (
                frames.settings([(Setting.INITIAL_WINDOW_SIZE, 1 << 31), (Setting.INITIAL_WINDOW_SIZE, 9)]),
                Code.FLOW_CONTROL_ERROR,
            ),
            "small frames": (frames.settings([(Setting.MAX_FRAME_SIZE, 16383)]), Code.PROTOCOL_ERROR),
            "large frames": (frames.settings([(Setting.MAX_FRAME_SIZE, 1 << 24)]), Code.PROTOCOL_ERROR),
            "frame": (frames.head(16385, 0, 0, 1), Code.FRAME_SIZE_ERROR),
        }
        for name, (data, code) in table.items():
            self.assertEqual(self.code(data), code, name)

    def test_first_settings(self) -> None:
        """The first frame must be SETTINGS."""
        for first in (
            headers(1),
            frame(FrameKind.PING, 0, 0, bytes(8)),
            frames.window_update(0, 9),
            frame(9 + 90, 0, 0),
        ):
            self.assertEqual(self.code(frames.PREFACE + first, Wire(begun=False)), Code.PROTOCOL_ERROR)
        self.assertEqual(self.code(b"GET / HTTP/1.1\r\n\r\n", Wire(begun=False)), Code.PROTOCOL_ERROR)

    def test_streams_are_told(self) -> None:
        """Running requests end, and nothing more is read."""
        app, stream = Waiting(), RecordedStream()
        wire = Wire(app)
        wire.ask()
        wire.ask()
        app.waits[0].callback(Response(stream=stream))
        self.assertEqual(self.code(frames.window_update(0, 0) + headers(5), wire), Code.PROTOCOL_ERROR)
        wire.send(headers(7))
        self.assertEqual((stream.lost, len(app.waits), app.ended), (1, 2, ["/one", "cancelled", "/one"]))
        self.assertEqual(wire.edge.in_flight, 0)

    def test_unknown(self) -> None:
        """Frames, settings and flags that nobody knows are passed over."""
        wire = Wire()
        self.assertIsNone(self.code(frame(0x55, 0xFF, 7, b"?") + frames.settings([(0x99, 5)]), wire))
        self.assertIsNone(self.code(frame(FrameKind.PRIORITY, 0, 9, bytes(5)), wire))
        self.assertEqual(wire.get().code, 200)

    def test_smaller_table(self) -> None:
        """A client that makes its table smaller can read what comes after (RFC 7541 §4.2)."""
        wire = Wire()
        wire.client.update_settings({Setting.HEADER_TABLE_SIZE: 0})
        wire.exchange()
        self.assertEqual([wire.get().code, wire.get().code], [200, 200])

    @examples(40)
    @given(st.lists(st.one_of(
        st.binary(max_size=40),
        st.builds(frame, st.integers(0, 12), st.integers(0, 255), st.integers(0, 9), st.binary(max_size=30)),
        st.sampled_from([GET, headers(1), headers(3, POST, Flag.END_HEADERS), frames.window_update(3, 9)]),
    ), max_size=12))
    def test_anything(self, pieces: list[bytes]) -> None:
        """Whatever comes, the connection goes on, waits for more, or ends; when the client leaves nothing is left."""
        wire = Wire()
        for piece in pieces:
            wire.send(piece)
        wire.leave()
        self.assertEqual((wire.edge.in_flight, wire.edge.channels, wire.channel.stuck), (0, set(), {}))


class RequestTests(SynchronousTestCase):
    """Stream errors, which end nothing else (RFC 9113 §8.1.1)."""

    def test_malformed(self) -> None:
        """A malformed head reaches no handler: its stream is reset (reference LIMIT-14)."""
        plain = list(FIELDS)
        table = {
            "capitals": [*plain, ("Accept", "x")],
            "pseudo after others": [plain[0], ("accept", "x"), *plain[1:]],
            "pseudo twice": [*plain, (":path", "/two")],
            "pseudo of answers": [*plain, (":status", "200")],
            "unknown pseudo": [*plain, (":protocol", "websocket")],
            "no method": plain[1:],
            "no scheme": [plain[0], *plain[2:]],
            "no path": plain[:3],
            "empty path": [*plain[:3], (":path", "")],
            "connection": [*plain, ("connection", "close")],
            "coding": [*plain, ("transfer-encoding", "chunked")],
            "upgrade": [*plain, ("upgrade", "h2c")],
            "te": [*plain, ("te", "gzip")],
            "two lengths": [*plain, ("content-length", "0"), ("content-length", "0")],
            "no length": [*plain, ("content-length", "+1")],
            "a body that is missing": [*plain, ("content-length", "1")],
            "two hosts": [*plain, ("host", "a"), ("host", "b")],
            "line break": [*plain, ("x-a", "b\r\nc")],
        }
        wire = Wire()
        for name, wanted in table.items():
            number, wire.next = wire.next, wire.next + 2
            answer = wire.send(headers(number, packed(wanted)))
            self.assertEqual(answer, frames.reset(number, Code.PROTOCOL_ERROR), name)
        self.assertEqual((wire.seen, wire.gone), ([], None))

    def test_refused(self) -> None:
        """Well-formed but unsupported requests are answered."""
        table = {
            405: [("BREW", "/"), ("CONNECT", "/")],
            400: [("get", "/"), ("G T", "/"), ("GET", "a"), ("GET", "*"), ("GET", "/\x7f"), ("GET", "/\xe9"),
                  ("GET", "/?" + "&" * 1000)],
            414: [("GET", "/" * 16_385 + "?" * 2)],
        }
        wire = Wire()
        for code, requests in table.items():
            for method, path in requests:
                self.assertEqual(wire.answers[wire.ask(fields(path, method))].code, code, (method, path))
        self.assertEqual((wire.seen, wire.edge.in_flight), ([], 0))

    def test_connect(self) -> None:
        """CONNECT has neither scheme nor path, and is refused."""
        wire = Wire()
        number = wire.ask([(":method", "CONNECT"), (":authority", "a:1")], ended=False)
        self.assertEqual((wire.answers[number].code, wire.seen), (405, []))

    def test_lengths(self) -> None:
        """A body is as long as it was announced."""
        for sent in (b"abc", b"abcde"):
            wire = Wire()
            wire.send(headers(1, POST + packed([("content-length", "4")]), Flag.END_HEADERS))
            self.assertEqual(
                wire.send(frame(FrameKind.DATA, Flag.END_STREAM, 1, sent)), frames.reset(1, Code.PROTOCOL_ERROR)
            )
            self.assertEqual((wire.seen, wire.edge.in_flight), ([], 0))

    def test_after_the_end(self) -> None:
        """Data and fields behind the end, of a stream that runs and of one that is over."""
        wire = Wire(Waiting())
        wire.send(headers(1))
        self.assertEqual(wire.send(frame(FrameKind.DATA, 0, 1, b"x")), frames.reset(1, Code.STREAM_CLOSED))
        self.assertEqual(wire.send(frame(FrameKind.DATA, 0, 1, b"x")), frames.reset(1, Code.STREAM_CLOSED))
        self.assertEqual(wire.send(headers(1)), b"")
        wire.send(headers(3))
        self.assertEqual(wire.send(headers(3)), frames.reset(3, Code.STREAM_CLOSED))
        self.assertIsNone(wire.gone)

    def test_trailers(self) -> None:
        """Trailers end the request, and have no pseudo-fields."""
        for block, flags in ((b"\x00\x01a\x01b", Flag.END_HEADERS), (GET, Flag.END_HEADERS | Flag.END_STREAM)):
            wire = Wire()
            wire.send(headers(1, POST, Flag.END_HEADERS))
            self.assertEqual(wire.send(headers(1, block, flags)), frames.reset(1, Code.PROTOCOL_ERROR))
            self.assertEqual(wire.seen, [])

    def test_windows(self) -> None:
        """A stream's window is opened by something, and not too far."""
        for more, code in ((0, Code.PROTOCOL_ERROR), ((1 << 31) - 1, Code.FLOW_CONTROL_ERROR)):
            wire = Wire(Waiting())
            wire.ask()
            self.assertEqual(wire.send(frames.window_update(1, more)), frames.reset(1, code))
            self.assertEqual(wire.edge.in_flight, 0)

    def test_too_many_fields(self) -> None:
        """Fields that are over the limit are answered with 431; what runs goes on, and no more is taken
        (reference LIMIT-21).
        """
        app = Waiting()
        wire = Wire(app)
        wire.ask()
        bomb = b"\x40\x01x" + frames.text(b"v" * 4000)
        said = wire.send(headers(3, GET + bomb + b"\xbe" * (FIELDS_BYTES // 4000)))
        self.assertIn(b"request header is too large", said)
        self.assertIn(frames.go_away(3, Code.NO_ERROR), said)
        wire.client.send_headers(5, fields(), end_stream=True)
        wire.exchange()
        self.assertEqual(len(app.waits), 1)
        app.waits[0].callback(Response(body=b"ok"))
        wire.exchange()
        self.assertEqual((wire.answers[1].body, wire.closed), (b"ok", True))

    def test_too_large_at_once(self) -> None:
        """The answer says why."""
        wire = Wire()
        wire.client.send_headers(1, fields("/", "GET", *((f"x-{n}", "") for n in range(1001))), end_stream=True)
        wire.exchange()
        self.assertEqual((wire.answers[1].code, wire.closed), (431, True))


class FloodTests(SynchronousTestCase):
    """Frames that bring nothing are bounded (reference LIMIT-22)."""

    def flooded(self, piece: bytes, wire: Wire | None = None, count: int = NOISE + 2) -> bool:
        """Report whether the connection ends with ENHANCE_YOUR_CALM."""
        wire = wire or Wire()
        wire.channel.dataReceived(piece * count)
        for _ in range(100):
            wire.hear()
        return wire.gone is not None and wire.gone.error_code == Code.ENHANCE_YOUR_CALM and wire.closed

    def test_floods(self) -> None:
        """Of pings, settings, priorities, unknown frames, windows that open by nearly nothing."""
        for piece in (
            frame(FrameKind.PING, 0, 0, bytes(8)),
            frame(FrameKind.SETTINGS, 0, 0),
            frame(FrameKind.PRIORITY, 0, 1, bytes(5)),
            frame(0x42, 0, 0),
            frames.window_update(0, 1),
        ):
            self.assertTrue(self.flooded(piece), piece)
        self.assertFalse(self.flooded(frame(FrameKind.PING, 0, 0, bytes(8)), count=NOISE - 50))
        self.assertTrue(self.flooded(frame(FrameKind.SETTINGS, 0, 0), count=NOISE // NOISE_OF_SETTINGS + 1))

    def test_empty_data(self) -> None:
        """Of data without content, open stream or not."""
        wire = Wire()
        wire.ask(fields("/", "POST"), ended=False)
        self.assertTrue(self.flooded(frame(FrameKind.DATA, 0, 1), wire))
        self.assertEqual(wire.edge.in_flight, 0)

    def test_rapid_reset(self) -> None:
        """Of requests that are given up as soon as they have begun."""
        app = Waiting()
        wire = Wire(app)
        for number in range(1, 2 * NOISE + 100, 2):
            wire.channel.dataReceived(headers(number) + frames.reset(number))
            wire.hear()
        assert wire.gone is not None
        self.assertEqual((wire.gone.error_code, wire.edge.in_flight), (Code.ENHANCE_YOUR_CALM, 0))
        self.assertLessEqual(len(app.waits), NOISE)

    def test_refused_requests(self) -> None:
        """Of requests beyond those that are agreed upon, and of malformed ones."""
        for block in (GET, GET + b"\x00\x01A\x01b"):
            wire = Wire(Waiting(), streams=1)
            wire.send(headers(1))
            said = [wire.send(headers(number, block)) for number in range(3, 2 * NOISE + 100, 2)]
            self.assertIn(b"frames without effect", b"".join(said))
            self.assertTrue(wire.closed)

    def test_patience(self) -> None:
        """A client that pings for hours is not refused."""
        wire = Wire()
        for _ in range(NOISE // 50):
            for _ in range(100):
                wire.send(frame(FrameKind.PING, 0, 0, bytes(8)))
            wire.pass_time(1)
        self.assertIsNone(wire.gone)

    def test_continued(self) -> None:
        """Of fields that never end."""
        endless = frame(FrameKind.HEADERS, 0, 1, GET) + frame(FrameKind.CONTINUATION, 0, 1) * 70
        self.assertTrue(self.flooded(endless, count=1))

    def test_ping(self) -> None:
        """A ping is answered with what it said, an answer with nothing."""
        wire = Wire()
        wire.client.ping(b"12345678")
        wire.exchange()
        self.assertEqual(wire.pongs, [b"12345678"])
        self.assertEqual(wire.send(frame(FrameKind.PING, Flag.ACK, 0, bytes(8))), b"")

    def test_answers_that_are_refused(self) -> None:
        """A client whose windows stay closed is given answers' heads, and the memory of no more."""
        responses = [Response(parts=iter([b"x" * 100_000] * 100)) for _ in range(50)]
        wire = Wire(answering(*responses), settings={Setting.INITIAL_WINDOW_SIZE: 0}, frugal=True)
        for _ in responses:
            wire.ask()
        self.assertEqual(len(wire.channel.stuck), 50)
        self.assertEqual((sum(outlet.unsent for outlet in wire.channel.stuck), wire.edge.budget.used_bytes), (0, 0))
