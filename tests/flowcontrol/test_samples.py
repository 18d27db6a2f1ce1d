"""Sampled utilisation of levels (reference METRIC-13)."""

from __future__ import annotations

from collections.abc import Sequence

from twisted.internet.task import Clock
from twisted.trial.unittest import SynchronousTestCase

from orchtw.flowcontrol.marks import Marks
from orchtw.flowcontrol.queueset import Flow, WaitingRequest
from orchtw.flowcontrol.samples import INTERVAL_S, Samples
from orchtw.flowcontrol.stats import READ_ONLY, InFlight
from tests.flowcontrol.configured import Configured, level, schema

PREFIX = "apiserver_flowcontrol_"


class MarksTests(SynchronousTestCase):
    def test_anew(self) -> None:
        """The most and the least; after a look they begin at what there is."""
        marks = Marks()
        for value in (1, 2, 1):
            marks.see(value)
        self.assertEqual(marks.anew(1), (2, 0))
        self.assertEqual(marks.anew(1), (1, 1))


class SamplesTests(SynchronousTestCase):
    """Histograms of sampled levels (`Samples`)."""

    def setUp(self) -> None:
        self.clock = Clock()
        self.low = level("low", shares=5, queues=1, hand=1, length=2)
        self.live = Configured([schema("a", 500, "low")], [self.low], 40)
        self.live.settled()
        self.in_flight = InFlight()
        self.samples = Samples(self.clock, self.in_flight, self.live)

    def sums(self, name: str, samples: Samples | None = None) -> dict[Sequence[str], tuple[int, float]]:
        """Return the number of samples and their sum, by label values."""
        (family,) = [each for each in (samples or self.samples).families() if each.name == PREFIX + name]
        return {values: (series.count, series.total) for values, series in family.series()}

    def test_level(self) -> None:
        """Requests and seats are fractions of the limit, waiting ones fractions of the queues' places."""
        seating = self.live.levels["low"].seating
        assert seating is not None
        flow, limit = Flow(), seating.limit
        pool = seating.take(flow, 2)
        waiting = WaitingRequest(flow, 1)
        seating.wait(waiting)
        self.samples.look()
        requests, seats = "priority_level_request_count", "priority_level_seat_count"
        found = self.sums(f"{requests}_samples")
        self.assertEqual(found["executing", "low"], (1, 1 / limit))
        self.assertEqual(found["waiting", "low"], (1, 0.5))
        self.assertEqual(self.sums(f"{seats}_samples")["low",], (1, 2 / limit))
        seating.leave(waiting)
        seating.give(flow, 2, pool)
        self.samples.look()
        found = self.sums(f"{requests}_watermarks")
        self.assertEqual(found["high", "executing", "low"], (2, 2 / limit))
        self.assertEqual(found["low", "executing", "low"], (2, 0))
        self.assertEqual(found["high", "waiting", "low"], (2, 1.0))
        self.assertEqual(self.sums(f"{seats}_watermarks")["high", "low"], (2, 4 / limit))
        self.live.remove(self.low)
        self.live.settled()
        self.samples.look()
        self.assertNotIn(("executing", "low"), self.sums(f"{requests}_samples"))

    def test_kinds(self) -> None:
        """Reads and writes: plain numbers, or shares of two limits; ten looks a second."""
        plain = Samples(self.clock, InFlight(), limits=(4, 0))
        for samples in (self.samples, plain):
            samples.startService()
            samples._in_flight.executing[READ_ONLY].add(0.0)  # noqa: SLF001 - its own
        self.clock.pump([INTERVAL_S] * 10)
        for samples in (self.samples, plain):
            samples.stopService()
        self.assertEqual(self.clock.getDelayedCalls(), [])
        name = "read_vs_write_request_count_samples"
        self.assertEqual(self.sums(name)["executing", "readOnly"], (10, 10))
        self.assertEqual(self.sums(name)["waiting", "mutating"], (10, 0))
        expected = {("executing", "readOnly"): (10, 2.5), ("executing", "mutating"): (10, 0)}
        self.assertEqual(self.sums(name, plain), expected)
