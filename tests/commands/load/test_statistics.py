"""Figures of intervals and their sum."""

from __future__ import annotations

from twisted.trial.unittest import SynchronousTestCase

from orchtw.commands.load.statistics import Statistics


class StatisticsTests(SynchronousTestCase):
    """Intervals of a run."""

    def test_intervals(self) -> None:
        """Each interval has its own figures, and the total has all of them."""
        statistics = Statistics()
        statistics.interval.answered("create pods", 0.5)
        statistics.interval.errors["create pods", 409] += 1
        first = statistics.take()
        statistics.interval.answered("create pods", 0.25)
        second = statistics.take()
        counts = [each.latencies["create pods"].count for each in (first, second, statistics.total)]
        self.assertEqual(counts, [1, 1, 2])
        self.assertEqual((first.failed, second.failed, statistics.total.failed), (1, 0, 1))

    def test_forget(self) -> None:
        """After the set-up, the figures begin anew."""
        statistics = Statistics()
        statistics.interval.answered("create pods", 0.5)
        statistics.take()
        statistics.forget()
        self.assertEqual(statistics.take().latencies, {})
        self.assertEqual(statistics.total.latencies, {})
