"""Calls of several validating webhooks about one write (reference HOOK-15)."""

from __future__ import annotations

from twisted.internet.defer import Deferred
from twisted.trial.unittest import SynchronousTestCase

from orchtw.admission.webhooks.validating import ValidatingDispatcher
from orchtw.errors import StatusError
from tests.admission.asked import attributes, host, request
from tests.admission.webhooks.answering import AnsweringCaller, matches_of


class ValidatingDispatcherTests(SynchronousTestCase):
    def setUp(self) -> None:
        self.caller = AnsweringCaller()
        asked = attributes("CREATE", "configmaps", obj={"metadata": {"name": "x"}}, request=request())
        dispatcher = ValidatingDispatcher(host(caller=self.caller))
        self.calling = Deferred.fromCoroutine(dispatcher.call(asked, matches_of(asked, {}, {}, {})))

    def test_at_once(self) -> None:
        """All webhooks are called before the first one answers, and the write waits for all of them."""
        self.assertEqual(len(self.caller.shown), 3)
        for number in (2, 0):
            self.caller.answer(number)
        self.assertNoResult(self.calling)
        self.caller.answer(1)
        self.successResultOf(self.calling)

    def test_first_refusal(self) -> None:
        """Of several refusals the one that came first is told, when all webhooks have answered."""
        self.caller.answer(1, allowed=False)
        self.assertNoResult(self.calling)
        self.caller.answer(0, allowed=False)
        self.caller.answer(2)
        self.assertIn('"1.b.c"', self.failureResultOf(self.calling, StatusError).value.message)
