"""The cache over a store in memory: loading, following, snapshots, waiting, watching."""
# covers: orchtw.storage.cache.kept, orchtw.storage.cache.resource_cache, orchtw.watch.entry

from __future__ import annotations

import gc
from collections.abc import AsyncIterator, Sequence

from twisted.internet.defer import Deferred, ensureDeferred
from twisted.logger import capturedLogs, formatEvent

from orchtw.errors import Expired, NotFound, Timeout
from orchtw.rules.selectors import parse_fields, parse_labels
from orchtw.storage import interface
from orchtw.storage.cache.cacher import Cacher
from orchtw.storage.cache.loading import LOG_INTERVAL_S
from orchtw.storage.cache.resource import DamagedObject
from orchtw.storage.interface import (
    SCAN_ITEMS,
    Op,
    Page,
    Restored,
    Terms,
    Wanted,
)
from orchtw.watch.bookmarks import RESOLUTION_S
from orchtw.watch.entry import Entry
from orchtw.watch.selection import Selection
from tests.storage.cache.case import (
    CacheTestCase,
    Prepared,
    RecordingFollower,
    Resource,
    past,
    result,
)
from tests.watch.watching import RecordingSink, TextWire


class StartTests(CacheTestCase):
    def test_load(self) -> None:
        """Everything below /registry/ is loaded, each key into its resource, in key order."""
        for key in ("pods/b/x", "pods/a/z", "pods/a/y", "apps/deployments/a/d", "nodes/n", "unknown/a/b"):
            self.store.put(f"/registry/{key}")
        pods = self.start()
        self.assertEqual([entry.key for entry in pods.snapshot()], ["a/y", "a/z", "b/x"])
        self.assertEqual([entry.revision for entry in pods.snapshot()], [4, 3, 2])
        self.assertEqual([entry.key for entry in self.cacher.of(self.deployments).snapshot()], ["a/d"])
        self.assertEqual([entry.key for entry in self.cacher.of(self.nodes).snapshot()], ["n"])
        self.assertEqual((self.cacher.revision, self.cacher.ready), (7, True))

    def test_pages(self) -> None:
        """Loading goes page by page and misses nothing at the seams."""
        for number in range(2 * SCAN_ITEMS + 1):
            self.store.put(f"/registry/pods/a/{number:05}")
        pods = self.start()
        self.assertEqual((len(pods), self.store.pages), (2 * SCAN_ITEMS + 1, 3))

    def test_damaged_object(self) -> None:
        """A stored value that cannot be decoded is set aside: the others are served, and its key is in the log."""
        self.store.put("/registry/pods/a/a")
        self.store.put("/registry/pods/a/b", b"bad")
        with capturedLogs() as logs:
            pods = self.start()
        self.assertEqual([formatEvent(each) for each in logs], [
            "/registry/pods/a/b at 3 is damaged and set aside: it cannot be decoded (not an object)"
        ])
        self.assertEqual([entry.key for entry in pods.snapshot()], ["a/a"])
        error = self.assertRaises(DamagedObject, pods.get, "a/b")
        self.assertIn("the stored object /registry/pods/a/b is damaged", str(error))
        self.assertEqual(self.cacher.damaged, 1)

    def test_damaged_value(self) -> None:
        """Values that the store reports as damaged are set aside, also at the end of a page."""
        self.patch(interface, "SCAN_ITEMS", 2)
        for name in "abcd":
            self.store.put(f"/registry/pods/a/{name}")
        self.store.damaged = {"/registry/pods/a/b", "/registry/pods/a/d"}
        with capturedLogs():
            pods = self.start()
        self.assertEqual([entry.key for entry in pods.snapshot()], ["a/a", "a/c"])
        self.assertEqual(pods.damaged, {"a/b": 3, "a/d": 5})

    def test_damaged_object_is_replaced_or_removed(self) -> None:
        """A write over a damaged object puts it right, a delete ends it."""
        for name in "ab":
            self.store.put(f"/registry/pods/a/{name}", b"bad")
        with capturedLogs():
            pods = self.start()
        self.store.put("/registry/pods/a/a", b"good")
        self.store.write([Op("/registry/pods/a/b", None)])
        self.assertEqual(([entry.key for entry in pods.snapshot()], pods.damaged), (["a/a"], {}))
        self.assertIsNone(pods.get("a/b"))

    def test_left_unread(self) -> None:
        """Plain values are not looked into until somebody asks, and then once (reference STORE-23)."""
        self.store.put("/registry/pods/a/a", b"plain n")
        self.store.put("/registry/pods/a/b", b"other n")
        pods = self.start()
        found = pods.snapshot()[0]
        self.assertEqual((found.key, found.namespace, found.name, found.revision), ("a/a", "a", "a", 2))
        self.assertEqual((self.pods.glances, self.pods.built, pods.loaded, pods.raw_bytes), ([], 1, 2, 14))
        self.assertEqual((found.labels, found.fields, found.raw), ({"l": "plain"}, ("n",), b"PLAIN N"))
        self.assertEqual((self.pods.glances, type(found)), ([b"plain n"], Entry))
        self.assertIs(pods.get("a/a"), found)

    def test_damage_found_later(self) -> None:
        """A value that fails to be read is damaged from then on, and deleted to watches."""
        for name in "abc":
            self.store.put(f"/registry/pods/a/{name}", b"plain" + b" bad" * (name != "c"))
        pods = self.start()
        follower = RecordingFollower()
        pods.follow(follower)
        first, second, _ = pods.snapshot()
        with capturedLogs() as logs:
            self.assertEqual((first.labels, first.fields, first.raw), ({}, ("",), b"nameplate"))
            self.assertRaises(DamagedObject, pods.get, "a/a")
            self.assertRaises(DamagedObject, pods.get, "a/b")
        self.assertEqual([formatEvent(each) for each in logs], [
            f"/registry/pods/a/{name} at {revision} is damaged and set aside: it cannot be decoded (not an object)"
            for name, revision in (("a", 2), ("b", 3))
        ])
        self.clock.advance(RESOLUTION_S)
        self.assertEqual([entry.key for entry in pods.snapshot()], ["a/c"])
        self.assertEqual((pods.damaged, follower.seen), ({"a/a": 2, "a/b": 3}, ["a/a", "a/b"]))
        self.assertRaises(DamagedObject, pods.get, "a/a")
        self.assertEqual(pods.raw_bytes, len(b"plain"))
        self.store.put("/registry/pods/a/a", b"good")
        self.assertEqual((pods.damaged, second.raw), ({"a/b": 3}, b"nameplate"))

    def test_replaced_before_it_is_set_aside(self) -> None:
        """A write over an object that has just turned out to be damaged puts it right."""
        self.store.put("/registry/pods/a/a", b"plain bad")
        pods = self.start()
        with capturedLogs():
            self.assertRaises(DamagedObject, pods.get, "a/a")
        self.store.put("/registry/pods/a/a", b"good")
        self.clock.advance(RESOLUTION_S)
        found = pods.get("a/a")
        assert found is not None
        self.assertEqual((found.raw, pods.damaged, pods.raw_bytes), (b"good", {}, 4))

    def test_progress(self) -> None:
        """While the caches are filled it can be asked how far that is (reference OPS-13)."""
        for number in range(SCAN_ITEMS + 1):
            self.store.put(f"/registry/pods/a/{number:05}")
        self.store.gate = first = Deferred()
        self.cacher = Cacher(self.store, self.clock, self.soon.append)
        starting = Deferred.fromCoroutine(self.cacher.start([self.pods]))
        self.assertEqual(str(self.cacher.loading), "the store is being opened")
        self.store.gate = second = Deferred()
        with capturedLogs() as logs:
            self.clock.advance(LOG_INTERVAL_S)
            first.callback(None)
            self.turn()
        said = f"{SCAN_ITEMS} objects have been read, at /registry/pods/"
        self.assertEqual(str(self.cacher.loading), said)
        self.assertEqual([formatEvent(each) for each in logs], [f"filling the caches: {said}"])
        second.callback(None)
        self.successResultOf(starting)
        self.successResultOf(ensureDeferred(self.cacher.stop()))

    def test_wanted(self) -> None:
        """Of what no resource has, the store need not read the values."""
        asked: list[bool] = []
        scan = self.store.scan

        async def scanned(prefix: str, *, revision: int = 0, wanted: Wanted = None) -> AsyncIterator[Page]:
            assert wanted is not None
            for key in ("/registry/pods/a/b", "/registry/pods/c", "/registry/podsets/a", "/x", "/registry/pods/d"):
                asked.append(wanted(key))
            async for page in scan(prefix, revision=revision):
                yield page

        self.patch(self.store, "scan", scanned)
        self.start()
        self.assertEqual(asked, [True, True, False, False, True])

    def test_progress_of_another(self) -> None:
        """It can be asked, too, how far a resource is that has come up later (reference OPS-13)."""
        self.start()
        self.store.put("/registry/widgets/a/b")
        self.store.gate = gate = Deferred()
        adding = Deferred.fromCoroutine(self.cacher.add(Resource("/registry/widgets/")))
        self.assertEqual(str(self.cacher.adding), "/registry/widgets/ is being read")
        gate.callback(None)
        self.successResultOf(adding)
        self.assertIsNone(self.cacher.adding)

    def test_unknown_resource(self) -> None:
        """A resource that was never added is not found."""
        self.start()
        self.assertRaises(NotFound, self.cacher.of, Resource("/registry/widgets/"))


class FollowTests(CacheTestCase):
    def test_changes(self) -> None:
        """Creations, updates and deletions are in the cache when the store has delivered them."""
        pods = self.start()
        self.store.put("/registry/pods/a/x", b"one")
        self.store.put("/registry/pods/a/x", b"two")
        entry = pods.get("a/x")
        assert entry is not None
        self.assertEqual((entry.raw, entry.revision, pods.revision), (b"two", 3, 3))
        self.store.write([Op("/registry/pods/a/x", None)])
        self.assertEqual((pods.get("a/x"), len(pods), list(pods.snapshot()), pods.revision), (None, 0, [], 4))

    def test_notes_spare_decoding(self) -> None:
        """A write of this process brings its entry along: nothing is decoded."""
        pods = self.start()
        self.store.put("/registry/pods/a/x", b"one", Prepared(self.pods, "a/x", b"one"))
        self.assertEqual((self.pods.built, len(pods)), (0, 1))
        self.store.put("/registry/pods/a/y", b"one")
        self.assertEqual((self.pods.built, len(pods)), (1, 2))

    def test_others_cost_a_look(self) -> None:
        """Values of other processes are not decoded where a glance suffices; malformed ones are set aside."""
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


class RestoreTests(CacheTestCase):
    """Batches by which an earlier state comes back."""

    def restore(self, *ops: tuple[str, bytes | None], expires: bool = True) -> None:
        """Commit these writes as a restore does."""
        note = Restored(expires)
        self.store.write([Op(f"/registry/{key}", value, note=note) for key, value in ops])

    def test_watches_expire_first(self) -> None:
        """Watches of all resources end with 410 before the first change, followers are told of each of them."""
        pods = self.start()
        self.store.put("/registry/pods/a/x", b"one")
        sinks = [RecordingSink(), RecordingSink()]
        pods.watch(Selection(), TextWire(), since=2).start(sinks[0])
        self.cacher.of(self.nodes).watch(Selection(), TextWire(), since=2).start(sinks[1])
        follower = RecordingFollower()
        pods.follow(follower)
        self.restore(("pods/a/x", None), ("pods/a/y", b"plain n"), ("pods/a/z", b"two"), ("unknown/a", b""))
        for sink in sinks:
            self.assertEqual(sink.lines, ["ERROR 410 too old resource version: 2 (6)"])
        self.assertEqual(follower.seen, ["a/x", "a/y", "a/z"])
        self.turn()
        self.assertEqual([entry.key for entry in pods.snapshot()], ["a/y", "a/z"])
        self.assertEqual((len(pods.log), pods.revision), (0, 6))
        self.assertRaises(Expired, past, pods, 5)

    def test_values_are_read_on_demand(self) -> None:
        """A restored value is not looked into before somebody asks, and counts by its size all the same."""
        pods = self.start()
        self.restore(("pods/a/x", b"plain n"))
        self.assertEqual((self.pods.glances, pods.raw_bytes), ([], 7))
        self.restore(("pods/a/x", b"plain more"))
        self.assertEqual((self.pods.glances, pods.raw_bytes), ([], 10))
        found = pods.get("a/x")
        self.assertEqual((found and found.raw, self.pods.glances), (b"PLAIN MORE", [b"plain more"]))
        self.restore(("pods/a/x", None))
        self.assertEqual((len(pods), pods.raw_bytes), (0, 0))

    def test_late_looks_count_nothing(self) -> None:
        """A look at an entry that has been replaced meanwhile does not change the size of the cache."""
        pods = self.start()
        self.restore(("pods/a/x", b"plain n"))
        old = pods.snapshot()[0]
        self.restore(("pods/a/x", None))
        self.assertEqual((old.raw, pods.raw_bytes), (b"PLAIN N", 0))

    def test_followed_values_are_read_on_demand(self) -> None:
        """Values restored with `watches=follow` are in the log, and are read only for watches that have them."""
        pods = self.start()
        self.restore(("pods/a/x", b"plain n"), ("pods/a/y", b"plain m"), expires=False)
        self.restore(("pods/a/x", None), expires=False)
        self.assertEqual((len(pods.log), self.pods.glances), (3, []))
        sink = RecordingSink()
        pods.watch(Selection(), TextWire(), since=2).start(sink)
        self.assertEqual(sink.lines, ["ADDED a/y@3 PLAIN M", "DELETED a/x@4 PLAIN N"])
        self.assertEqual(self.pods.glances, [b"plain m", b"plain n"])

    def test_few_of_many(self) -> None:
        """A restore of a few objects among many keeps the order, as one of most of them does."""
        pods = self.start()
        self.restore(*((f"pods/a/{number:03}", b"plain n") for number in range(0, 100, 2)))
        self.restore(("pods/a/003", b"plain n"), ("pods/a/004", None))
        names = [entry.name for entry in pods.snapshot()]
        self.assertEqual((names[:4], len(names)), (["000", "002", "003", "006"], 50))

    def test_unreadable_value(self) -> None:
        """A value that cannot be read is set aside, and the others are restored; so is one that replaces it."""
        pods = self.start()
        with capturedLogs():
            self.restore(("pods/a/x", b"bad"), ("pods/a/y", b"good"))
        self.assertEqual(([entry.key for entry in pods.snapshot()], list(pods.damaged)), (["a/y"], ["a/x"]))
        self.restore(("pods/a/x", b"plain n"))
        self.assertEqual(([entry.key for entry in pods.snapshot()], pods.damaged), (["a/x", "a/y"], {}))

    def test_followed_restore(self) -> None:
        """Without expiry it is a batch like any other, for watches too."""
        pods = self.start()
        sink = RecordingSink()
        pods.watch(Selection(), TextWire(), since=1).start(sink)
        self.restore(("pods/a/x", b"one"), ("pods/a/x", None), expires=False)
        self.turn()
        self.assertEqual(sink.lines, ["ADDED a/x@2 one", "DELETED a/x@3 one"])

    def test_resource_that_is_being_added(self) -> None:
        """A resource that is loaded meanwhile has the restored objects afterwards."""
        self.start()
        self.store.put("/registry/widgets/a/old", b"old")
        self.store.gate = gate = Deferred()
        adding = Deferred.fromCoroutine(self.cacher.add(Resource("/registry/widgets/")))
        self.restore(("widgets/a/old", None), ("widgets/a/new", b"new"))
        gate.callback(None)
        self.assertEqual([entry.key for entry in self.successResultOf(adding).snapshot()], ["a/new"])


class ReadTests(CacheTestCase):
    def keys(self, entries: Sequence[Entry]) -> list[str]:
        """Return keys with revisions."""
        return [f"{entry.key}@{entry.revision}" for entry in entries]

    def test_namespace(self) -> None:
        """A namespace's snapshot holds that namespace, not those whose names begin alike."""
        pods = self.start()
        for key in ("a/x", "a-b/x", "a.b/x", "a0/x", "ab/x", "a/w"):
            self.store.put(f"/registry/pods/{key}")
        self.assertEqual(self.keys(pods.snapshot("a")), ["a/w@7", "a/x@2"])

    def test_exact_revision(self) -> None:
        """A snapshot at a revision shows what was there then, in key order (reference STORE-6, READ-5)."""
        pods = self.start()
        for key in ("a/x", "b/y", "a/z"):
            self.store.put(f"/registry/pods/{key}")
        self.store.write([Op("/registry/pods/a/x", None), Op("/registry/pods/b/y", b"new")])
        self.store.put("/registry/pods/a/new")
        self.assertEqual(self.keys(past(pods, 4)), ["a/x@2", "a/z@4", "b/y@3"])
        self.assertEqual(self.keys(past(pods, 4, "a")), ["a/x@2", "a/z@4"])
        self.assertEqual(self.keys(past(pods, 5)), ["a/z@4", "b/y@3"])
        self.assertEqual(self.keys(past(pods, 7)), ["a/new@7", "a/z@4", "b/y@6"])
        self.assertRaises(Timeout, pods.past, 8, Selection())

    def test_expired_revision(self) -> None:
        """A revision before the log raises Expired for lists (410)."""
        self.store.put("/registry/pods/a/x")
        pods = self.start()
        error = self.assertRaises(Expired, pods.past, 1, Selection())
        self.assertEqual(error.message, Expired.list().message)

    def test_pages(self) -> None:
        """A page begins at its start key, inclusive, now or at an exact revision."""
        pods = self.start()
        for key in ("a/x", "a/y", "b/x"):
            self.store.put(f"/registry/pods/{key}")
        self.store.write([Op("/registry/pods/a/y", None)])
        self.assertEqual(self.keys(pods.snapshot(start="a/x\0")), ["b/x@4"])
        self.assertEqual(self.keys(past(pods, 4, start="a/x\0")), ["a/y@3", "b/x@4"])
        self.assertEqual(self.keys(pods.snapshot("a", "a/x")), ["a/x@2"])

    def test_select(self) -> None:
        """Selections are answered in key order; a single object is looked up."""
        pods = self.start()
        for key, value in (("a/x", b"web n1"), ("a/y", b"api n1"), ("b/x", b"web n2")):
            self.store.put(f"/registry/pods/{key}", value)
        names = ("spec.nodeName",)
        table = [
            (Selection(), ["a/x@2", "a/y@3", "b/x@4"]),
            (Selection("a"), ["a/x@2", "a/y@3"]),
            (Selection("", parse_labels("l=web")), ["a/x@2", "b/x@4"]),
            (Selection("", None, parse_fields("spec.nodeName=n1", names), names), ["a/x@2", "a/y@3"]),
            (Selection("a", parse_labels("l=web"), parse_fields("metadata.name=x", ())), ["a/x@2"]),
            (Selection("a", parse_labels("l=api"), parse_fields("metadata.name=x", ())), []),
            (Selection("a", None, parse_fields("metadata.name=none", ())), []),
        ]
        for selection, expected in table:
            self.assertEqual(self.keys(result(pods.select(selection))), expected, f"{selection}")
            present = result(pods.past(pods.revision - 1, selection).steps())
            older = [key for key in expected if key != "b/x@4"]
            self.assertEqual(self.keys([each for each in present if selection.matches(each)]), older, f"{selection}")

    def test_by_name(self) -> None:
        """Of a kind without namespaces one object is looked up by its name; of others it is searched for."""
        pods, nodes = self.start(), self.cacher.of(self.nodes)
        named = Selection("", None, parse_fields("metadata.name=x", ()))
        self.assertEqual((len(nodes.candidates(named)), len(pods.candidates(named))), (0, 0))
        for key in ("nodes/w", "nodes/x", "pods/a/w", "pods/a/x", "pods/b/x"):
            self.store.put(f"/registry/{key}")
        self.assertEqual((self.keys(nodes.candidates(named)), len(pods.candidates(named))), (["x@3"], 3))
        self.assertEqual(self.keys(result(pods.select(named))), ["a/x@5", "b/x@6"])


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
        waiting = ensureDeferred(wait)  # type: ignore[arg-type]
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
