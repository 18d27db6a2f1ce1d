"""The order in which `trial -j` hands out tests (`tests.mixed_order`)."""

from __future__ import annotations

from unittest import TestCase

from twisted.trial.unittest import SynchronousTestCase

from tests.mixed_order import mixed


class Named(TestCase):
    """A test of which only the id counts."""

    def __init__(self, name: str) -> None:
        super().__init__("run")
        self.name = name

    def id(self) -> str:
        return self.name


class MixedOrderTests(SynchronousTestCase):
    """Tests that wait, and others."""

    def test_spread(self) -> None:
        """Tests that wait are spread evenly; either half keeps its order, and none is lost."""
        waiting = [f"tests.end_to_end.test_{letter}" for letter in "ab"]
        others = [f"tests.verbs.test_{letter}" for letter in "cdefgh"]
        found = [each.id() for each in mixed(map(Named, (*waiting, *others)))]
        self.assertEqual([each[-1] for each in found], ["c", "d", "a", "e", "f", "g", "b", "h"])

    def test_one_half(self) -> None:
        """Tests of one half alone stay as they are, and nothing is nothing."""
        names = [f"tests.verbs.test_{letter}" for letter in "abc"]
        self.assertEqual([each.id() for each in mixed(map(Named, names))], names)
        self.assertEqual(mixed(()), [])
