"""The store in memory that the other tests use."""

from __future__ import annotations

from twisted.internet.task import Clock
from twisted.trial.unittest import SynchronousTestCase

from orchtw.storage.store import Change, Op
from tests.client.world import MemoryStore


class MemoryStoreTests(SynchronousTestCase):
    def setUp(self) -> None:
        self.clock = Clock()
        self.store = MemoryStore(self.clock)

    def revision(self, op: Op) -> int:
        answer = self.store.commit(op)
        self.assertNoResult(answer)
        self.clock.advance(0)
        return self.successResultOf(answer).revision

    def test_preconditions(self) -> None:
        """A write succeeds only if its key has the expected revision; 0 expects that the key is absent."""
        self.assertEqual(self.revision(Op("k", b"1", 0)), 2)
        self.assertEqual(self.revision(Op("k", b"2", 0)), 0)
        self.assertEqual(self.revision(Op("k", b"2", 2)), 3)
        self.assertEqual(self.revision(Op("k", None, 2)), 0)
        self.assertEqual(self.revision(Op("k", None, 3)), 4)
        self.assertEqual(self.revision(Op("k", None)), 0)

    def test_batches(self) -> None:
        """The writes of one turn are delivered in one batch, before they are answered."""
        seen: list[object] = []
        store = self.store

        def deliver(changes: object) -> None:
            assert isinstance(changes, list)
            seen.append([change.key for change in changes if isinstance(change, Change)])

        subscribing = store.subscribe(1, deliver)
        try:
            subscribing.send(None)
        except StopIteration as done:
            subscription = done.value
        for key in ("a", "b"):
            store.commit(Op(key, b"")).addCallback(lambda outcome: seen.append(outcome.revision))
        self.clock.advance(0)
        self.assertEqual(seen, [["a", "b"], 2, 3])
        subscription.stop()
        store.commit(Op("c", b""))
        self.clock.advance(0)
        self.assertEqual(len(seen), 3)
