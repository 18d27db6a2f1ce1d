"""Steps that all writes have in common: the commit and its entry."""

from __future__ import annotations

import msgspec

from orchtw.errors import Fenced
from orchtw.metrics.registry import Registry
from orchtw.registry.offload import Offload
from orchtw.registry.reservations import Hold
from orchtw.registry.write import Write
from orchtw.storage.metrics import StoreTimes
from orchtw.storage.store import Guard, Op
from orchtw.writes.steps import Steps, committed
from tests.registry.writing import WriteTestCase

KEY = "/registry/configmaps/a/y"


class Released:
    """Reservation that counts its releases."""

    def __init__(self) -> None:
        self.releases = 0

    def keep(self) -> None: ...

    def release(self) -> None:
        self.releases += 1

    def doubt(self) -> None: ...


class CommitTests(WriteTestCase):
    """Commits of writes that have a guard, a note or reservations."""

    def setUp(self) -> None:
        """Steps that put a mark into the note of each commit."""
        super().setUp()
        times = StoreTimes(Registry(), self.world.naming)
        self.notes: list[object] = []
        self.steps = Steps(self.world.store, Offload(self.world.clock), None, times, self.annotate)

    def annotate(self, write: Write, op: Op) -> Op:
        """Note the commit of a write."""
        self.notes.append((write.name, op.key))
        return msgspec.structs.replace(op, value=b"annotated")

    def commit(self, hold: Hold | None = None, **more: object) -> int:
        """Return the revision of a commit."""
        write = self.write(self.maps, "y", **more)
        return self.world.run(self.steps.commit(write, Op(KEY, b"plain", 0), hold)).revision

    def test_annotated(self) -> None:
        """The store gets the commit as `annotate` returns it."""
        self.assertEqual(self.commit(), self.world.store.now)
        self.assertEqual(self.notes, [("y", KEY)])
        self.assertEqual(self.world.store.items[KEY].value, b"annotated")

    def test_fenced(self) -> None:
        """A writer whose guard has been written since stores nothing: 503 (reference CTRL-51)."""
        self.config_map()
        before = self.world.store.now
        self.assertRaises(Fenced, self.commit, guard=lambda: ("/registry/configmaps/a/x", before - 1))
        self.assertEqual(self.world.store.now, before)

    def test_lost_right(self) -> None:
        """A writer that may not write any more does not reach the store, and its reservations are released."""

        def lost() -> Guard:
            raise Fenced

        reservation = Released()
        self.assertRaises(Fenced, self.commit, Hold(reservation), guard=lost)
        self.assertEqual((reservation.releases, self.notes), (1, []))

    def test_entry(self) -> None:
        """A write answers with the cache's entry, or with its own state if a later write has replaced that."""
        made = self.config_map()
        stored, revision = self.maps.stored, self.world.store.now
        prepared = self.maps.prepare(self.canonical(self.maps, made))
        self.assertIs(committed(stored, prepared, revision), stored.get("a", "x"))
        self.world.run(self.label(by="rival"))
        own = committed(stored, prepared, revision)
        self.assertEqual((own.revision, self.maps.load(own)), (revision, made))
