"""Waiting for the simulated cluster's work between two timers (reference SIM-3)."""

from __future__ import annotations

from typing import Any

from twisted.internet.defer import Deferred
from twisted.internet.task import Clock
from twisted.trial.unittest import SynchronousTestCase

from orchtw.simulation.settling import LIMIT_S, LOOK_S, LOOKS, Settling


class _Queue:
    """State of a work queue."""

    busy = failing = False


class SettlingTests(SynchronousTestCase):
    """One queue, and the real seconds that a wait for it takes."""

    def setUp(self) -> None:
        self.clock = Clock()
        self.queue: Any = _Queue()
        self.settling = Settling(self.clock, lambda: [self.queue])

    def waits(self) -> float:
        """The length of a wait."""
        began, done = self.clock.seconds(), Deferred.fromCoroutine(self.settling.settle())
        while not done.called:
            self.clock.advance(LOOK_S)
        self.successResultOf(done)
        return self.clock.seconds() - began

    def test_rest(self) -> None:
        """A queue at rest is looked at several times: its last write may be work for another."""
        self.assertAlmostEqual(self.waits(), LOOKS * LOOK_S)

    def test_busy(self) -> None:
        """Work is waited for up to the limit, each time."""
        self.queue.busy = True
        self.assertAlmostEqual(self.waits(), LIMIT_S, 1)
        self.assertAlmostEqual(self.waits(), LIMIT_S, 1)

    def test_failing(self) -> None:
        """A controller that keeps failing is waited for once, and again after it has succeeded."""
        self.queue.failing = True
        self.assertAlmostEqual(self.waits(), LIMIT_S, 1)
        self.assertAlmostEqual(self.waits(), LOOKS * LOOK_S)
        self.queue.failing = False
        self.assertAlmostEqual(self.waits(), LOOKS * LOOK_S)
        self.queue.failing = True
        self.assertAlmostEqual(self.waits(), LIMIT_S, 1)
