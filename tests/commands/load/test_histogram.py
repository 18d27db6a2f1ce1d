"""Percentiles of counted durations."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
from twisted.trial.unittest import SynchronousTestCase

from orchtw.commands.load.histogram import Histogram
from tests.properties import examples


def filled(durations: list[float]) -> Histogram:
    """A histogram of these durations."""
    made = Histogram()
    for each in durations:
        made.add(each)
    return made


class HistogramTests(SynchronousTestCase):
    """Percentiles against sorted lists."""

    @examples(50)
    @given(st.lists(st.floats(1e-6, 100.0), min_size=1), st.sampled_from((0.5, 0.9, 0.99)))
    def test_percentiles(self, durations: list[float], share: float) -> None:
        """A percentile is within 2 % of the nearest rank."""
        exact = sorted(durations)[max(1, -int(-share * len(durations) // 1)) - 1]
        found = filled(durations).percentile_s(share)
        self.assertLessEqual(abs(found - exact), 0.02 * exact + 1e-9)

    @examples(50)
    @given(st.lists(st.floats(0.0, 100.0)), st.lists(st.floats(0.0, 100.0)))
    def test_merge(self, one: list[float], other: list[float]) -> None:
        """A merged histogram is that of all durations."""
        merged, both = filled(one), filled(one + other)
        merged.merge(filled(other))
        self.assertEqual((merged.count, merged.largest_s), (both.count, both.largest_s))
        self.assertEqual(merged.percentile_s(0.9), both.percentile_s(0.9))

    def test_empty(self) -> None:
        """Percentiles of nothing are 0."""
        self.assertEqual(Histogram().percentile_s(0.5), 0.0)
