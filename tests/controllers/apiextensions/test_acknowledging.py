"""Waiting until changed definitions are in force (reference CRD-65)."""

from __future__ import annotations

from twisted.internet.defer import CancelledError, Deferred
from twisted.internet.task import Clock
from twisted.trial.unittest import SynchronousTestCase

from orchtw.controllers.apiextensions.acknowledging import LIMIT_S, Acknowledging


class AcknowledgingTests(SynchronousTestCase):
    def setUp(self) -> None:
        self.clock = Clock()
        self.acknowledging = Acknowledging(self.clock)

    def wait(self, generation: int, uid: str = "u") -> Deferred[None]:
        return Deferred.fromCoroutine(self.acknowledging.settled(uid, generation))

    def test_generation(self) -> None:
        """A wait for a generation ends with that generation or a later one, not with an earlier one."""
        second, third = self.wait(2), self.wait(3)
        self.acknowledging.settle("u", 1)
        self.acknowledging.settle("other", 9)
        self.assertNoResult(second)
        self.acknowledging.settle("u", 2)
        self.successResultOf(second)
        self.assertNoResult(third)
        self.acknowledging.settle("u", 4)
        self.successResultOf(third)
        self.successResultOf(self.wait(4))

    def test_limit(self) -> None:
        """A wait ends after LIMIT_S at the latest, and leaves no state behind."""
        waiting = self.wait(1)
        self.clock.advance(LIMIT_S)
        self.successResultOf(waiting)
        self.acknowledging.settle("u", 1)
        self.assertEqual(self.acknowledging._waiting, {})

    def test_gone(self) -> None:
        """A deleted definition is not waited for."""
        waiting = self.wait(1)
        self.acknowledging.forget("u")
        self.successResultOf(waiting)
        self.assertEqual((self.acknowledging._settled, self.clock.getDelayedCalls()), ({}, []))

    def test_stopped(self) -> None:
        """When the server stops, all waits end, and later ones do not begin."""
        waiting = self.wait(1)
        self.acknowledging.stop()
        self.successResultOf(waiting)
        self.successResultOf(self.wait(5))
        self.assertEqual(self.clock.getDelayedCalls(), [])

    def test_cancelled(self) -> None:
        """A cancelled wait leaves no state behind."""
        waiting = self.wait(1)
        waiting.cancel()
        self.failureResultOf(waiting, CancelledError)
        self.acknowledging.settle("u", 1)
        self.assertEqual((self.acknowledging._waiting, self.clock.getDelayedCalls()), ({}, []))
