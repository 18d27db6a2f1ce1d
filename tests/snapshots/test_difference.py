"""Differences between states, as the writes that undo them."""
# covers: orchtw.snapshots.extent

from __future__ import annotations

from typing import Any, cast

from twisted.internet.defer import Deferred
from twisted.internet.task import Clock
from twisted.trial.unittest import SynchronousTestCase

from orchtw.client.vital_signs import SIGNS
from orchtw.registry.allocation.services import RECORDS
from orchtw.snapshots.difference import difference
from orchtw.snapshots.extent import DEFINITIONS, LEFT_ALONE, Extent
from orchtw.snapshots.snapshots import Snapshot, Snapshots
from orchtw.storage.memory.store import MemoryStore
from orchtw.storage.store import Damaged, Op, Page, Restored, Store

NOTE = Restored(expires=True)


class DifferenceTests(SynchronousTestCase):
    """A store in memory, and what has changed in it."""

    def setUp(self) -> None:
        """Start a store on a clock."""
        self.clock = Clock()
        self.store = MemoryStore(clock=self.clock)
        self.result(self.store.start())
        self.extent = Extent(["/registry/leases/kube-system/mine"])

    def result(self, coroutine: Any) -> Any:
        """Return the result of a call, with the turns that it needs."""
        waiting = Deferred.fromCoroutine(coroutine)
        for _ in range(100):
            self.clock.advance(0)
        return self.successResultOf(waiting)

    def write(self, **values: str | None) -> None:
        """Write config maps by name; None deletes one."""
        for name, value in values.items():
            self.store.commit(Op(f"/registry/configmaps/a/{name}", None if value is None else value.encode()))
        self.clock.advance(0)

    def snapshot(self) -> Snapshot:
        """Take a snapshot of the store."""
        taken: Snapshot = self.result(Snapshots(self.store).take(self.extent, 0.0))
        return taken

    def ops(self, snapshot: Snapshot) -> dict[str, bytes | None]:
        """Return the writes that bring it back, by key, in their order."""
        found = self.result(difference(self.store, snapshot, self.extent))
        return {op.key: op.value for op in found.ops(NOTE, {"/registry/events/": 60.0})}

    def test_least_writes(self) -> None:
        """Creations, changes and deletions are undone; values that are as they were, even by detours, stay."""
        self.write(same="1", changed="1", deleted="1", back="1", again="1")
        snapshot = self.snapshot()
        self.write(changed="2", deleted=None, back="2", new="1", again=None, gone="1")
        self.write(back="1", again="1", gone=None)
        self.assertEqual(self.ops(snapshot), {
            "/registry/configmaps/a/changed": b"1",
            "/registry/configmaps/a/deleted": b"1",
            "/registry/configmaps/a/new": None,
        })

    def test_pages(self) -> None:
        """States of more than one page are compared as a whole, at one revision."""
        self.write(**{f"x{number:05}": "1" for number in range(12_000)})
        for _ in range(60):
            self.clock.advance(0)
        snapshot = self.snapshot()
        self.assertEqual((len(snapshot.items), snapshot.size_bytes), (12_000, 12_000))
        self.write(x00000="2", x06000=None, x11999="2", y="1")
        self.assertEqual(len(self.ops(snapshot)), 4)
        self.assertEqual(self.ops(self.snapshot()), {})

    def test_keys_that_stay(self) -> None:
        """Records of servers and signs of leaders, and Leases that this server renews, are in no snapshot and no
        difference; numbers taken by Services are (reference STORE-41).
        """
        others = [f"{prefix.rstrip('/')}/x" for prefix in LEFT_ALONE] + ["/registry/leases/kube-system/mine"]
        self.assertIn(SIGNS, LEFT_ALONE)
        for key in (*others, "/registry/leases/kube-system/theirs", f"{RECORDS}serviceips/0"):
            self.store.commit(Op(key, b"1"))
        self.clock.advance(0)
        snapshot = self.snapshot()
        self.assertEqual(list(snapshot.items), ["/registry/leases/kube-system/theirs", f"{RECORDS}serviceips/0"])
        for key in others:
            self.store.commit(Op(key, b"2"))
        self.store.commit(Op(f"{LEFT_ALONE[0]}new", b"2"))
        self.clock.advance(0)
        self.assertEqual(self.ops(snapshot), {})

    def test_lease_that_is_renewed_by_now(self) -> None:
        """A Lease that was taken after the snapshot is left alone as well."""
        self.store.commit(Op("/registry/leases/kube-system/later", b"1"))
        self.clock.advance(0)
        snapshot = self.snapshot()
        self.store.commit(Op("/registry/leases/kube-system/later", b"2"))
        self.clock.advance(0)
        self.extent = Extent(["/registry/leases/kube-system/later"])
        self.assertEqual(self.ops(snapshot), {})

    def test_order(self) -> None:
        """Definitions are deleted after everything else, objects of their kinds before."""
        snapshot = self.snapshot()
        for key in (f"{DEFINITIONS}gizmos.example.com", "/registry/example.com/gizmos/a/g", "/registry/events/a/e"):
            self.store.commit(Op(key, b"1"))
        self.clock.advance(0)
        keys = ["/registry/events/a/e", "/registry/example.com/gizmos/a/g", f"{DEFINITIONS}gizmos.example.com"]
        self.assertEqual(list(self.ops(snapshot)), keys)

    def test_lifetimes(self) -> None:
        """Values of kinds that expire are written with their lifetime, others without; all have the note."""
        for key in ("/registry/events/a/e", "/registry/pods/a/p"):
            self.store.commit(Op(key, b"1"))
        self.clock.advance(0)
        snapshot = self.snapshot()
        for key in snapshot.items:
            self.store.commit(Op(key, None))
        self.clock.advance(0)
        ops = self.result(difference(self.store, snapshot, self.extent)).ops(NOTE, {"/registry/events/": 60.0})
        self.assertEqual([(op.key, op.ttl_s, op.note) for op in ops], [
            ("/registry/events/a/e", 60.0, NOTE),
            ("/registry/pods/a/p", 0.0, NOTE),
        ])

    def test_unreadable_values(self) -> None:
        """An unreadable value is replaced by the readable one from before, deleted if there was nothing, and left
        alone if it was unreadable before.
        """
        self.write(a="1", b="1")
        store = Spoiling(self.store, ["/registry/configmaps/a/b"])
        snapshot: Snapshot = self.result(Snapshots(cast("Store", store)).take(self.extent, 0.0))
        self.assertEqual((list(snapshot.items), list(snapshot.unreadable)), (
            ["/registry/configmaps/a/a"], ["/registry/configmaps/a/b"]
        ))
        self.write(c="1")
        later = Spoiling(self.store, [f"/registry/configmaps/a/{name}" for name in "abc"])
        found = self.result(difference(cast("Store", later), snapshot, self.extent))
        self.assertEqual({each.key[-1]: each.after for each in found.values}, {"a": b"1", "c": None})


class Spoiling:
    """A store some of whose values cannot be read."""

    def __init__(self, store: MemoryStore, keys: list[str]) -> None:
        self._store, self._keys = store, keys

    async def scan(self, prefix: str) -> Any:
        async for page in self._store.scan(prefix):
            damaged = [Damaged(item.key, item.revision) for item in page.items if item.key in self._keys]
            yield Page([item for item in page.items if item.key not in self._keys], page.revision, damaged=damaged)
