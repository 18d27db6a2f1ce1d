"""Frames out of bytes: what comes in pieces, and what cannot be a frame."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
from twisted.trial.unittest import SynchronousTestCase

from orchtw.serving.http2.limits import FIELDS_BYTES, FRAME_BYTES
from orchtw.serving.http2.problems import ConnectionProblem
from orchtw.serving.http2.reader import Frame, FrameReader
from orchtw.wire.http2_frames import PREFACE, Code, Flag, FrameKind, head
from tests.properties import examples


def frame(kind: int, flags: int, stream: int, content: bytes = b"") -> bytes:
    return head(len(content), kind, flags, stream) + content


def read(data: bytes) -> list[Frame]:
    """All frames in these bytes, after a preface."""
    reader = FrameReader()
    reader.feed(PREFACE + data)
    return list(iter(reader.take, None))


SENT = b"".join((
    frame(FrameKind.SETTINGS, 0, 0, bytes(6)),
    frame(FrameKind.HEADERS, 0, 1, b"ab"),
    frame(FrameKind.CONTINUATION, 0, 1),
    frame(FrameKind.CONTINUATION, Flag.END_HEADERS, 1, b"cd"),
    frame(FrameKind.DATA, Flag.PADDED | Flag.END_STREAM, 1, b"\x02xyz\0\0"),
    frame(FrameKind.HEADERS, Flag.PADDED | Flag.PRIORITY | Flag.END_HEADERS, 3, b"\x01\0\0\0\0\x10ef\0"),
    frame(0x77, 0, 9, b"?"),
))
FRAMES: list[Frame] = [
    (FrameKind.SETTINGS, 0, 0, bytes(6), 0),
    (FrameKind.HEADERS, 0, 1, b"abcd", 0),
    (FrameKind.DATA, Flag.PADDED | Flag.END_STREAM, 1, b"xyz", 6),
    (FrameKind.HEADERS, Flag.PADDED | Flag.PRIORITY | Flag.END_HEADERS, 3, b"ef", 0),
    (0x77, 0, 9, b"?", 0),
]


class ReadingTests(SynchronousTestCase):
    def test_frames(self) -> None:
        """Padding is taken off and counts in windows; the frames of one list of fields are joined."""
        self.assertEqual(read(SENT), FRAMES)

    @examples(40)
    @given(st.lists(st.integers(1, len(PREFACE + SENT) - 1), max_size=12))
    def test_split_anywhere(self, cuts: list[int]) -> None:
        """However the bytes come, the frames are the same."""
        data, reader, found = PREFACE + SENT, FrameReader(), []
        places = [0, *sorted(cuts), len(data)]
        for begin, end in zip(places, places[1:], strict=False):
            if end > begin:
                reader.feed(data[begin:end])
                found += list(iter(reader.take, None))
        self.assertEqual(found, FRAMES)
        self.assertEqual((reader.waits, reader.held_bytes), (False, 0))

    def test_what_waits(self) -> None:
        """The reader knows of incomplete frames and of held bytes."""
        reader = FrameReader()
        self.assertTrue(reader.waits)
        reader.feed(PREFACE + frame(FrameKind.HEADERS, 0, 1, b"abc") + b"\0\0")
        self.assertIsNone(reader.take())
        self.assertEqual((reader.waits, reader.held_bytes), (True, 5))
        reader.close()
        self.assertEqual(reader.held_bytes, 0)


class WrongTests(SynchronousTestCase):
    def test_codes(self) -> None:
        """Invalid and misplaced frames end the connection (RFC 9113 §4.2, §6)."""
        padded = Flag.PADDED
        table = {
            "too large": (head(FRAME_BYTES + 1, FrameKind.DATA, 0, 1), Code.FRAME_SIZE_ERROR),
            "ping": (frame(FrameKind.PING, 0, 0, bytes(7)), Code.FRAME_SIZE_ERROR),
            "window": (frame(FrameKind.WINDOW_UPDATE, 0, 1, bytes(5)), Code.FRAME_SIZE_ERROR),
            "reset": (frame(FrameKind.RST_STREAM, 0, 1, bytes(3)), Code.FRAME_SIZE_ERROR),
            "priority": (frame(FrameKind.PRIORITY, 0, 1, bytes(4)), Code.FRAME_SIZE_ERROR),
            "settings": (frame(FrameKind.SETTINGS, 0, 0, bytes(5)), Code.FRAME_SIZE_ERROR),
            "settings acknowledged": (frame(FrameKind.SETTINGS, Flag.ACK, 0, bytes(6)), Code.FRAME_SIZE_ERROR),
            "data of none": (frame(FrameKind.DATA, 0, 0, b"a"), Code.PROTOCOL_ERROR),
            "fields of none": (frame(FrameKind.HEADERS, 4, 0, b"a"), Code.PROTOCOL_ERROR),
            "reset of none": (frame(FrameKind.RST_STREAM, 0, 0, bytes(4)), Code.PROTOCOL_ERROR),
            "settings of a stream": (frame(FrameKind.SETTINGS, 0, 1), Code.PROTOCOL_ERROR),
            "ping of a stream": (frame(FrameKind.PING, 0, 1, bytes(8)), Code.PROTOCOL_ERROR),
            "push": (frame(FrameKind.PUSH_PROMISE, 4, 1, bytes(9)), Code.PROTOCOL_ERROR),
            "padding": (frame(FrameKind.DATA, padded, 1, b"\x03ab"), Code.PROTOCOL_ERROR),
            "no padding": (frame(FrameKind.DATA, padded, 1), Code.PROTOCOL_ERROR),
            "padded priority": (
                frame(FrameKind.HEADERS, padded | Flag.PRIORITY | 4, 1, bytes(5)),
                Code.PROTOCOL_ERROR,
            ),
            "no fields": (frame(FrameKind.CONTINUATION, 4, 1, b"a"), Code.PROTOCOL_ERROR),
            "interrupted": (
                frame(FrameKind.HEADERS, 0, 1) + frame(FrameKind.PING, 0, 0, bytes(8)),
                Code.PROTOCOL_ERROR,
            ),
            "of another": (frame(FrameKind.HEADERS, 0, 1) + frame(FrameKind.CONTINUATION, 4, 3), Code.PROTOCOL_ERROR),
            "twice": (frame(FrameKind.HEADERS, 0, 1) + frame(FrameKind.HEADERS, 4, 1), Code.PROTOCOL_ERROR),
        }
        for name, (data, code) in table.items():
            problem = self.assertRaises(ConnectionProblem, read, data)
            self.assertEqual(problem.code, code, name)

    def test_preface(self) -> None:
        """Another protocol is noticed at its first wrong byte."""
        reader = FrameReader()
        reader.feed(b"GE")
        self.assertEqual(self.assertRaises(ConnectionProblem, reader.take).code, Code.PROTOCOL_ERROR)

    def test_continued_for_ever(self) -> None:
        """Fields come in few frames, and are not too many (reference LIMIT-22)."""
        empty = frame(FrameKind.HEADERS, 0, 1) + frame(FrameKind.CONTINUATION, 0, 1) * 64
        full = frame(FrameKind.CONTINUATION, 0, 1, bytes(FRAME_BYTES))
        large = frame(FrameKind.HEADERS, 0, 1) + full * (FIELDS_BYTES // FRAME_BYTES + 1)
        for data in (empty, large):
            self.assertEqual(self.assertRaises(ConnectionProblem, read, data).code, Code.ENHANCE_YOUR_CALM)
