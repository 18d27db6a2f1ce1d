"""Intervals of the steady load, on a clock."""

from __future__ import annotations

from typing import Any

from twisted.internet.defer import Deferred
from twisted.internet.task import Clock
from twisted.trial.unittest import SynchronousTestCase

from orchtw.commands.load.deliveries import Ledger, SeenEvent
from orchtw.commands.load.report import Period
from orchtw.commands.load.statistics import Statistics
from orchtw.commands.load.steady import SETTLE_S, SteadyLoad


class NoUsage:
    """Metrics of a server that shows none."""

    async def read(self) -> None:
        """Return None, as without metrics."""


class SteadyLoadTests(SynchronousTestCase):
    """Reports and the end of a load."""

    def setUp(self) -> None:
        self.clock, self.ledger, self.statistics = Clock(), Ledger(), Statistics()
        self.shown: list[Period] = []
        usage: Any = NoUsage()
        self.load = SteadyLoad(self.statistics, self.ledger, usage, self.clock, self.shown.append, 10.0)

    def pass_time(self, seconds: float) -> None:
        """Advance the clock in steps of the timer."""
        self.clock.pump([0.1] * round(seconds * 10))

    def test_intervals(self) -> None:
        """Each interval is reported with what came in it, and the total has all of it."""
        running = Deferred.fromCoroutine(self.load.run(26.0))
        for _ in range(3):
            self.statistics.interval.answered("get pods", 0.1)
            self.pass_time(9)
        self.successResultOf(running)
        self.assertEqual([round(each.at_s) for each in self.shown], [10, 20, 26])
        self.assertEqual([each.figures.latencies["get pods"].count for each in self.shown[:2]], [2, 1])
        total = self.load.total(skipped=2)
        self.assertEqual((total.figures.latencies["get pods"].count, total.skipped, total.total), (3, 2, True))
        self.assertEqual(round(total.length_s), 26)

    def test_lag(self) -> None:
        """A delay of the program's own timer is reported."""
        running = Deferred.fromCoroutine(self.load.run(12.0))
        self.pass_time(5)
        self.clock.advance(0.6)
        self.pass_time(9)
        self.successResultOf(running)
        self.assertEqual([round(each.lag_s, 1) for each in self.shown], [0.5])

    def test_end_early(self) -> None:
        """A load can be ended before its time, even before it begins."""
        self.load.end_early()
        self.successResultOf(Deferred.fromCoroutine(self.load.run(25.0)))
        self.assertEqual(self.clock.getDelayedCalls(), [])

    def test_settle(self) -> None:
        """The end waits for the events that are yet to come; those that do not come are lost."""
        follower = self.ledger.follower("pods")
        follower.listed(1)
        for version in (2, 3):
            self.ledger.wrote(("pods",), version, version, 0.0, 0.0)
        settling = Deferred.fromCoroutine(self.load.settle(lambda: False))
        follower.seen(SeenEvent(b"MODIFIED", b"u", 2), 0.0)
        self.pass_time(SETTLE_S - 1)
        self.assertNoResult(settling)
        self.pass_time(2)
        self.successResultOf(settling)
        self.assertEqual((self.ledger.counts.compared, self.ledger.counts.lost), (1, 1))
