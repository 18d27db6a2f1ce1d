"""Parser of shard selectors (reference READ-29)."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
from twisted.trial.unittest import SynchronousTestCase

from orchtw.errors import BadRequest
from orchtw.naming.naming import Naming
from orchtw.rules.list_options import list_options
from orchtw.rules.shard_parser import MAX_RANGES, parse_shards
from orchtw.rules.shard_selectors import ShardRange
from tests.properties import examples

UID = "object.metadata.uid"
END = "0x10000000000000000"


def one(start: str, end: str, field: str = UID) -> str:
    return f"shardRange({field}, '{start}', '{end}')"


class ShardSelectorTests(SynchronousTestCase):
    """Selectors in the text of the parameter."""

    def test_ranges(self) -> None:
        """Calls joined by `||` select what lies in one of them; ends are exclusive (reference READ-29)."""
        found = parse_shards(f"{one('0x0', '0x1')} || ({one('0xaf63dc4c8601ec8c', '0xaf63dc4c8601ec8d')})")
        self.assertEqual(found.ranges[1], ShardRange(0xAF63DC4C8601EC8C, 0xAF63DC4C8601EC8D))
        self.assertTrue(found.selects("a"))
        self.assertFalse(parse_shards(one("0x0", "0xaf63dc4c8601ec8c")).selects("a"))
        self.assertFalse(parse_shards(one("0xaf63dc4c8601ec8d", END)).selects("a"))
        again = parse_shards(str(found))
        self.assertEqual((again, hash(again)), (found, hash(found)))
        self.assertEqual(
            str(parse_shards(one("0x0", "0xf", "object.metadata.namespace"))),
            one("0x0000000000000000", "0x000000000000000f", "object.metadata.namespace"),
        )

    @examples(100)
    @given(st.text(), st.integers(1, (1 << 64) - 1))
    def test_partition(self, value: str, middle: int) -> None:
        """Two ranges that meet have every value exactly once (reference READ-29)."""
        low, high = parse_shards(one("0x0", hex(middle))), parse_shards(one(hex(middle), END))
        self.assertNotEqual(low.selects(value), high.selects(value))

    def test_errors(self) -> None:
        """Any other text is a 400 that says why (reference READ-29)."""
        calls = "; only shardRange() and || are allowed"
        cases = {
            "a &&": "CEL parse error: ",
            "true": "expected shardRange() call or || operator",
            "f(1)": f'unsupported function "f"{calls}',
            f"x.{one('0x0', '0x1')}": f'unsupported function "shardRange"{calls}',
            "shardRange()": "shardRange() requires exactly 3 arguments, got 0",
            one("0x0", "0x1", "1"): "shardRange() first argument: expected field path (e.g. object.metadata.uid)",
            one("0x0", "0x1", "object.spec"): (
                'unsupported field path "object.spec"; supported: object.metadata.uid, object.metadata.namespace'
            ),
            f"shardRange({UID}, 1, '0x1')": "hexStart must be a string literal (e.g. '0xff')",
            one("0x0", "1"): "hexEnd must have '0x' prefix, got \"1\"",
            one("0x", "0x1"): "hexStart: hex value is required after '0x'",
            one("0x0", END + "0"): 'hexEnd: hex value too long (18 chars, max 17): "100000000000000000"',
            one("0x0", "0xA"): 'hexEnd: invalid hex character "A" in "0xA"',
            one("0x0", "0x20000000000000000"): (
                "hexEnd: 17-digit hex value must be '0x10000000000000000' (2^64), got \"0x20000000000000000\""
            ),
            one("0x2", "0x2"): "shard range start 0x0000000000000002 must be less than end 0x0000000000000002",
            f"{one('0x0', '0x1')} || {one('0x0', '0x1', 'object.metadata.namespace')}": (
                'all shard ranges must use the same field, got "object.metadata.uid" and "object.metadata.namespace"'
            ),
            " || ".join([one("0x0", "0x1")] * (MAX_RANGES + 1)): f"more than {MAX_RANGES} ranges",
        }
        for text, why in cases.items():
            with self.subTest(text):
                error = self.assertRaises(BadRequest, parse_shards, text)
                self.assertIn(f"invalid shard selector: {why}", error.message)

    def test_parameter(self) -> None:
        """Without the gate the parameter is ignored; so is an empty one (reference READ-29)."""
        params, naming = {"shardSelector": ["nonsense"]}, Naming()
        self.assertIsNone(list_options(params, (), naming).shards)
        self.assertIsNone(list_options({"shardSelector": [""]}, (), naming, sharded=True).shards)
        self.assertRaises(BadRequest, list_options, params, (), naming, sharded=True)
        options = list_options({"shardSelector": [one("0x0", END)]}, (), naming, sharded=True)
        self.assertTrue(options.selective)
