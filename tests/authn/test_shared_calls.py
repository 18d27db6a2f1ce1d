"""Calls shared by several callers."""

from __future__ import annotations

from typing import Any

from twisted.internet.defer import CancelledError, Deferred
from twisted.trial.unittest import SynchronousTestCase

from orchtw.authn.shared_calls import SharedCalls


class SharedCallsTests(SynchronousTestCase):
    def setUp(self) -> None:
        self.calls: SharedCalls[str, int] = SharedCalls()
        self.begun: list[Deferred[int]] = []

    def ask(self, key: str = "k") -> Deferred[int]:
        async def work() -> int:
            begun: Deferred[int] = Deferred()
            self.begun.append(begun)
            return await begun

        return Deferred.fromCoroutine(self.calls.result(key, work))

    def test_shared(self) -> None:
        """Callers with the same question share one call's result; other questions have their own."""
        first, second, other = self.ask(), self.ask(), self.ask("other")
        self.assertEqual(len(self.begun), 2)
        self.begun[0].callback(1)
        self.assertEqual((self.successResultOf(first), self.successResultOf(second)), (1, 1))
        self.assertNoResult(other)
        self.begun[1].callback(2)
        self.assertEqual(self.successResultOf(other), 2)
        self.assertEqual(len(self.calls), 0)

    def test_again(self) -> None:
        """After the end a new call is made."""
        self.ask()
        self.begun[0].callback(1)
        self.assertNoResult(self.ask())
        self.begun[1].callback(2)

    def test_failure(self) -> None:
        """All waiting callers get the failure."""
        asked: list[Deferred[Any]] = [self.ask(), self.ask()]
        self.begun[0].errback(ValueError())
        for each in asked:
            self.failureResultOf(each, ValueError)

    def test_at_once(self) -> None:
        """A call that needs no time is a call too."""

        async def work() -> int:
            return 3

        self.assertEqual(self.successResultOf(Deferred.fromCoroutine(self.calls.result("k", work))), 3)
        self.assertEqual(len(self.calls), 0)

    def test_one_leaves(self) -> None:
        """A caller that leaves does not cancel the call for the others; the last one does."""
        first, second = self.ask(), self.ask()
        first.cancel()
        self.failureResultOf(first, CancelledError)
        self.assertFalse(self.begun[0].called)
        second.cancel()
        self.failureResultOf(second, CancelledError)
        self.assertEqual(len(self.calls), 0)
        self.assertTrue(self.begun[0].called)
