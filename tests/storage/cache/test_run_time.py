"""Resources that come and go while the cache follows the store."""

from __future__ import annotations

from twisted.internet.defer import Deferred, ensureDeferred
from twisted.python.failure import Failure

from orchtw.errors import NotFound
from orchtw.storage.cache.watch_cache import STRIDE
from orchtw.storage.store import (
    Change,
)
from orchtw.watch.selection import Selection
from orchtw.watch.turns import SLICE_S
from tests.storage.cache.case import (
    CacheTestCase,
    RecordingFollower,
    Resource,
)
from tests.watch.watching import RecordingSink, TextWire


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
        """Earlier events are still delivered, and followers in the process learn of the end."""
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
        """The cache of a removed resource shows its last state; watches on it end at once."""
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
