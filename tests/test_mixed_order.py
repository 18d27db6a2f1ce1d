"""The order in which `trial -j` hands out tests (`tests.mixed_order`)."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any
from unittest import TestCase

from twisted.trial.unittest import SynchronousTestCase

from tests.mixed_order import HandedOut, grouped


def tests_of(name: str, count: int) -> list[TestCase]:
    """Tests of a class, of which only the ids count."""

    def id(self: Any) -> str:
        return f"{name}.{self.number}"

    cls = type(name, (TestCase,), {"id": id})
    found: list[Any] = [cls("run") for _ in range(count)]
    for number, test in enumerate(found):
        test.number = number
    return found


def ids(tests: Iterable[TestCase]) -> list[str]:
    """The ends of the tests' ids."""
    return [test.id().rpartition("_")[2] for test in tests]


WAITING = [*tests_of("tests.end_to_end.test_a", 2), *tests_of("tests.end_to_end.test_b", 2)]
OTHERS = [test for letter in "cdef" for test in tests_of(f"tests.verbs.test_{letter}", 2)]


class MixedOrderTests(SynchronousTestCase):
    """Tests that wait, and others."""

    def test_spread(self) -> None:
        """Classes that wait are spread evenly; either half keeps its order, and no test is lost."""
        found = ["".join(each[0] for each in ids(group)) for group in grouped([*WAITING, *OTHERS])]
        self.assertEqual(found, ["cc", "aa", "dd", "ee", "bb", "ff"])

    def test_one_half(self) -> None:
        """Tests of one half alone stay as they are, and no tests make no groups."""
        self.assertEqual(ids(test for group in grouped(OTHERS) for test in group), ids(OTHERS))
        self.assertEqual(grouped(()), [])

    def test_large_classes(self) -> None:
        """The place of a class depends on the tests before it, not on their classes."""
        tests = [*tests_of("tests.end_to_end.test_a", 1), *tests_of("tests.verbs.test_b", 9), *OTHERS[:2]]
        self.assertEqual([len(group) for group in grouped(tests)], [9, 1, 2])

    def test_a_class_for_a_worker(self) -> None:
        """A worker gets all tests of a class, and then those of the next one that no other has."""
        handed_out = HandedOut(lambda _: True, OTHERS)
        one, other = iter(handed_out), iter(handed_out)
        found = [next(one), next(other), next(one), next(one), next(other)]
        self.assertEqual(ids(found), ["c.0", "d.0", "c.1", "e.0", "d.1"])
        self.assertEqual(ids([*other, *one]), ["f.0", "f.1", "e.1"])

    def test_end(self) -> None:
        """The condition of `trial -x` ends it for every worker."""
        going = [True, True, False, False]
        handed_out = HandedOut(lambda _: going.pop(0), OTHERS)
        self.assertEqual(ids(handed_out), ["c.0", "c.1"])
        self.assertEqual(ids(handed_out), [])
