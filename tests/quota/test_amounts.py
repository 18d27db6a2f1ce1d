"""Exact amounts (reference OBJ-18, PLUG-26)."""

from __future__ import annotations

from fractions import Fraction

from hypothesis import given
from hypothesis import strategies as st
from twisted.trial.unittest import SynchronousTestCase

from orchtw.quota.amounts import (
    ZERO,
    Amount,
    Amounts,
    amount,
    amounts,
    growth,
    largest,
    only,
    rounded_up,
    shown,
    texts,
    times,
    total,
    whole,
)
from orchtw.values.quantity import Quantity, canonical_quantity
from tests.properties import examples

UNITS = st.sampled_from(["", "n", "u", "m", "k", "M", "G", "T", "P", "E", "Ki", "Mi", "Gi", "e3", "e-3"])
QUANTITIES = st.builds(lambda number, unit: f"{number}{unit}", st.integers(0, 10**9), UNITS)
LISTS = st.dictionaries(st.sampled_from(["cpu", "memory", "pods", "requests.storage"]), QUANTITIES)


def value(text: str) -> Fraction:
    found = Quantity.parse(text)
    return found.mantissa * Fraction(10) ** found.exponent


def nanos(found: Amounts) -> dict[str, int]:
    return {name: each.nanos for name, each in found.items()}


def exact(text: str) -> Fraction:
    return Fraction(amount(text).nanos, 10**9)


class AmountTests(SynchronousTestCase):
    @examples(200)
    @given(QUANTITIES)
    def test_text(self, text: str) -> None:
        """An amount is worth what its text says, and has the canonical text of it."""
        self.assertEqual(exact(text), value(text))
        self.assertEqual(amount(text).text, canonical_quantity(text))

    @examples(200)
    @given(QUANTITIES, QUANTITIES)
    def test_sum(self, left: str, right: str) -> None:
        """A sum is exact in any units, and what is written can be read again as the same."""
        found = amount(left).plus(amount(right))
        self.assertEqual(Fraction(found.nanos, 10**9), value(left) + value(right))
        self.assertEqual(exact(found.text), value(left) + value(right))

    def test_family(self) -> None:
        """A sum is written as its first part that is not 0 is."""
        self.assertEqual(amount("1Gi").plus(amount("1G")).text, "2073741824")
        self.assertEqual(amount("1Gi").plus(amount("1024Mi")).text, "2Gi")
        self.assertEqual(ZERO.plus(amount("1Gi")).text, "1Gi")
        self.assertEqual(amount("500m").plus(amount("0.5")).text, "1")
        self.assertEqual(amount("1e3").plus(amount("1")).text, "1001")

    def test_huge(self) -> None:
        """An exponent of any size costs nothing."""
        self.assertGreater(amount("1e2147483647").nanos, amount("9E").nanos)
        self.assertEqual(amount("1e2147483647"), amount("1e999999"))

    def test_rounded_up(self) -> None:
        """Bytes are whole ones, away from 0."""
        self.assertEqual(rounded_up(amount("1500m")).text, "2")
        self.assertEqual(rounded_up(amount("2")).text, "2")


class ListTests(SynchronousTestCase):
    @examples(200)
    @given(LISTS, LISTS)
    def test_total(self, left: dict[str, str], right: dict[str, str]) -> None:
        """A total has what is in either, the sum of what is in both; growth takes it back."""
        found = total(amounts(left), amounts(right))
        self.assertEqual(found.keys(), left.keys() | right.keys())
        for name, each in found.items():
            expected = value(left.get(name, "0")) + value(right.get(name, "0"))
            self.assertEqual(Fraction(each.nanos, 10**9), expected)
        grown = growth(found, amounts(left))
        self.assertEqual(nanos(grown), {name: many for name, many in nanos(amounts(right)).items() if many})

    @examples(200)
    @given(LISTS, LISTS)
    def test_largest(self, left: dict[str, str], right: dict[str, str]) -> None:
        """Of each the larger one is kept."""
        found = largest(amounts(left), amounts(right))
        expected = {
            name: max(value(each[name]) for each in (left, right) if name in each)
            for name in left.keys() | right.keys()
        }
        self.assertEqual({name: Fraction(each.nanos, 10**9) for name, each in found.items()}, expected)

    @examples(200)
    @given(LISTS, st.integers(1, 1000))
    def test_times(self, found: dict[str, str], count: int) -> None:
        """So many objects use as much as all of them one by one."""
        one_by_one = amounts({})
        for _ in range(min(count, 20)):
            one_by_one = total(one_by_one, amounts(found))
        self.assertEqual(nanos(times(amounts(found), min(count, 20))), nanos(one_by_one))

    def test_shown(self) -> None:
        """Refusals and status show names in order."""
        found = amounts({"pods": "3", "cpu": "1500m"})
        self.assertEqual(shown(found), "cpu=1500m,pods=3")
        self.assertEqual(list(texts(found).items()), [("cpu", "1500m"), ("pods", "3")])
        self.assertEqual(only(found, ["pods"]), {"pods": whole(3)})

    def test_growth(self) -> None:
        """An amount that has decreased or stayed equal has not grown."""
        grown = growth(amounts({"a": "3", "b": "1", "c": "1"}), amounts({"a": "1", "b": "1", "c": "2", "d": "5"}))
        self.assertEqual(grown, {"a": Amount(2 * 10**9, "decimal")})
