"""The log is folded into the file beside the writer (reference STORE-22)."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Callable

from twisted.internet.defer import gatherResults

from orchtw.storage.sqlite.checkpoint import PASS_PAGES, REST_PAGES, Checkpoints
from orchtw.storage.store import Op
from tests.storage.store_files import FileCase

VALUE = b"x" * 6000


class CheckpointTests(FileCase):
    def setUp(self) -> None:
        super().setUp()
        self.writer = sqlite3.connect(self.path, isolation_level=None)
        self.addCleanup(self.writer.close)
        self.writer.execute("PRAGMA journal_mode = WAL")
        self.writer.execute("PRAGMA wal_autocheckpoint = 0")
        self.writer.execute("CREATE TABLE t (value BLOB)")

    def checkpoints(self, connect: Callable[[], sqlite3.Connection] | None = None) -> Checkpoints:
        found = Checkpoints(connect or self.reader)
        found.start()
        self.addCleanup(found.stop)
        found.wait()
        return found

    def reader(self) -> sqlite3.Connection:
        connection = sqlite3.connect(self.path, isolation_level=None, timeout=0.0)
        connection.execute("SELECT count(*) FROM t").fetchone()
        return connection

    def write(self, count: int = 100) -> None:
        self.writer.execute("BEGIN")
        self.writer.executemany("INSERT INTO t VALUES (?)", [(VALUE,)] * count)
        self.writer.execute("COMMIT")

    def size(self, suffix: str = "") -> int:
        return os.stat(self.path + suffix).st_size

    def test_pass_begins_when_much_is_written(self) -> None:
        """The thread copies once so many pages have been written, and not before."""
        found = self.checkpoints()
        self.write()
        found.wrote(self.writer, PASS_PAGES - 1)
        found.wait()
        self.assertLess(self.size(), 100 * len(VALUE))
        found.wrote(self.writer, 1)
        found.wait()
        self.assertGreater(self.size(), 100 * len(VALUE))

    def test_log_begins_anew(self) -> None:
        """The writer copies what came during a pass; its next write then goes to the log's beginning."""
        found = self.checkpoints()
        self.write()
        found.wrote(self.writer, PASS_PAGES)
        found.wait()
        self.write(10)
        found.wrote(self.writer, 1)
        before = self.size("-wal")
        self.write(10)
        self.assertEqual(self.size("-wal"), before)

    def test_settled(self) -> None:
        """Before the log is cut back the thread copies what is in it, if that is much."""
        found = self.checkpoints()
        self.write()
        found.wrote(self.writer, REST_PAGES)
        self.assertTrue(found.settled())
        found.wrote(self.writer, REST_PAGES + 1)
        self.assertFalse(found.settled())
        found.wait()
        self.assertTrue(found.settled())
        self.assertGreater(self.size(), 100 * len(VALUE))

    def test_no_connection(self) -> None:
        """Without a connection of its own nothing is copied, and nobody waits for it."""

        def fails() -> sqlite3.Connection:
            raise sqlite3.OperationalError("unable to open")

        found = Checkpoints(fails)
        found.start()
        found.stop()
        found.wrote(self.writer, PASS_PAGES)
        found.wait()
        self.assertTrue(found.settled())


class BoundedLogTests(FileCase):
    async def test_log_stays_small(self) -> None:
        """While many write all the time the log does not grow with what is written."""
        store = await self.open()
        written = 0
        for begin in range(0, 12_000, 500):
            keys = range(begin, begin + 500)
            await gatherResults([store.commit(Op(f"/{key % 977}", VALUE)) for key in keys])
            written += 500 * len(VALUE)
        self.assertLess(os.stat(f"{self.path}-wal").st_size, written)

    async def test_reader_of_an_old_state(self) -> None:
        """A long reader of an old state, such as a backup, does not keep writes waiting."""
        store = await self.open()
        await store.commit(Op("/a", VALUE))
        reader = sqlite3.connect(self.path, isolation_level=None)
        self.addCleanup(reader.close)
        reader.execute("BEGIN")
        reader.execute("SELECT count(*) FROM history").fetchone()
        for number in range(100):
            await store.commit(Op("/a", b"%d" % number))
        await store.compact(await store.revision())
        found = await store.commit(Op("/b", VALUE))
        self.assertTrue(found.revision)
        self.assertEqual(reader.execute("SELECT count(*) FROM history").fetchone(), (1,))
