"""Calls of several mutating webhooks about one write (reference HOOK-15, HOOK-17, HOOK-18)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast

from twisted.internet.defer import Deferred
from twisted.trial.unittest import SynchronousTestCase

from orchtw.admission.attributes import Attributes
from orchtw.admission.webhooks.mutating import MutatingDispatcher
from orchtw.admission.webhooks.plans import Match
from orchtw.errors import StatusError
from orchtw.wire.objects import Object
from tests.admission.asked import attributes, host, request
from tests.admission.webhooks.answering import AnsweringCaller, matches_of


class FixedSelection:
    """A selection that the object does not change."""

    def __init__(self, matches: Sequence[Match]) -> None:
        self._matches = matches

    def wanted(self, after: int = -1) -> Sequence[Match]:
        """Return the matches after a position."""
        return [match for match in self._matches if match.position > after]


def labelled(value: str) -> Object:
    return {"op": "add", "path": "/metadata/labels", "value": {"by": value}}


class MutatingDispatcherTests(SynchronousTestCase):
    def setUp(self) -> None:
        self.caller = AnsweringCaller()
        self.dispatcher = MutatingDispatcher(host(caller=self.caller))
        self.asked = attributes("CREATE", "configmaps", obj={"metadata": {"name": "x"}}, request=request())

    def call(self, *settings: Any, asked: Attributes | None = None) -> Deferred[None]:
        asked = asked or self.asked
        selection: Any = FixedSelection(matches_of(asked, *settings))
        return Deferred.fromCoroutine(self.dispatcher.call(asked, selection, selection.wanted()))

    def test_in_turn(self) -> None:
        """A webhook is called when the one before it has answered, and sees its change (HOOK-15)."""
        calling = self.call({}, {})
        self.assertEqual(len(self.caller.shown), 1)
        self.caller.answer(0, labelled("0"))
        labels = [each["object"]["metadata"].get("labels") for each in self.caller.shown]
        self.assertEqual(labels, [None, {"by": "0"}])
        self.caller.answer(1)
        self.successResultOf(calling)
        self.assertEqual(cast("Object", self.asked.obj)["metadata"]["labels"], {"by": "0"})

    def test_refusal(self) -> None:
        """The first refusal ends the write: later webhooks are not called."""
        calling = self.call({}, {})
        self.caller.answer(0, allowed=False)
        self.failureResultOf(calling, StatusError)
        self.assertEqual(len(self.caller.shown), 1)

    def test_second_round(self) -> None:
        """Only webhooks with reinvocationPolicy IfNeeded before a change are called again (HOOK-18)."""
        settings: tuple[Object, ...] = ({"reinvocationPolicy": "IfNeeded"}, {}, {"reinvocationPolicy": "IfNeeded"})
        calling = self.call(*settings)
        self.caller.answer(0)
        self.caller.answer(1, labelled("1"))
        self.caller.answer(2)
        self.successResultOf(calling)
        self.asked.round = 1
        calling = self.call(*settings)
        self.caller.answer(3)
        self.successResultOf(calling)
        self.assertEqual(len(self.caller.shown), 4)
