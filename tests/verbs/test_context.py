"""Lifetimes of watches (reference REQ-19, WATCH-11)."""

from __future__ import annotations

from random import Random

from twisted.internet.task import Clock
from twisted.trial.unittest import SynchronousTestCase

from orchtw.verbs.context import WatchTimes


class WatchTimesTests(SynchronousTestCase):
    """Lifetimes that `WatchTimes` draws."""

    def setUp(self) -> None:
        clock = Clock()
        clock.advance(100.0)
        self.times = WatchTimes(clock=clock, random=Random(1), min_s=1800)

    def test_asked(self) -> None:
        """A watch that asks for a time gets it, counted from now."""
        self.assertEqual(self.times.deadline(5), 105.0)

    def test_not_asked(self) -> None:
        """Others live for the least time at least and twice that at most, each for another one."""
        ends = [self.times.deadline(asked) for asked in (None, 0) * 50]
        self.assertTrue(all(1900.0 <= end <= 3700.0 for end in ends))
        self.assertGreater(len(set(ends)), 90)
