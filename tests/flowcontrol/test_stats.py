"""Statistics of flow control."""

from __future__ import annotations

from twisted.trial.unittest import SynchronousTestCase

from orchtw.flowcontrol.stats import Histogram, Watermark, kind_of


class HistogramTests(SynchronousTestCase):
    """Histogram of observations between bounds."""

    def test_buckets(self) -> None:
        """Buckets add up, and a value on a bound is below it; zeros can be counted in."""
        histogram = Histogram((0.0, 0.5, 10.0))
        for value in (0.0, 0.5, 0.6, 11.0):
            histogram.observe(value)
        self.assertEqual(histogram.buckets(2), [("0", 3.0), ("0.5", 4.0), ("10", 5.0), ("+Inf", 6.0)])
        self.assertEqual(histogram.sum, 12.1)


class WatermarkTests(SynchronousTestCase):
    """The most of the last second (reference METRIC-5)."""

    def test_last_second(self) -> None:
        """A peak is shown in the second behind it, and then forgotten."""
        mark = Watermark()
        for _ in range(5):
            mark.add(0.1)
        mark.count = 1
        mark.add(1.2)
        self.assertEqual(mark.most(1.5), 5)
        mark.count = 1
        mark.add(2.3)
        self.assertEqual(mark.most(2.4), 2)

    def test_quiet(self) -> None:
        """After a quiet time there is what there is."""
        mark = Watermark()
        for _ in range(5):
            mark.add(0.1)
        mark.count = 2
        self.assertEqual(mark.most(60.0), 2)

    def test_kinds(self) -> None:
        """Everything but get, list and watch writes."""
        self.assertEqual({kind_of(verb) for verb in ("get", "list", "watch")}, {"readOnly"})
        self.assertEqual({kind_of(verb) for verb in ("create", "proxy", "post", "deletecollection")}, {"mutating"})
