"""Coroutines that are stepped by hand: `Resumed` and `Detached` (reference LIMIT-2)."""

from __future__ import annotations

from twisted.internet.defer import CancelledError, Deferred, ensureDeferred
from twisted.python.failure import Failure
from twisted.trial.unittest import SynchronousTestCase

from orchtw.filters.first_step import Detached, Resumed
from orchtw.request import Response


class FirstStepTests(SynchronousTestCase):
    """A coroutine whose first step has been made, and which waits twice."""

    def setUp(self) -> None:
        self.waits: list[Deferred[None]] = [Deferred(), Deferred()]
        self.answer = self.work()
        self.first = self.answer.send(None)

    async def work(self) -> Response:
        for wait in self.waits:
            await wait
        return Response(code=201)

    def test_resumed(self) -> None:
        """The result of the coroutine reaches the caller that awaits the rest of it."""
        done = ensureDeferred(self.resumed())
        self.assertNoResult(done)
        for wait in self.waits:
            wait.callback(None)
        self.assertEqual(self.successResultOf(done).code, 201)

    async def resumed(self) -> Response:
        return await Resumed(self.answer, self.first)

    def test_detached(self) -> None:
        """A detached coroutine runs to its end alone, and reports its result."""
        ended: list[Response | Failure] = []
        Detached(self.answer, self.first, ended.append)
        for wait in self.waits:
            self.assertEqual(ended, [])
            wait.callback(None)
        self.assertEqual([each.code for each in ended if isinstance(each, Response)], [201])

    def test_cancelled(self) -> None:
        """A cancelled one reports the failure of what it awaited."""
        ended: list[Response | Failure] = []
        detached = Detached(self.answer, self.first, ended.append)
        detached.cancel()
        self.assertTrue(isinstance(ended[0], Failure) and ended[0].check(CancelledError))
