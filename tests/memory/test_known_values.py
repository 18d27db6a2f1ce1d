"""Cache of values, bounded in bytes: `orchtw.memory.known_values`."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as some
from twisted.trial.unittest import SynchronousTestCase

from orchtw.memory.known_values import MOST_SEEN, KnownValues
from tests.properties import examples


class KnownValuesTests(SynchronousTestCase):
    @examples(30)
    @given(some.lists(some.tuples(some.integers(0, 60), some.integers(0, 1000)), max_size=300))
    def test_bounded(self, pairs: list[tuple[int, int]]) -> None:
        """The cache stays within its bound, and each value is found under its own key or not at all."""
        known = KnownValues[int, str](10_000)
        for number, size in pairs:
            known.keep(number, f"value {number}", size)
            self.assertLessEqual(known.size_bytes, 10_000)
            for each in range(61):
                self.assertIn(known.get(each), (None, f"value {each}"))
                self.assertLessEqual(known.size_bytes, 10_000)

    def test_too_large(self) -> None:
        """A value larger than half the bound is not kept, and pushes nothing out."""
        known = KnownValues[str, str](10_000)
        known.keep("a", "x", 100)
        known.keep("b", "y", 6000)
        self.assertEqual((known.get("a"), known.get("b")), ("x", None))

    def test_comes_again(self) -> None:
        """A key is new the first time, and after very many others."""
        known = KnownValues[object, str](1000)
        self.assertEqual([known.comes_again("a"), known.comes_again("a")], [False, True])
        for number in range(MOST_SEEN + 1):
            known.comes_again(number)
        self.assertFalse(known.comes_again("a"))
