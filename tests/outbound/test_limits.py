"""Limits on concurrent calls to one server (reference HOOK-30)."""

from __future__ import annotations

from twisted.internet.defer import CancelledError, Deferred
from twisted.trial.unittest import SynchronousTestCase

from orchtw.outbound.limits import CallLimit, Crowded


class TurnsTests(SynchronousTestCase):
    def take(self, turns: CallLimit) -> Deferred[None]:
        return Deferred.fromCoroutine(turns.take())

    def test_bounds(self) -> None:
        """Some run, some wait for their turn, and others are refused."""
        turns = CallLimit(running=2, waiting=1)
        self.assertTrue(turns.idle)
        for _ in range(2):
            self.successResultOf(self.take(turns))
        waiting = self.take(turns)
        self.assertNoResult(waiting)
        self.assertEqual((turns.waiting, turns.idle), (1, False))
        failure = self.failureResultOf(self.take(turns), Crowded)
        self.assertEqual(str(failure.value), "more than 1 calls are waiting for it already")
        turns.give()
        self.successResultOf(waiting)
        for _ in range(2):
            turns.give()
        self.assertTrue(turns.idle)

    def test_cancelled(self) -> None:
        """A cancelled wait does not use up a turn."""
        turns = CallLimit(running=1, waiting=5)
        self.successResultOf(self.take(turns))
        leaving, staying = self.take(turns), self.take(turns)
        leaving.cancel()
        self.failureResultOf(leaving, CancelledError)
        turns.give()
        self.successResultOf(staying)
