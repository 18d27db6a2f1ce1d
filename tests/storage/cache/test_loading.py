"""Loading of the cache at its start, with damaged objects set aside."""

from __future__ import annotations

from collections.abc import AsyncIterator

from twisted.internet.defer import Deferred, ensureDeferred
from twisted.logger import capturedLogs, formatEvent

from orchtw.errors import NotFound
from orchtw.storage import store as contract
from orchtw.storage.cache.loading import LOG_INTERVAL_S
from orchtw.storage.cache.resource import DamagedObject
from orchtw.storage.cache.watch_cache import Cacher
from orchtw.storage.store import (
    SCAN_ITEMS,
    Op,
    Page,
    Wanted,
)
from orchtw.watch.bookmarks import RESOLUTION_S
from orchtw.watch.entry import Entry
from tests.storage.cache.case import (
    CacheTestCase,
    RecordingFollower,
    Resource,
)


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
        self.patch(contract, "SCAN_ITEMS", 2)
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
        first = self.store.gate = Deferred()
        self.cacher = Cacher(self.store, self.clock, self.soon.append)
        starting = Deferred.fromCoroutine(self.cacher.start([self.pods]))
        self.assertEqual(str(self.cacher.loading), "the store is being opened")
        second = self.store.gate = Deferred()
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
        gate = self.store.gate = Deferred()
        adding = Deferred.fromCoroutine(self.cacher.add(Resource("/registry/widgets/")))
        self.assertEqual(str(self.cacher.adding), "/registry/widgets/ is being read")
        gate.callback(None)
        self.successResultOf(adding)
        self.assertIsNone(self.cacher.adding)

    def test_unknown_resource(self) -> None:
        """A resource that was never added is not found."""
        self.start()
        self.assertRaises(NotFound, self.cacher.of, Resource("/registry/widgets/"))
