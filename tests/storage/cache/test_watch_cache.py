"""The cache over a store in memory: following, waiting, watching."""
# covers: orchtw.storage.cache.kept, orchtw.storage.cache.resource_cache, orchtw.watch.entry

from __future__ import annotations

import gc

from twisted.internet.defer import Deferred, ensureDeferred
from twisted.logger import capturedLogs, formatEvent

from orchtw.storage.cache.resource import DamagedObject
from orchtw.storage.store import (
    Op,
    Terms,
)
from orchtw.watch.bookmarks import RESOLUTION_S
from orchtw.watch.selection import Selection
from tests.storage.cache.case import (
    CacheTestCase,
    Prepared,
)
from tests.watch.watching import RecordingSink, TextWire


class FollowTests(CacheTestCase):
    def test_changes(self) -> None:
        """Creations, updates and deletions are in the cache when the store has delivered them (reference STORE-5)."""
        pods = self.start()
        self.store.put("/registry/pods/a/x", b"one")
        self.store.put("/registry/pods/a/x", b"two")
        entry = pods.get("a/x")
        assert entry is not None
        self.assertEqual((entry.raw, entry.revision, pods.revision), (b"two", 3, 3))
        self.store.write([Op("/registry/pods/a/x", None)])
        self.assertEqual((pods.get("a/x"), len(pods), list(pods.snapshot()), pods.revision), (None, 0, [], 4))

    def test_notes_spare_decoding(self) -> None:
        """A write of this process brings its entry along: nothing is decoded (reference STORE-16)."""
        pods = self.start()
        self.store.put("/registry/pods/a/x", b"one", Prepared(self.pods, "a/x", b"one"))
        self.assertEqual((self.pods.built, len(pods)), (0, 1))
        self.store.put("/registry/pods/a/y", b"one")
        self.assertEqual((self.pods.built, len(pods)), (1, 2))

    def test_others_cost_a_look(self) -> None:
        """Values of other processes are not decoded where a glance suffices; malformed ones are set aside (reference
        STORE-16).
        """
        pods = self.start()
        self.store.put("/registry/pods/a/x", b"plain n")
        found = pods.get("a/x")
        assert found is not None
        self.assertEqual((self.pods.built, self.pods.glances), (0, [b"plain n"]))
        self.assertEqual((found.key, found.namespace, found.name, found.revision), ("a/x", "a", "x", 2))
        self.assertEqual((found.labels, found.fields, found.raw), ({"l": "plain"}, ("n",), b"PLAIN N"))
        self.store.put("/registry/pods/a/x", b"plain bad")
        self.assertEqual((list(pods.snapshot()), pods.damaged), ([], {"a/x": 3}))

    def test_other_processes_tell(self) -> None:
        """A value of another process of this server is not looked into: its labels and fields came with it."""
        pods = self.start()
        self.store.put("/registry/pods/a/x", b"plain bad", Terms(b"told"))
        found = pods.get("a/x")
        assert found is not None
        self.assertEqual((self.pods.built, self.pods.glances), (0, []))
        self.assertEqual((found.labels, found.fields, found.raw), ({"l": "told"}, ("told",), b"PLAIN BAD"))

    def test_told_of_another_form(self) -> None:
        """A value that is not plain here is decoded, whatever came with it."""
        pods = self.start()
        self.store.put("/registry/pods/a/x", b"other n", Terms(b"told"))
        found = pods.get("a/x")
        self.assertEqual((self.pods.built, found and found.labels), (1, {"l": "other"}))

    def test_not_searched(self) -> None:
        """Later writes cost the garbage collector nothing, however many they are (METRIC-7)."""
        pods = self.start()
        self.store.put("/registry/pods/a/x", b"n")
        entry, event = pods.get("a/x"), pods.log.since(1)[0]
        self.assertEqual((event.new, gc.is_tracked(entry), gc.is_tracked(event)), (entry, False, False))

    def test_entries_share(self) -> None:
        """Equal label sets are one mapping, and an update keeps the key's text."""
        pods = self.start()
        self.store.put("/registry/pods/a/x", b"web n1")
        self.store.put("/registry/pods/a/y", b"web n1")
        first, second = pods.snapshot()
        self.assertIs(first.labels, second.labels)
        self.assertIs(first.namespace, second.namespace)
        self.store.put("/registry/pods/a/x", b"web n1")
        updated = pods.get("a/x")
        assert updated is not None
        self.assertIs(updated.key, first.key)

    def test_undecodable_change(self) -> None:
        """A change that cannot be read is logged with its key and set aside; the rest of its batch arrives."""
        pods = self.start()
        self.store.put("/registry/pods/a/x", b"good")
        sink = RecordingSink()
        pods.watch(Selection(), TextWire(), since=2).start(sink)
        with capturedLogs() as logs:
            self.store.write([Op("/registry/pods/a/x", b"bad"), Op("/registry/pods/a/y", b"good")])
        self.assertEqual([formatEvent(each) for each in logs], [
            "/registry/pods/a/x at 3 is damaged and set aside: it cannot be decoded (not an object)"
        ])
        self.assertEqual(self.flushLoggedErrors(), [])
        self.assertEqual((len(pods), pods.revision), (1, 4))
        self.assertRaises(DamagedObject, pods.get, "a/x")
        self.turn()
        self.assertEqual(sink.lines, ["DELETED a/x@3 good", "ADDED a/y@4 good"])

    def test_one_flush_a_turn(self) -> None:
        """Many batches in a turn are flushed together: each watcher gets one write."""
        pods = self.start()
        sink = RecordingSink()
        pods.watch(Selection(), TextWire(), since=None).start(sink)
        for name in "abc":
            self.store.put(f"/registry/pods/a/{name}")
        self.assertEqual(sink.writes, [])
        self.turn()
        self.assertEqual((sink.lines, len(sink.writes)), (["ADDED a/a@2", "ADDED a/b@3", "ADDED a/c@4"], 1))
        self.store.put("/registry/nodes/n")
        self.assertEqual(self.soon, [])

    def test_lost_flush(self) -> None:
        """Watchers wait for no single call: when one is lost, the next batch brings theirs, or the next tick does."""
        pods = self.start()
        sink = RecordingSink()
        pods.watch(Selection(), TextWire(), since=None).start(sink)
        self.store.put("/registry/pods/a/a")
        self.soon.clear()
        self.store.put("/registry/pods/a/b")
        self.turn()
        self.assertEqual(sink.lines, ["ADDED a/a@2", "ADDED a/b@3"])
        self.store.put("/registry/pods/a/c")
        self.soon.clear()
        self.clock.advance(RESOLUTION_S)
        self.assertEqual(sink.lines, ["ADDED a/a@2", "ADDED a/b@3", "ADDED a/c@4"])


class WaitTests(CacheTestCase):
    def test_reached(self) -> None:
        """A revision that the cache has needs no waiting, whatever resource it was of."""
        self.start()
        self.store.put("/registry/nodes/n")
        self.assertIsNone(self.cacher.freshness.due(2))

    def test_comes(self) -> None:
        """A waiting read goes on as soon as the revision comes, whatever resource it is of."""
        self.start()
        wait = self.cacher.freshness.due(3)
        assert wait is not None
        waiting: Deferred[None] = ensureDeferred(wait)  # type: ignore[arg-type]
        self.store.put("/registry/nodes/n")
        self.assertNoResult(waiting)
        self.store.put("/registry/pods/a/x")
        self.successResultOf(waiting)


class WatchTests(CacheTestCase):
    def test_state_and_changes(self) -> None:
        """A watch without a version shows the selected state, then what follows."""
        pods = self.start()
        self.store.put("/registry/pods/a/x")
        self.store.put("/registry/pods/b/x")
        sink = RecordingSink()
        pods.watch(Selection("a"), TextWire(), since=None).start(sink)
        self.store.write([Op("/registry/pods/a/x", None)])
        self.turn()
        self.assertEqual(sink.lines, ["ADDED a/x@2", "DELETED a/x@4"])

    def test_changes_before_the_start(self) -> None:
        """Events between making a watch and starting it are not lost."""
        pods = self.start()
        self.store.put("/registry/pods/a/x")
        member = pods.watch(Selection(), TextWire(), since=None)
        self.store.put("/registry/pods/a/y")
        self.turn()
        sink = RecordingSink()
        member.start(sink)
        self.assertEqual(sink.lines, ["ADDED a/x@2", "ADDED a/y@3"])

    def test_before_the_cache_began(self) -> None:
        """A watch from before the cache's own start is too old (reference WATCH-2)."""
        self.store.put("/registry/pods/a/x")
        pods = self.start()
        sink = RecordingSink()
        pods.watch(Selection(), TextWire(), since=1).start(sink)
        self.assertEqual(sink.lines, ["ERROR 410 too old resource version: 1 (2)"])

    def test_deadline(self) -> None:
        """The cacher's timer ends watches at their deadline."""
        pods = self.start()
        sink = RecordingSink()
        pods.watch(Selection(), TextWire(), since=None, deadline=self.clock.seconds() + 5).start(sink)
        self.clock.pump([0.25] * 19)
        self.assertEqual(sink.finished, 0)
        self.clock.pump([0.25] * 2)
        self.assertEqual(sink.finished, 1)

    def test_quiet_logs_age(self) -> None:
        """A log loses what is older than the history though nothing new is written, but for the last 100."""
        pods = self.start()
        for _ in range(150):
            self.store.put("/registry/pods/a/x")
        self.clock.pump([30.0] * 11)
        self.assertEqual(len(pods.log), 100)

    def test_stop(self) -> None:
        """Stopping ends all watches normally, the waiting reads too, and leaves no timer."""
        pods = self.start()
        sink = RecordingSink()
        pods.watch(Selection(), TextWire(), since=None).start(sink)
        self.successResultOf(ensureDeferred(self.cacher.stop()))
        self.assertEqual((sink.finished, self.clock.getDelayedCalls(), self.store.deliver), (1, [], None))
