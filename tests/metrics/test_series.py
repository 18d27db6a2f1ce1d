"""Series and their families (reference METRIC-3, METRIC-8)."""

from __future__ import annotations

from bisect import bisect_left

from hypothesis import given
from hypothesis import strategies as st
from twisted.trial.unittest import SynchronousTestCase

from orchtw.metrics.series import (
    GAUGE,
    OTHER,
    UNEXPECTED,
    Histogram,
    Read,
    Single,
    counters,
    doubling,
    each,
    gauges,
    histograms,
)
from tests.properties import examples


class HistogramTests(SynchronousTestCase):
    @examples(100)
    @given(st.lists(st.floats(min_value=0, max_value=20)))
    def test_bounds(self, values: list[float]) -> None:
        """A value counts for each bound that it does not exceed, and all do beyond the last."""
        bounds = (0.5, 1.0, 10.0)
        histogram = Histogram(bounds)
        for value in values:
            histogram.observe(value)
        expected = [sum(value <= bound for value in values) for bound in bounds]
        self.assertEqual(list(histogram.cumulated()), [*expected, len(values)])
        self.assertEqual((histogram.count, histogram.total), (len(values), sum(values, 0)))

    def test_several(self) -> None:
        """Several at once, each several times, are as many by themselves."""
        histogram = Histogram((1, 2))
        histogram.observe_all([1, 2, 3], times=4)
        self.assertEqual((histogram.counts, histogram.total), ([4, 4, 4], 24))

    def test_doubling(self) -> None:
        """Each bound is twice the one before."""
        self.assertEqual(doubling(1024, 3), (1024, 2048, 4096))
        self.assertEqual(bisect_left(doubling(0.001, 15), 0.001), 0)


class FamilyTests(SynchronousTestCase):
    def test_same_values_same_series(self) -> None:
        """Equal values are one series."""
        family = counters("a_total", "A.", ("x",))
        family.of("1").value += 2
        family.of("1").value += 1
        self.assertEqual([(values, series.value) for values, series in family.series()], [(("1",), 3)])

    def test_bounded(self) -> None:
        """A family has no more series than it may have: the rest is counted together (reference METRIC-8)."""
        family = counters("a_total", "A.", ("x", "y"), most=3)
        for number in range(10):
            family.of(str(number), "z").value += 1
        found = {values: series.value for values, series in family.series()}
        self.assertEqual(found, {("0", "z"): 1, ("1", "z"): 1, ("2", "z"): 1, (OTHER, OTHER): 7})

    def test_forgotten(self) -> None:
        """A forgotten series makes room for another."""
        family = counters("a_total", "A.", ("x",), most=1)
        family.of("1")
        family.forget("1")
        family.of("2")
        self.assertEqual([values for values, _ in family.series()], [("2",)])

    def test_allowed(self) -> None:
        """Values that are not allowed are shown as `unexpected` (reference METRIC-3)."""
        family = counters("a_total", "A.", ("x", "y"))
        family.allow("y", frozenset({"1"}))
        family.allow("unknown", frozenset({"1"}))
        for values in (("a", "1"), ("a", "2"), ("b", "3"), ("b", "4")):
            family.of(*values).value += 1
        found = {values: series.value for values, series in family.series()}
        self.assertEqual(found, {("a", "1"): 1, ("a", UNEXPECTED): 1, ("b", UNEXPECTED): 2})

    def test_allowed_of_what_is_read(self) -> None:
        """The same of what is read off something else: what has one name then is added up."""
        family = Read(each(lambda: {"a": 1, "b": 2, "c": 3}), "a", GAUGE, "A.", ("x",))
        family.allow("x", frozenset({"a"}))
        family.allow("y", frozenset())
        self.assertEqual({values: each.value for values, each in family.series()}, {("a",): 1, (UNEXPECTED,): 5})

    def test_wrong_labels(self) -> None:
        """A series without all of its label values raises ValueError."""
        self.assertRaises(ValueError, counters("a_total", "A.", ("x",)).of)

    def test_without_labels(self) -> None:
        """A family without labels has its one series from the beginning."""
        self.assertEqual([values for values, _ in counters("a_total", "A.").series()], [()])

    def test_reset(self) -> None:
        """Counts begin anew, for those too who have kept their series; what is so now stays (reference METRIC-1)."""
        counter, gauge = counters("a_total", "A."), gauges("b", "B.")
        histogram, single = histograms("c", "C.", (1,)), Single(Histogram((1,)), "d", "D.")
        counted, shown, measured = counter.of(), gauge.of(), histogram.of()
        counted.value = shown.value = 5
        measured.observe(1)
        [(_, alone)] = single.series()
        alone.observe(1)
        for family in (counter, gauge, histogram, single):
            family.reset()
        self.assertEqual((counted.value, shown.value, measured.counts, alone.count), (0, 5, [0, 0], 0))
