"""The store in memory: conformance, limits, bounded history, and a model of all of it."""
# covers: orchtw.storage.memory.versions

from __future__ import annotations

from typing import Any

from twisted.internet import reactor as installed_reactor
from twisted.internet.defer import Deferred
from twisted.internet.task import Clock
from twisted.trial.unittest import SynchronousTestCase, TestCase

from orchtw import errors
from orchtw.storage.memory.store import CHANGE_BYTES, MAX_BATCH_OPS, MemoryStore
from orchtw.storage.memory.versions import Versions
from orchtw.storage.store import KeyValue, Op, Store
from orchtw.storage.testing import PODS, Recorder, StoreConformance
from tests.storage import model
from tests.storage.quick_ends import QuickEnds

reactor: Any = installed_reactor


class MemoryConformanceTests(QuickEnds, StoreConformance, TestCase):
    """The store in memory (reference STORE-1, STORE-36)."""

    def make_store(self) -> Store:
        """Return an empty store."""
        return MemoryStore(clock=reactor, compaction_interval_s=0)


class MemoryModelTests(model.ModelRules):
    """The store against a model, with compactions in between."""

    keeps = False

    async def open_store(self, number: int) -> Store:
        """Return an empty store."""
        store = MemoryStore(clock=reactor, compaction_interval_s=0)
        await store.start()
        return store


class MemoryStoreCase(SynchronousTestCase):
    """Tests on a clock of their own."""

    def setUp(self) -> None:
        """Start a store on a clock."""
        self.clock = Clock()
        self.store = self.started()

    def started(self, **settings: Any) -> MemoryStore:
        """Return a started store with these settings."""
        store = MemoryStore(clock=self.clock, **settings)
        self.successResultOf(Deferred.fromCoroutine(store.start()))
        return store

    def put(self, key: str, value: bytes = b"v", **more: Any) -> int:
        """Write and wait a turn; return the revision."""
        answer = self.store.commit(Op(key, value, **more))
        self.clock.advance(0)
        return self.successResultOf(answer).revision

    def result(self, coroutine: Any) -> Any:
        """Return the result of a call that ends at once."""
        return self.successResultOf(Deferred.fromCoroutine(coroutine))


class TurnTests(MemoryStoreCase):
    """Turns of the reactor."""

    def test_writes_of_a_turn_are_one_batch(self) -> None:
        """No write is answered, or seen, in the turn of its call; those of one turn are told of together."""
        batches: list[Any] = []
        self.result(self.store.subscribe(1, batches.append))
        answers = [self.store.commit(Op(f"/{number}", b"")) for number in range(3)]
        for answer in answers:
            self.assertNoResult(answer)
        self.assertEqual((batches, self.result(self.store.list("/")).items), ([], []))
        self.clock.advance(0)
        self.assertEqual([len(batch) for batch in batches], [3])
        self.assertEqual([self.successResultOf(answer).revision for answer in answers], [2, 3, 4])

    def test_turn_is_bounded(self) -> None:
        """More writes than one turn takes are decided and answered in the next ones, in order."""
        sizes: list[int] = []
        self.result(self.store.subscribe(1, lambda changes: sizes.append(len(changes))))
        answers = [self.store.commit(Op(f"/{number}", b"")) for number in range(MAX_BATCH_OPS + 1)]
        self.clock.advance(0)
        self.assertEqual(sizes, [MAX_BATCH_OPS, 1])
        self.assertEqual(self.successResultOf(answers[-1]).revision, MAX_BATCH_OPS + 2)

    def test_replacement_keeps_its_place(self) -> None:
        """A replacement among writes sees those before it and none of those after it."""
        self.store.commit(Op("/a", b"1"))
        replaced = self.store.replace([Op("/a", None)], 2)
        after = self.store.commit(Op("/a", b"2", 0))
        self.clock.advance(0)
        self.clock.advance(0)
        self.assertEqual(self.successResultOf(replaced), 3)
        self.assertEqual(self.successResultOf(after).revision, 4)

    def test_write_from_within_a_feed(self) -> None:
        """A subscriber that writes while it is told of a change is told of its own write afterwards."""
        recorder = Recorder()
        self.result(self.store.subscribe(1, recorder.deliver))
        recorder.on_change = lambda: self.put_once("/b")
        self.put("/a")
        self.clock.advance(0)
        self.assertEqual([change.key for change in recorder.changes], ["/a", "/b"])

    def put_once(self, key: str) -> None:
        """Write, unless the key is there."""
        self.store.commit(Op(key, b"", 0))

    def test_queue_is_bounded(self) -> None:
        """Writes over either bound of the queue are refused with TooManyRequests; the queued ones are made."""
        for settings in ({"max_queued_ops": 2}, {"max_queued_bytes": 10}):
            store = self.started(**settings)
            answers = [store.commit(Op(f"/{number}", b"12345")) for number in range(3)]
            refusal = self.failureResultOf(answers[2], errors.TooManyRequests)
            self.assertEqual(refusal.value.retry_after_s, 1)
            self.clock.advance(0)
            self.assertEqual([self.successResultOf(answer).revision for answer in answers[:2]], [2, 3])
            self.assertEqual([family.name for family in store.metrics()][0], "orchtw_store_queued_writes")


class HistoryTests(MemoryStoreCase):
    """History: how long it is kept, and that nothing of it is left."""

    def changes(self) -> int:
        """Return how many changes the store keeps."""
        return self.store._versions.changes

    def turns(self, count: int = 20) -> None:
        """Let the clock turn a few times without passing."""
        for _ in range(count):
            self.clock.advance(0)

    def test_history_is_kept_one_interval(self) -> None:
        """After an interval what was current one interval ago can be read, and nothing older (STORE-4)."""
        old = self.put("/a", b"1")
        self.clock.advance(299)
        self.put("/a", b"2")
        self.clock.advance(2)
        self.assertEqual(self.result(self.store.get("/a", old)), KeyValue("/a", b"1", old, old))
        last = self.put("/a", b"3")
        self.clock.advance(300)
        self.turns()
        self.failureResultOf(Deferred.fromCoroutine(self.store.get("/a", old)), errors.Expired)
        self.assertEqual(self.changes(), 1)
        self.clock.advance(300)
        self.turns()
        self.assertEqual(self.changes(), 0)
        self.assertEqual(self.result(self.store.get("/a", last)).value, b"3")

    def test_history_is_bounded_between_intervals(self) -> None:
        """A flood of writes is cut before the interval is over: twice the bound at most is kept."""
        self.store = self.started(history_bytes=100 * CHANGE_BYTES)
        for number in range(1000):
            self.put(f"/{number % 7}")
            self.assertLess(self.changes(), 210)
        self.assertEqual(len(self.store._versions), 7)

    def test_deleted_keys_leave_nothing(self) -> None:
        """Once compacted, deleted keys take no room, and long lists do not look at them."""
        for number in range(50):
            self.put(f"/{number}")
        for number in range(50):
            self.store.commit(Op(f"/{number}", None))
        self.clock.advance(0)
        self.result(self.store.compact(self.result(self.store.revision())))
        self.turns()
        versions = self.store._versions
        self.assertEqual((versions._keys, versions._past, versions._changes, len(versions)), ([], {}, [], 0))

    def test_notes_are_not_kept(self) -> None:
        """Live subscribers get the note of a write, and the history does not hold it (`Change`)."""
        note, recorder = object(), Recorder()
        self.result(self.store.subscribe(1, recorder.deliver))
        self.put("/a", note=note)
        later = Recorder()
        self.result(self.store.subscribe(1, later.deliver))
        self.assertEqual((recorder.changes[0].note, later.changes[0].note), (note, None))

    def test_stop_ends_all_timers(self) -> None:
        """Nothing is left on the clock after a stop, whatever was under way."""
        self.put("/a", ttl_s=60)
        self.store.commit(Op("/a", b"2"))
        self.result(self.store.compact(2))
        self.result(self.store.stop())
        self.assertEqual(self.clock.getDelayedCalls(), [])


class VersionsTests(SynchronousTestCase):
    """Costs that follow the answer."""

    def test_page_looks_at_its_own_keys(self) -> None:
        """A page of a past revision reads as many keys as it has, and counts the rest without reading them."""
        versions = Versions()
        for number in range(1000):
            versions.write(Op(f"{PODS}{number:04}", b""))
        versions.compact(versions.revision)
        versions.sweep(2000)
        versions.write(Op(f"{PODS}0500", None))
        looks: list[str] = []
        at = versions._at
        versions._at = lambda key, revision: looks.append(key) or at(key, revision)  # type: ignore[method-assign,func-returns-value]
        page = versions.page(PODS, 0, 10, "")
        self.assertEqual((len(page.items), page.remaining, page.more), (10, 989, True))
        self.assertLess(len(looks), 15)

    def test_keys_of_the_past_are_listed(self) -> None:
        """Between live keys, deleted ones show in the states in which they were there."""
        versions = Versions()
        for name in "abc":
            versions.write(Op(f"/{name}", b""))
        versions.write(Op("/b", None))
        shown = [[item.key for item in versions.page("", revision, 0, "").items] for revision in (4, 5)]
        self.assertEqual(shown, [["/a", "/b", "/c"], ["/a", "/c"]])
        self.assertEqual(versions.page("", 5, 1, "").remaining, 1)
        self.assertEqual(versions.page("", 4, 1, "").remaining, 2)
