"""JSON texts that would hold other threads up are read another way, to the same values."""

from __future__ import annotations

import json

import orjson
from hypothesis import given
from hypothesis import strategies as st
from twisted.trial.unittest import SynchronousTestCase

from orchtw.schema.codec import json_text
from orchtw.schema.codec.json_text import (
    MAX_CONTAINERS,
    MAX_ELEMENTS,
    MAX_KEYS,
    check_parts,
    load_json,
    parse_json,
    parse_pairs,
)
from tests.effort import MOST, growth
from tests.properties import examples

_SCALARS = st.none() | st.booleans() | st.integers(-(2**70), 2**70) | st.floats(allow_nan=False) | st.text()
_VALUES = st.recursive(_SCALARS, lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner), max_leaves=12)
_ODD = (
    b"", b" ", b"-0", b"-0.0", b"01", b"1e999", b"-1e999", b"1" * 400, b"18446744073709551616",
    b"-9223372036854775809",
    b"9223372036854775808", b"123456789012345678", b"1E5", b"NaN", b"Infinity", b"-Infinity", b"[1,]", b'{"a":1,}',
    b'"\x01"',
    b'"\\ud800"', b'"\\uD83D\\ude00"', b'{"\\udc00":1}', b"\xff", b"\xef\xbb\xbf1", b'{"a":1,"b":2,"a":3}', b"1 2",
    "[1\u0663]".encode(), b"[tru]", b"[" * 5000,
)  # fmt: skip


def outcome(read: object, text: bytes) -> str:
    """The value with its types, or that there is none."""
    try:
        return repr(read(text))  # type: ignore[operator]
    except ValueError:
        return "refused"


class SameValueTests(SynchronousTestCase):
    def setUp(self) -> None:
        self.patch(json_text, "SMALL_BYTES", 0)
        self.patch(json_text, "DENSE_PARTS", -1)

    @examples(150)
    @given(_VALUES)
    def test_values(self, value: object) -> None:
        """Whatever JSON can say is read alike both ways (reference ENC-10)."""
        text = json.dumps(value).encode()
        self.assertEqual(outcome(load_json, text), outcome(orjson.loads, text))

    def test_odd_texts(self) -> None:
        """Texts at the edge of JSON, too: the same values, and the same refused."""
        for text in _ODD:
            self.assertEqual(outcome(load_json, text), outcome(orjson.loads, text), text[:40])

    def test_pairs(self) -> None:
        """Repeated members are handed on both ways."""
        text = b'{"a":1,"b":{"c":[{}],"c":2},"a":null}'
        sliced = parse_pairs(text, tuple)
        self.patch(json_text, "SMALL_BYTES", 1 << 20)
        self.assertEqual(sliced, parse_pairs(text, tuple))


class LimitTests(SynchronousTestCase):
    def test_parts(self) -> None:
        """As many as are allowed pass, one more does not, in either way of reading (reference LIMIT-7)."""
        long_key = "k" * 1000  # long enough to be looked at, sparse enough for the quick way
        for text, fits in (
            (b"[" + b"[]," * (MAX_CONTAINERS - 2) + b"[]]", True),
            (b"[" + b"[]," * (MAX_CONTAINERS - 1) + b"[]]", False),
            (b"[" + b"1," * (MAX_ELEMENTS - 1) + b"1]", True),
            (b"[" + b"1," * MAX_ELEMENTS + b"1]", False),
            (orjson.dumps({f"{number}": 1 for number in range(MAX_KEYS)}), True),
            (orjson.dumps({f"{number}": 1 for number in range(MAX_KEYS + 1)}), False),
            (orjson.dumps({f"{number}": 1 for number in range(2 * MAX_KEYS)}), False),
            (orjson.dumps({long_key: "{[,:" * 500_000}), True),
        ):
            self.assertEqual(outcome(parse_json, text) != "refused", fits, (text[:40], len(text)))

    def test_stored_objects_are_always_read(self) -> None:
        """The limits are for what clients send: what is in the store comes out."""
        self.assertEqual(len(load_json(b"[" + b"[]," * MAX_CONTAINERS + b"[]]")), MAX_CONTAINERS + 1)

    def test_effort(self) -> None:
        """Both the reading and the counting grow as the text does."""
        self.patch(json_text, "SMALL_BYTES", 0)
        self.patch(json_text, "DENSE_PARTS", -1)
        self.assertLess(growth(lambda size: load_json(b"[" + b'{"a":1},' * size + b"1]"), 1000), MOST)
        self.assertLess(growth(lambda size: check_parts([[0]] * size), 1000), MOST)
