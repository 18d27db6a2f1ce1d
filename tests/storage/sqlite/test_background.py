"""The writer's background work on a database by itself: slices, their pace, and what a sweep leaves."""
# covers: orchtw.storage.sqlite.compaction

from __future__ import annotations

import os
import sqlite3
from typing import Any

from twisted.internet.defer import Deferred
from twisted.trial.unittest import SynchronousTestCase

from orchtw.errors import InternalError, ServiceUnavailable
from orchtw.storage.sqlite import schema
from orchtw.storage.sqlite.background import SLICE_S, Background
from orchtw.storage.sqlite.compaction import Compaction
from orchtw.storage.sqlite.shrink import WORTH_PAGES, Shrinking


class DatabaseCase(SynchronousTestCase):
    """A prepared file, and answers as they come."""

    def setUp(self) -> None:
        self.path = os.path.abspath(self.mktemp())
        self.connection = sqlite3.connect(self.path, isolation_level=None)
        self.addCleanup(self.connection.close)
        self.assertEqual(schema.prepare(self.connection, "orch"), "")
        self.answers: list[tuple[object, object]] = []

    def answer(self, waiting: Deferred[Any], result: object) -> None:
        self.answers.append((waiting, result))

    def write(self, rev: int, key: str, prev: int = 0, value: bytes | None = b"v", created: int = 0) -> None:
        """One row of history; a value of None is a tombstone."""
        size = len(value or b"")
        row = (rev, key, 0 if value is None else created or rev, prev, size, value, 0)
        self.connection.execute("INSERT INTO history VALUES (?, ?, ?, ?, ?, ?, ?)", row)

    def revisions(self) -> list[int]:
        """The rows that are there."""
        return [rev for (rev,) in self.connection.execute("SELECT rev FROM history ORDER BY rev")]

    def marks(self) -> tuple[int, int]:
        """Return how far the store is compacted and swept."""
        found: tuple[int, int] = self.connection.execute("SELECT compacted, swept FROM meta").fetchone()
        return found


class CompactionTests(DatabaseCase):
    def compacted(self, revision: int, slices: int = 1) -> Compaction:
        """A compaction up to `revision`, of so many slices."""
        compaction = Compaction(self.connection, self.answer)
        compaction.begin(revision, Deferred())
        for _ in range(slices):
            compaction.slice(100)
        return compaction

    def test_replaced_states(self) -> None:
        """Values replaced up to the revision go; the state at the revision and all after it stay."""
        self.write(2, "/a")
        self.write(3, "/a", 2, created=2)
        self.write(4, "/b")
        self.write(5, "/a", 3, created=2)
        self.compacted(4)
        self.assertEqual(self.revisions(), [3, 4, 5])
        self.compacted(5)
        self.assertEqual(self.revisions(), [4, 5])

    def test_tombstones(self) -> None:
        """A deletion goes with what it deleted; later ones stay."""
        self.write(2, "/a")
        self.write(3, "/a", 2, None)
        self.write(4, "/b")
        self.write(5, "/b", 4, None)
        self.compacted(4)
        self.assertEqual(self.revisions(), [4, 5])
        self.compacted(5)
        self.assertEqual(self.revisions(), [])

    def test_rows_that_contradict(self) -> None:
        """A row that names another key's, or a later one, as replaced deletes nothing."""
        self.write(2, "/a")
        self.write(3, "/b", 2)
        self.write(4, "/c", 5)
        self.write(5, "/c")
        self.compacted(5)
        self.assertEqual(self.revisions(), [2, 3, 4, 5])

    def test_slices(self) -> None:
        """A sweep in slices is known by its marks; who waits hears when it is done, once."""
        for rev in range(2, 12):
            self.write(rev, "/a", rev - 1 if rev > 2 else 0, created=2)
        compaction, waiting = Compaction(self.connection, self.answer), Deferred[None]()
        compaction.begin(11, waiting)
        self.assertEqual((self.marks(), self.answers), ((11, 0), []))
        compaction.slice(6)
        self.assertEqual((self.marks(), compaction.pending, self.answers), ((11, 6), True, []))
        compaction.slice(6)
        self.assertEqual((self.marks(), compaction.pending), ((11, 11), False))
        self.assertEqual(self.answers, [(waiting, None)])
        self.assertEqual(self.revisions(), [11])

    def test_nothing_new(self) -> None:
        """A compaction that goes no further than the last one is answered at once."""
        self.compacted(5)
        self.answers.clear()
        self.compacted(3, slices=0)
        self.assertEqual((len(self.answers), self.marks()), (1, (5, 5)))

    def test_interrupted(self) -> None:
        """A sweep that a crash ended goes on at the next start."""
        self.write(2, "/a")
        self.write(3, "/a", 2, created=2)
        Compaction(self.connection, self.answer).begin(3, Deferred())
        again = Compaction(self.connection, self.answer)
        self.assertTrue(again.pending)
        again.slice(100)
        self.assertEqual((self.revisions(), again.pending), ([3], False))

    def test_refused(self) -> None:
        """A disk that refuses ends it with an error that says so; nobody waits for ever."""
        compaction = self.compacted(3, slices=0)
        compaction.give_up(sqlite3.OperationalError("no"))
        self.assertFalse(compaction.pending)
        ((_, result),) = self.answers
        self.assertIsInstance(result, InternalError)

    def test_closed(self) -> None:
        """A waiting compaction fails when the store closes."""
        self.compacted(3, slices=0).abandon()
        self.assertIsInstance(self.answers[0][1], ServiceUnavailable)


class ShrinkingTests(DatabaseCase):
    def fill(self, rows: int) -> None:
        """Rows of a page each."""
        self.connection.execute("BEGIN")
        for rev in range(2, 2 + rows):
            self.write(rev, f"/{rev}", value=b"v" * 8000)
        self.connection.execute("COMMIT")

    def pages(self) -> int:
        count: int = self.connection.execute("PRAGMA page_count").fetchone()[0]
        return count

    def test_mostly_free(self) -> None:
        """A file of which most is free is made smaller, but for some room for the next writes."""
        self.fill(4 * WORTH_PAGES)
        full = self.pages()
        self.connection.execute("DELETE FROM history WHERE rev > 20")
        shrinking = Shrinking(self.connection)
        while shrinking.pending:
            shrinking.slice(64)
        self.assertLess(self.pages(), full // 4)
        self.assertEqual(self.revisions(), list(range(2, 21)))

    def test_ordinary_file(self) -> None:
        """Normal churn keeps the file's size."""
        self.fill(4 * WORTH_PAGES)
        self.connection.execute("DELETE FROM history WHERE rev <= ?", (WORTH_PAGES,))
        self.assertFalse(Shrinking(self.connection).pending)

    def test_small_file(self) -> None:
        """So does what is not worth it."""
        self.fill(WORTH_PAGES // 2)
        self.connection.execute("DELETE FROM history")
        self.assertFalse(Shrinking(self.connection).pending)


class BackgroundTests(DatabaseCase):
    def setUp(self) -> None:
        super().setUp()
        self.now = 0.0
        self.background = Background(self.connection, self.answer, lambda: self.now)

    def test_idle(self) -> None:
        """Without anything to do the writer may wait for ever."""
        self.assertIsNone(self.background.patience_s(5.0))
        self.background.advance(idle=True)

    def test_one_slice_at_a_time(self) -> None:
        """Pending work is done slice by slice; then the log is cut back once the writer is idle."""
        for rev in range(2, 100):
            self.write(rev, "/a", rev - 1 if rev > 2 else 0, created=2)
        self.background.compact(99, Deferred())
        self.assertEqual(self.background.patience_s(5.0), 0.0)
        slices = 0
        while not self.answers:
            self.background.advance(idle=False)
            slices += 1
        self.assertGreater(slices, 1)
        self.assertEqual(self.background.patience_s(5.0), 5.0)
        self.background.advance(idle=False)
        self.assertGreater(os.stat(f"{self.path}-wal").st_size, 0)
        self.background.advance(idle=True)
        self.assertEqual(os.stat(f"{self.path}-wal").st_size, 0)
        self.assertIsNone(self.background.patience_s(5.0))

    def test_without_durability(self) -> None:
        """Slices leave a connection that need not wait for the disk as it is, and others as they were."""
        self.write(2, "/a")
        for word, number in (("OFF", 0), ("FULL", 2)):
            self.connection.execute(f"PRAGMA synchronous = {word}")
            background = Background(self.connection, self.answer, lambda: self.now)
            background.compact(2, Deferred())
            background.advance(idle=False)
            self.assertEqual(self.connection.execute("PRAGMA synchronous").fetchone(), (number,))

    def test_pause(self) -> None:
        """After a slice the writers have the thread for as long as the slice took."""
        self.write(2, "/a")
        for rev in range(3, 200):
            self.write(rev, "/a", rev - 1, created=2)
        self.background.compact(199, Deferred())
        slice_of = self.background.compaction.slice

        def taking(amount: int) -> None:
            slice_of(amount)
            self.now += 2 * SLICE_S

        self.patch(Compaction, "slice", lambda _, amount: taking(amount))
        self.background.advance(idle=False)
        _, swept = self.marks()
        self.assertEqual(self.background.patience_s(5.0), 2 * SLICE_S)
        self.background.advance(idle=False)
        self.assertEqual(self.marks()[1], swept)
        self.now += 2 * SLICE_S
        self.background.advance(idle=False)
        self.assertGreater(self.marks()[1], swept)

    def test_refused(self) -> None:
        """A slice that the disk refuses is taken back whole, and the work is given up until the next compaction."""
        self.write(2, "/a")
        self.write(3, "/a", 2, created=2)
        self.background.compact(3, Deferred())
        self.connection.execute("PRAGMA query_only = ON")
        self.background.advance(idle=False)
        self.connection.execute("PRAGMA query_only = OFF")
        self.assertFalse(self.connection.in_transaction)
        self.assertEqual((self.revisions(), len(self.answers)), ([2, 3], 1))
        self.background.compact(3, Deferred())
        self.background.advance(idle=False)
        self.assertEqual(self.revisions(), [3])
