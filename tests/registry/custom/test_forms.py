"""Forms that a webhook makes: each is asked for once for all waiters (reference CRD-42)."""

from __future__ import annotations

from collections.abc import Sequence

from twisted.internet.defer import CancelledError, Deferred, ensureDeferred
from twisted.trial.unittest import SynchronousTestCase

from orchtw.errors import InternalError, StatusError
from orchtw.registry.custom import forms
from orchtw.registry.custom.forms import WebhookForms
from orchtw.watch.entry import Entry


class Version:
    """Makes forms when it is told to."""

    def __init__(self) -> None:
        self.made: set[Entry] = set()
        self.asked: list[tuple[list[str], Sequence[Entry], Deferred[None]]] = []

    def has_json(self, entry: Entry) -> bool:
        return entry in self.made

    async def make(self, entries: Sequence[Entry]) -> None:
        waiting: Deferred[None] = Deferred()
        self.asked.append(([entry.key for entry in entries], entries, waiting))
        await waiting
        self.made.update(entries)

    @property
    def keys(self) -> list[list[str]]:
        """Return the requests, call by call."""
        return [keys for keys, _, _ in self.asked]


class FormsTests(SynchronousTestCase):
    def setUp(self) -> None:
        self.version = Version()
        self.forms = WebhookForms(self.version, {})
        self.a, self.b, self.c = (Entry(key, "n", key, 1, {}, (), b"{}") for key in "abc")

    def ensure(self, *entries: Entry) -> Deferred[None]:
        return ensureDeferred(self.forms.ensure(entries))

    def answer(self, number: int, error: Exception | None = None) -> None:
        waiting = self.version.asked[number][2]
        waiting.callback(None) if error is None else waiting.errback(error)

    def test_there(self) -> None:
        """Existing forms take no call."""
        self.version.made.add(self.a)
        self.successResultOf(self.ensure(self.a, self.a))
        self.assertEqual((self.version.asked, self.forms.lacks(self.a), self.forms.lacks(self.b)), ([], False, True))

    def test_shared(self) -> None:
        """Forms in flight are waited for."""
        first, second = self.ensure(self.a, self.b, self.a), self.ensure(self.b, self.c)
        self.assertEqual(self.version.keys, [["a", "b"], ["c"]])
        self.answer(1)
        self.assertNoResult(second)
        self.answer(0)
        self.successResultOf(first)
        self.successResultOf(second)
        self.assertEqual(self.version.keys, [["a", "b"], ["c"]])

    def test_faults_of_others(self) -> None:
        """When a call for others fails, one's own part of it is asked for alone."""
        first, second = self.ensure(self.a, self.b), self.ensure(self.b)
        self.answer(0, InternalError("a is bad"))
        self.failureResultOf(first, InternalError)
        self.assertEqual(self.version.keys, [["a", "b"], ["b"]])
        self.answer(1)
        self.successResultOf(second)

    def test_leaving(self) -> None:
        """A waiter that leaves does not cancel the call of others."""
        first, second = self.ensure(self.a), self.ensure(self.a)
        first.cancel()
        self.failureResultOf(first, CancelledError)
        self.answer(0)
        self.successResultOf(second)
        self.assertEqual(self.version.keys, [["a"]])

    def test_many(self) -> None:
        """Of very many, so many are asked for at a time."""
        self.patch(forms, "CHUNK", 2)
        done = self.ensure(self.a, self.b, self.c)
        self.assertEqual(self.version.keys, [["a", "b"]])
        self.answer(0)
        self.answer(1)
        self.successResultOf(done)
        self.assertEqual(self.version.keys, [["a", "b"], ["c"]])

    def test_prepare(self) -> None:
        """Watches are told when it is done, or why it cannot be."""
        told: list[StatusError | None] = []
        self.forms.prepare([self.a], told.append)
        self.answer(0)
        refusal = InternalError("no")
        self.forms.prepare([self.b], told.append)
        self.answer(1, refusal)
        self.forms.prepare([self.c], told.append)
        self.answer(2, ZeroDivisionError())
        self.forms.prepare([self.a, self.b], told.append)
        self.answer(3, CancelledError())
        self.assertEqual((told[:2], len(told)), ([None, refusal], 4))
        assert told[2] is not None
        self.assertEqual(told[2].message, "Internal error occurred: the watch could not be continued")
        self.assertEqual(len(self.flushLoggedErrors(ZeroDivisionError)), 1)
