"""Packed fields: what a library packs is unpacked, and what cannot be unpacked, or is too much, is noticed."""
# covers: orchtw.serving.http2.answer_fields

from __future__ import annotations

from hpack import Decoder, Encoder
from hypothesis import given
from hypothesis import strategies as st
from twisted.trial.unittest import SynchronousTestCase

from orchtw.serving.http2.answer_fields import AnswerFields
from orchtw.serving.http2.field_decoder import TABLE_BYTES, FieldDecoder
from orchtw.serving.http2.limits import FIELDS_BYTES
from orchtw.serving.http2.problems import ConnectionProblem, FieldsTooLarge
from orchtw.wire.http2_frames import Code, text
from tests.properties import examples

NAMES = st.sampled_from([":path", ":method", "accept", "x-a", "x-bc", "cookie", "authorization", "n" * 300])
VALUES = st.text("abc /%=-0\xe9\xff", max_size=40) | st.just("v" * 2000) | st.sampled_from(["GET", "/", "gzip"])
LISTS = st.lists(st.tuples(NAMES, VALUES.map(str.strip), st.booleans()), max_size=8)


def pairs(decoder: FieldDecoder, block: bytes) -> list[tuple[str, str]]:
    return [(name, value) for name, value, sound in decoder.decode(block) if sound]


class DecodingTests(SynchronousTestCase):
    @examples(20)
    @given(st.lists(LISTS, max_size=5), st.booleans(), st.lists(st.sampled_from([0, 100, 1000, 4096]), max_size=8))
    def test_as_packed(self, lists: list[list[tuple[str, str, bool]]], packed: bool, rooms: list[int]) -> None:
        """Fields that one side encodes the other decodes, with tables of any size."""
        encoder, decoder = Encoder(), FieldDecoder(1000)
        for number, fields in enumerate(lists):
            if number < len(rooms):
                encoder.header_table_size = rooms[number]
            sent = [(name.encode("latin-1"), value.encode("latin-1"), secret) for name, value, secret in fields]
            block = encoder.encode(sent, huffman=packed)
            self.assertEqual(pairs(decoder, block), [(name, value) for name, value, _ in fields])
            self.assertEqual(decoder.size, sum(len(name) + len(value) + 32 for name, value, _ in fields))

    def test_unsound(self) -> None:
        """Capitals, line breaks, invalid names and outer blanks of what a request is for are recognised."""
        decoder = FieldDecoder(1000)
        for name, value in (
            (b"Accept", b"a"), (b"X-Own", b"a"), (b"x y", b"a"), (b"", b"a"), (b"x:y", b"a"), (b"\xe9", b"a"),
            (b"x", b"a\nb"), (b"x", b"a\r"), (b"x", b"\0"), (b":path", b" a"), (b":path", b"a\t"),
        ):
            block = b"\x00" + text(name) + text(value)
            self.assertEqual([sound for _, _, sound in decoder.decode(block)], [False], (name, value))

    def test_outer_blanks(self) -> None:
        """Blanks around a value are dropped, as the release takes them: Go's client sends what it was given."""
        decoder = FieldDecoder(1000)
        for value in (b" a", b"a\t", b"\t a "):
            self.assertEqual(decoder.decode(b"\x00" + text(b"x") + text(value)), [("x", "a", True)], value)

    def test_cannot_be(self) -> None:
        """Invalid encodings end the connection with COMPRESSION_ERROR (RFC 7541)."""
        for block in (
            b"\x80", b"\xbe", b"\xff\x80\x80\x80\x80\x80\x01", b"\xff", b"\x40", b"\x00\x01", b"\x00\x05ab",
            b"\x00\x01a\x81\xff\xff", b"\x3f\xe2\x1f", b"\x82\x20", b"\x7f\x00\x00", b"\x00\x01a\x84\xff\xff\xff\xff",
        ):
            problem = self.assertRaises(ConnectionProblem, FieldDecoder(1000).decode, block)
            self.assertEqual(problem.code, Code.COMPRESSION_ERROR, block)

    @examples(40)
    @given(st.binary(max_size=200))
    def test_any_bytes(self, block: bytes) -> None:
        """Whatever comes is a list of fields or one of the two problems."""
        try:
            FieldDecoder(1000).decode(block)
        except (ConnectionProblem, FieldsTooLarge):
            pass


class TooMuchTests(SynchronousTestCase):
    """Lists that are over the limits (reference LIMIT-21)."""

    def test_bomb(self) -> None:
        """A large field that is named again and again is counted each time."""
        value = b"v" * (TABLE_BYTES - 100)
        decoder = FieldDecoder(1000)
        decoder.decode(b"\x40" + text(b"x") + text(value))
        times = FIELDS_BYTES // (len(value) + 33)
        self.assertEqual(len(decoder.decode(b"\xbe" * times)), times)
        self.assertRaises(FieldsTooLarge, decoder.decode, b"\xbe" * (times + 1))

    def test_lines(self) -> None:
        """Lines are counted, however short they are."""
        self.assertEqual(len(FieldDecoder(10).decode(b"\x82" * 10)), 10)
        self.assertRaises(FieldsTooLarge, FieldDecoder(10).decode, b"\x82" * 11)

    def test_name(self) -> None:
        """A name is bounded as over HTTP/1.1."""
        self.assertRaises(FieldsTooLarge, FieldDecoder(10).decode, b"\x00" + text(b"n" * 1025) + text(b""))


class AnswerTests(SynchronousTestCase):
    def test_packed(self) -> None:
        """The head of an answer is unpacked by others as it was meant, in lower case, without HTTP/1's framing."""
        fields, date = AnswerFields(), "Date: Sun, 06 Nov 1994 08:49:37 GMT\r\n"
        http1 = [("Connection", "close"), ("Transfer-Encoding", "chunked")]
        headers = [("Audit-Id", "x" * 200), *http1, ("Vary", "Accept")]
        for code in (200, 201, 404, 409, 504):
            block = fields.pack(code, "application/json", headers, date, 7)
            self.assertEqual(Decoder().decode(block), [
                (":status", str(code)), ("date", "Sun, 06 Nov 1994 08:49:37 GMT"), ("content-length", "7"),
                ("content-type", "application/json"), ("audit-id", "x" * 200), ("vary", "Accept"),
            ])

    def test_line_break(self) -> None:
        """A header with a line break is the server's own mistake."""
        for value in ("a\nb", "a\r", "\0"):
            self.assertRaises(ValueError, AnswerFields().pack, 200, "", [("A", value)], "Date: x\r\n", None)
