"""Timers of services (`orchtw.pki.timer`)."""

from __future__ import annotations

from twisted.internet.task import Clock
from twisted.trial.unittest import SynchronousTestCase

from orchtw.pki.timer import Timer


class TimerTests(SynchronousTestCase):
    """Calls of a timer."""

    def setUp(self) -> None:
        self.clock, self.calls = Clock(), 0
        self.timer = Timer(10.0, self.count, self.clock)

    def count(self) -> None:
        self.calls += 1
        if self.calls == 3:
            raise OverflowError

    def test_at_once_and_then_in_intervals(self) -> None:
        """The first call is made by the start, the next one after the interval."""
        self.timer.startService()
        self.assertEqual(self.calls, 1)
        self.clock.advance(9.0)
        self.assertEqual(self.calls, 1)
        self.clock.advance(1.0)
        self.assertEqual(self.calls, 2)

    def test_stopped(self) -> None:
        """A stopped timer leaves nothing behind, and can be started again."""
        for expected in (1, 2):
            self.timer.startService()
            self.assertIsNone(self.successResultOf(self.timer.stopService()))
            self.assertEqual((self.calls, self.clock.getDelayedCalls()), (expected, []))

    def test_failed(self) -> None:
        """A call that raises is logged and is the last one; the timer can still be stopped."""
        self.timer.startService()
        self.clock.pump((10.0, 10.0, 10.0))
        self.assertEqual(self.calls, 3)
        self.assertEqual(len(self.flushLoggedErrors(OverflowError)), 1)
        self.assertIsNone(self.successResultOf(self.timer.stopService()))
