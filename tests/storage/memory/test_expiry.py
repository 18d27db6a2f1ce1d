"""Ends of values in memory."""

from __future__ import annotations

from twisted.trial.unittest import SynchronousTestCase

from orchtw.storage.memory.expiry import Lifetimes


class LifetimesTests(SynchronousTestCase):
    """The order of ends, and what overtaken ones leave."""

    def test_due_in_order(self) -> None:
        """Keys are due from their end on, the earliest first, and once."""
        lifetimes = Lifetimes()
        for key, end_s in (("/b", 2.0), ("/a", 1.0), ("/c", 3.0)):
            lifetimes.put(key, 7, end_s)
        self.assertEqual(lifetimes.next_s(), 1.0)
        self.assertEqual(lifetimes.due(2.0, 1), [("/a", 7)])
        self.assertEqual(lifetimes.due(2.0, 9), [("/b", 7)])
        self.assertEqual((lifetimes.due(2.0, 9), len(lifetimes)), ([], 1))

    def test_last_write_counts(self) -> None:
        """A later end replaces an earlier one; a write without an end has none."""
        lifetimes = Lifetimes()
        lifetimes.put("/a", 2, 1.0)
        lifetimes.put("/a", 3, 5.0)
        lifetimes.put("/b", 4, 1.0)
        lifetimes.drop("/b")
        self.assertEqual((lifetimes.due(4.0, 9), lifetimes.next_s()), ([], 5.0))

    def test_overtaken_ends_are_bounded(self) -> None:
        """A key that is written again and again takes room for a few ends only."""
        lifetimes = Lifetimes()
        for revision in range(10_000):
            lifetimes.put("/a", revision, 1e9 + revision)
        self.assertLess(len(lifetimes._heap), 100)
        self.assertEqual(lifetimes.due(2e9, 9), [("/a", 9999)])
