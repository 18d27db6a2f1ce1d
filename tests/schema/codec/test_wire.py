"""Protobuf's wire format: varints, tags and fields, well-formed or not."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
from twisted.trial.unittest import SynchronousTestCase

from orchtw.schema.codec import wire
from orchtw.schema.codec.mismatch import SchemaError
from orchtw.schema.codec.wire import (
    FIXED32,
    FIXED64,
    LENGTH,
    VARINT,
    delimited,
    fields_of,
    read_int32,
    read_int64,
    read_varint,
    short_fields,
    tag,
    varint,
)
from tests.properties import examples

_INT64 = st.integers(-(2**63), 2**63 - 1)


class VarintTests(SynchronousTestCase):
    def test_examples(self) -> None:
        """Seven bits a byte, the least first; negative numbers take ten bytes (the wire format's own examples)."""
        for number, expected in (
            (0, b"\x00"), (1, b"\x01"), (127, b"\x7f"), (128, b"\x80\x01"), (150, b"\x96\x01"),
            (-1, b"\xff" * 9 + b"\x01"), (-2, b"\xfe" + b"\xff" * 8 + b"\x01"),
        ):  # fmt: skip
            self.assertEqual(varint(number), expected)

    @examples(200)
    @given(_INT64, st.binary(max_size=3))
    def test_there_and_back(self, number: int, before: bytes) -> None:
        """A number is read as it was written, from any place, and the place after it is known."""
        data = before + varint(number) + b"\x01"
        self.assertEqual(read_int64(data, len(before)), (number, len(data) - 1))
        self.assertEqual(read_varint(data, len(before)), (number % 2**64, len(data) - 1))

    @examples(200)
    @given(_INT64)
    def test_cut_to_32_bits(self, number: int) -> None:
        """A field of 32 bits takes the lower half, as every reader does."""
        low = number % 2**32
        self.assertEqual(read_int32(varint(number), 0)[0], low - 2**32 if low >= 2**31 else low)

    def test_too_long(self) -> None:
        """More than 64 bits are not a number; neither are bytes that end too soon."""
        self.assertRaises(SchemaError, read_varint, b"\xff" * 10 + b"\x01", 0)
        self.assertEqual(read_varint(b"\xff" * 9 + b"\x7f", 0)[0], 2**64 - 1)
        for data in (b"", b"\x80", b"\xff" * 9):
            self.assertRaises(IndexError, read_varint, data, 0)

    def test_short_fields(self) -> None:
        """The short fields are what writing each by itself gives."""
        known = short_fields(tag(3, LENGTH))
        self.assertEqual(known, tuple(tag(3, LENGTH) + varint(number) for number in range(128)))


class FieldsTests(SynchronousTestCase):
    DATA = (
        tag(1, VARINT) + varint(300)
        + delimited(2, b"text")
        + tag(3, FIXED64) + b"12345678"
        + tag(4, FIXED32) + b"1234"
        + delimited(200, b"")
    )  # fmt: skip

    def test_fields(self) -> None:
        """Numbers and texts are found in their order; what is of a fixed width is passed over."""
        self.assertEqual(fields_of(self.DATA), [(1, 300), (2, b"text"), (200, b"")])
        self.assertEqual(fields_of(b""), [])

    def test_skip(self) -> None:
        """Any unknown field is passed over, whatever its type."""
        position, ends = 0, []
        while position < len(self.DATA):
            position = wire.skip(self.DATA, position, len(self.DATA), ())
            ends.append(position)
        self.assertEqual(ends, [3, 9, 18, 23, len(self.DATA)])

    def test_truncated(self) -> None:
        """A message that is cut off anywhere is refused, or is one with fewer fields."""
        whole = [3, 9, 18, 23]
        for end in range(1, len(self.DATA)):
            if end not in whole:
                self.assertRaises((SchemaError, IndexError), fields_of, self.DATA[:end])

    def test_wrong_types(self) -> None:
        """Groups, types that are not used, field 0 and a known field with another's type are refused."""
        for data in (tag(5, 3), tag(5, 4), tag(5, 6), tag(5, 7), tag(0, VARINT) + b"\x01"):
            self.assertRaises(SchemaError, wire.skip, data, 0, len(data), ())
        data = tag(5, VARINT) + b"\x01"
        self.assertEqual(wire.skip(data, 0, len(data), {6}), len(data))
        self.assertRaises(SchemaError, wire.skip, data, 0, len(data), {5})

    @examples(200)
    @given(st.binary(max_size=40))
    def test_any_bytes(self, data: bytes) -> None:
        """Whatever comes is read or refused, and never anything else."""
        try:
            fields = fields_of(data)
        except (ValueError, IndexError):
            return
        for number, value in fields:
            self.assertGreaterEqual(number, 0)
            self.assertIsInstance(value, int | bytes)
