"""The cache over a store whose earlier state comes back."""

from __future__ import annotations

from twisted.internet.defer import Deferred
from twisted.logger import capturedLogs

from orchtw.errors import Expired
from orchtw.storage.store import (
    Op,
    Restored,
)
from orchtw.watch.selection import Selection
from tests.storage.cache.case import (
    CacheTestCase,
    RecordingFollower,
    Resource,
    past,
)
from tests.watch.watching import RecordingSink, TextWire


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
        gate = self.store.gate = Deferred()
        adding = Deferred.fromCoroutine(self.cacher.add(Resource("/registry/widgets/")))
        self.restore(("widgets/a/old", None), ("widgets/a/new", b"new"))
        gate.callback(None)
        self.assertEqual([entry.key for entry in self.successResultOf(adding).snapshot()], ["a/new"])
