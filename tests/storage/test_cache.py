"""The cache over a store in memory: loading, following, snapshots, waiting, watching."""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from typing import Any

from twisted.internet.defer import Deferred, ensureDeferred, succeed
from twisted.internet.task import Clock
from twisted.logger import capturedLogs, formatEvent
from twisted.python.failure import Failure
from twisted.trial.unittest import SynchronousTestCase

from orchtw.errors import Expired, NotFound, Timeout
from orchtw.rules.selectors import parse_fields, parse_labels
from orchtw.storage import interface
from orchtw.storage.cache import STRIDE, Cacher
from orchtw.storage.cache_resource import ResourceCache
from orchtw.storage.interface import (
    SCAN_ITEMS,
    Change,
    Damaged,
    KeyValue,
    Op,
    Outcome,
    Page,
    Store,
    Subscription,
)
from orchtw.storage.loading import LOG_INTERVAL_S
from orchtw.storage.ordered import Entries
from orchtw.storage.resource import DamagedObject
from orchtw.watch.entry import Entry, Glance
from orchtw.watch.log import Event
from orchtw.watch.selection import Selection
from orchtw.watch.timer_wheel import RESOLUTION_S
from orchtw.watch.turns import SLICE_S
from tests.watch.watching import RecordingSink, TextWire


class FakeSubscription(Subscription):
    """Can be stopped."""

    def __init__(self, store: FakeStore) -> None:
        self._store = store

    def stop(self) -> None:
        self._store.deliver = None


class FakeStore(Store):
    """Keys and revisions in memory; `gate`, when set, holds the next list back after it has been read."""

    shared = False

    def __init__(self) -> None:
        self.items: dict[str, KeyValue] = {}
        self.now = 1
        self.deliver: Callable[[Sequence[Change]], None] | None = None
        self.pages = 0
        self.asked: list[int] = []
        self.gate: Deferred[None] | None = None
        self.damaged: set[str] = set()

    async def start(self) -> None: ...

    async def stop(self) -> None: ...

    async def check(self) -> None: ...

    async def alive(self) -> None: ...

    async def compact(self, revision: int) -> None: ...

    async def revision(self) -> int:
        return self.now

    async def get(self, key: str, revision: int = 0) -> KeyValue | None:
        return self.items.get(key)

    async def list(self, prefix: str, *, revision: int = 0, limit: int = 0, start: str = "") -> Page:
        self.pages += 1
        self.asked.append(revision)
        keys = sorted(key for key in self.items if key.startswith(prefix) and key >= start)
        chosen = [key for key in keys if key not in self.damaged][:limit]
        last = chosen[-1] if len(chosen) == limit else "~"
        bad = [Damaged(key, self.items[key].revision) for key in keys if key in self.damaged and key <= last]
        found = [self.items[key] for key in chosen]
        page = Page(found, revision or self.now, any(key > last for key in keys), damaged=bad)
        if self.gate is not None:
            await self.gate
        return page

    def commit(self, op: Op) -> Deferred[Outcome]:
        self.write([op])
        return succeed(Outcome(self.now))

    async def subscribe(self, after_revision: int, deliver: Callable[[Sequence[Change]], None]) -> Subscription:
        self.deliver = deliver
        return FakeSubscription(self)

    def write(self, ops: Sequence[Op]) -> None:
        """Commit a batch."""
        changes = []
        for op in ops:
            self.now += 1
            previous = self.items.pop(op.key, None)
            if op.value is not None:
                self.items[op.key] = KeyValue(op.key, op.value, self.now, self.now)
            changes.append(Change(self.now, op.key, op.value, previous, op.note))
        if self.deliver is not None:
            self.deliver(changes)

    def put(self, key: str, value: bytes = b"", note: object = None) -> None:
        """Commit one put."""
        self.write([Op(key, value, note=note)])


class Resource:
    """Values are text such as `label node`; counts what had to be decoded."""

    def __init__(self, prefix: str) -> None:
        self.prefix = prefix
        self.built = 0
        self.built_one: Callable[[], None] = lambda: None
        self.glances: list[bytes] = []

    def build(self, key: str, value: bytes, revision: int) -> Entry:
        self.built += 1
        self.built_one()
        return make_entry(key, value, revision)

    def is_plain(self, value: bytes) -> bool:
        return value.startswith(b"plain")

    def glance(self, value: bytes, revision: int) -> Glance:
        self.glances.append(value)
        if value.endswith(b"bad"):
            raise ValueError("not an object")
        entry = make_entry("", value, revision)
        return entry.labels, entry.fields, value.upper()

    def spare(self, entry: Entry, *, drop: bool) -> None:
        """Nothing."""

    def placeholder(self, namespace: str, name: str, revision: int) -> Entry:
        return Entry(f"{namespace}/{name}", namespace, name, revision, {}, ("",), b"nameplate", b"nameplate")


class Prepared:
    """What a writer of this process passes along as note."""

    def __init__(self, stored: object, key: str, value: bytes) -> None:
        self.stored, self.key, self.value = stored, key, value

    def entry(self, revision: int) -> Entry:
        return make_entry(self.key, self.value, revision)


class RecordingFollower:
    """Notes the keys of events, and the end."""

    def __init__(self) -> None:
        self.seen: list[str] = []

    def take(self, event: Event) -> None:
        self.seen.append(event.key)

    def closed(self) -> None:
        self.seen.append("closed")


def make_entry(key: str, value: bytes, revision: int) -> Entry:
    """An entry with label `l` and one field; raises ValueError for the value `bad`."""
    if value == b"bad":
        raise ValueError("not an object")
    namespace, _, name = key.rpartition("/")
    label, _, node = value.decode().partition(" ")
    return Entry(key, namespace, name, revision, {"l": label} if label else {}, (node,), value)


def past(cache: ResourceCache, revision: int, namespace: str = "", start: str = "") -> Sequence[Entry]:
    """A resource as it was at a revision."""
    found: Entries = result(cache.past(revision, Selection(namespace)).steps())
    return found.between(start)


def result(steps: Generator[None, None, Any]) -> Any:
    """What steps lead to."""
    while True:
        try:
            next(steps)
        except StopIteration as done:
            return done.value


class CacheTestCase(SynchronousTestCase):
    """A started cacher over pods, deployments and nodes; `turn` is the end of a reactor turn."""

    def setUp(self) -> None:
        self.clock = Clock()
        self.store = FakeStore()
        self.soon: list[Callable[[], None]] = []
        self.pods = Resource("/registry/pods/")
        self.deployments = Resource("/registry/apps/deployments/")
        self.nodes = Resource("/registry/nodes/")

    def start(self, **options: int) -> ResourceCache:
        """Start; returns the cache of pods."""
        self.cacher = Cacher(self.store, self.clock, self.soon.append, **options)
        self.successResultOf(ensureDeferred(self.cacher.start([self.pods, self.deployments, self.nodes])))
        self.addCleanup(lambda: self.successResultOf(ensureDeferred(self.cacher.stop())))
        return self.cacher.of(self.pods)

    def turn(self) -> None:
        """Run what was asked for soon."""
        soon, self.soon[:] = list(self.soon), []
        for call in soon:
            call()


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
        """What the store itself calls damaged is set aside, also on the last place of a page."""
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
        """What cannot be read when somebody asks for it is damaged from then on, and deleted to watches."""
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
        self.store.write([Op("/registry/pods/a/x", b"bad"), Op("/registry/pods/a/y", b"good")])
        self.assertEqual(len(self.flushLoggedErrors(ValueError)), 1)
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


class ReadTests(CacheTestCase):
    def keys(self, entries: Sequence[Entry]) -> list[str]:
        """Keys with revisions."""
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
        """What happens between making a watch and starting it is not lost."""
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


class RunTimeResourceTests(CacheTestCase):
    def test_added(self) -> None:
        """A resource added at run time brings what the store holds, and follows from there."""
        self.store.put("/registry/example.com/widgets/a/x")
        self.start()
        widgets = Resource("/registry/example.com/widgets/")
        cache = self.successResultOf(ensureDeferred(self.cacher.add(widgets)))
        self.store.put("/registry/example.com/widgets/a/y")
        self.assertEqual([entry.key for entry in cache.snapshot()], ["a/x", "a/y"])
        self.assertIs(self.cacher.of(widgets), cache)

    def test_changes_while_loading(self) -> None:
        """Changes that happen while it is being listed are applied once, after the list."""
        self.start()
        widgets = Resource("/registry/example.com/widgets/")
        self.store.put("/registry/example.com/widgets/x", b"old")
        gate = self.store.gate = Deferred()
        adding = ensureDeferred(self.cacher.add(widgets))
        self.store.put("/registry/example.com/widgets/x", b"new")
        self.store.put("/registry/example.com/widgets/y")
        gate.callback(None)
        cache = self.successResultOf(adding)
        self.assertEqual([(entry.key, entry.raw) for entry in cache.snapshot()], [("x", b"new"), ("y", b"")])
        self.assertEqual(cache.log.oldest, 2)

    def test_removed(self) -> None:
        """Removing a resource ends its watches; it is not found afterwards."""
        pods = self.start()
        sink = RecordingSink()
        pods.watch(Selection(), TextWire(), since=None).start(sink)
        self.store.put("/registry/pods/a/x")
        self.cacher.remove(self.pods)
        self.turn()
        self.assertEqual(sink.finished, 1)
        self.assertRaises(NotFound, self.cacher.of, self.pods)

    def test_removed_in_good_order(self) -> None:
        """What has happened by then is still told, and whoever follows inside the process learns that it is over."""
        pods = self.start()
        sink, follower = RecordingSink(), RecordingFollower()
        pods.watch(Selection(), TextWire(), since=None).start(sink)
        pods.follow(follower)
        self.store.put("/registry/pods/a/x", b"one")
        self.cacher.remove(self.pods)
        self.assertEqual((sink.lines, sink.finished), (["ADDED a/x@2 one"], 1))
        self.assertEqual(follower.seen, ["a/x", "closed"])
        self.store.put("/registry/pods/a/y")
        self.assertEqual(follower.seen, ["a/x", "closed"])

    def test_held_after_removal(self) -> None:
        """Whoever still holds the cache of a removed resource sees its last state; watches on it end at once."""
        pods = self.start()
        self.store.put("/registry/pods/a/x")
        self.cacher.remove(self.pods)
        sink = RecordingSink()
        pods.watch(Selection(), TextWire(), since=None).start(sink)
        self.assertEqual((sink.finished, [entry.key for entry in pods.snapshot()]), (1, ["a/x"]))

    def test_failed_list(self) -> None:
        """When the list fails, the resource has not been added, and counts for nothing."""
        self.start()
        widgets = Resource("/registry/example.com/widgets/")
        logs = len(self.cacher.room.history._logs)
        gate = self.store.gate = Deferred()
        adding = ensureDeferred(self.cacher.add(widgets))
        gate.errback(Failure(OSError()))
        self.failureResultOf(adding, OSError)
        self.assertRaises(NotFound, self.cacher.of, widgets)
        self.assertEqual(len(self.cacher.room.history._logs), logs)

    def test_store_ahead_of_the_feed(self) -> None:
        """It is listed at the revision that the cache has reached, wherever the store is, and goes on from there."""
        self.start()
        self.store.put("/registry/pods/a/x")
        self.store.asked.clear()
        deliver, self.store.deliver = self.store.deliver, None
        widgets = Resource("/registry/example.com/widgets/")
        self.store.put("/registry/pods/a/y")
        gate = self.store.gate = Deferred()
        adding = ensureDeferred(self.cacher.add(widgets))
        self.store.put("/registry/example.com/widgets/x")
        assert deliver is not None
        deliver([Change(3, "/registry/pods/a/y", b"", None), Change(4, "/registry/example.com/widgets/x", b"", None)])
        gate.callback(None)
        cache = self.successResultOf(adding)
        self.assertEqual((self.store.asked, cache.log.oldest), ([2], 2))
        self.assertEqual([(entry.key, entry.revision) for entry in cache.snapshot()], [("x", 4)])

    def test_replaced(self) -> None:
        """One with the same keys takes the other's place when it is loaded; until then nothing has changed."""
        pods = self.start()
        self.store.put("/registry/pods/a/x", b"one")
        sink = RecordingSink()
        pods.watch(Selection(), TextWire(), since=1).start(sink)
        gate = self.store.gate = Deferred()
        adding = ensureDeferred(self.cacher.add(Resource("/registry/pods/")))
        self.store.put("/registry/pods/a/y", b"two")
        self.turn()
        self.assertIs(self.cacher.of(self.pods), pods)
        self.assertEqual((sink.lines, sink.finished), (["ADDED a/x@2 one", "ADDED a/y@3 two"], 0))
        gate.callback(None)
        cache = self.successResultOf(adding)
        self.assertIs(self.cacher.of(self.pods), cache)
        self.assertEqual(([entry.key for entry in cache.snapshot()], sink.finished), (["a/x", "a/y"], 1))

    def test_slices(self) -> None:
        """At run time a large resource is taken over in many small steps: others have their turn between them."""
        self.start()
        for number in range(5 * STRIDE):
            self.store.put(f"/registry/example.com/widgets/{number}")
        widgets = Resource("/registry/example.com/widgets/")
        widgets.built_one = lambda: self.clock.advance(SLICE_S / STRIDE)
        adding = Deferred.fromCoroutine(self.cacher.add(widgets))
        turns = 0
        while not adding.called:
            self.turn()
            turns += 1
        self.assertEqual(len(self.successResultOf(adding)), 5 * STRIDE)
        self.assertGreaterEqual(turns, 4)
