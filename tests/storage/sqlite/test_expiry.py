"""Values that end by themselves: over restarts, of older files, and what is left of them."""

from __future__ import annotations

import sqlite3
from typing import Any

from twisted.internet.defer import gatherResults
from twisted.trial.unittest import SynchronousTestCase

from orchtw.storage.sqlite import schema
from orchtw.storage.sqlite.expiry import AT_ONCE, PAUSE_S, RETRY_S, Expiry, insert
from orchtw.storage.store import Change, KeyValue, Op, Translation
from orchtw.storage.testing import Recorder
from tests.storage.store_files import FORMAT_2, FileCase


class ExpiryTests(SynchronousTestCase):
    """Expiry over a file in memory and a clock."""

    def setUp(self) -> None:
        self.connection = sqlite3.connect(":memory:", isolation_level=None)
        self.addCleanup(self.connection.close)
        schema.prepare(self.connection, "orch")
        self.now = 1000.0
        self.expiry = Expiry(self.connection, lambda: self.now)

    def write(self, revision: int, ttl_s: float) -> None:
        self.connection.execute(
            "INSERT INTO history VALUES (?, ?, ?, 0, 0, x'', 0)", (revision, f"/{revision}", revision)
        )
        ends = [(revision, self.expiry.end_ms(ttl_s))]
        self.expiry.write(ends, ())
        self.expiry.written(ends)

    def test_in_order(self) -> None:
        """The earliest expiry is due first, and not before; removed values are not due again."""
        self.write(1, 20)
        self.write(2, 10)
        self.assertEqual((self.expiry.patience_s(), self.expiry.due().keys), (10, {}))
        self.now += 10
        self.assertEqual(self.expiry.due().keys, {2: "/2"})
        self.expiry.write((), [2])
        self.assertEqual(self.expiry.patience_s(), 10)
        self.now += 10
        self.assertEqual(self.expiry.due().keys, {1: "/1"})

    def test_those_of_a_second_share_a_look(self) -> None:
        """Values that end shortly after each other are due together."""
        for number in range(4):
            self.write(number, 10 + number / 10)
        self.now += 10
        self.assertEqual(len(self.expiry.due().revisions), 1)
        self.assertEqual(self.expiry.patience_s(), PAUSE_S)

    def test_slices(self) -> None:
        """Of many that are due some are given out, and the next at once."""
        for number in range(AT_ONCE + 1):
            self.write(number, 1)
        self.now += 1
        first = self.expiry.due()
        self.assertEqual((len(first.keys), self.expiry.patience_s()), (AT_ONCE, 0))
        self.expiry.write((), first.revisions)
        self.assertEqual(len(self.expiry.due().keys), 1)

    def test_later(self) -> None:
        """Values that could not be removed are due again, but not at once."""
        self.write(1, 1)
        self.now += 1
        self.expiry.due()
        self.expiry.later()
        self.assertEqual(self.expiry.due().keys, {})
        self.now += RETRY_S
        self.assertEqual(self.expiry.due().keys, {1: "/1"})

    def test_restart(self) -> None:
        """Expiry times survive reopening the file."""
        self.write(1, 10)
        self.assertEqual(Expiry(self.connection, lambda: self.now).patience_s(), 10)
        self.now += 3600
        self.assertEqual(Expiry(self.connection, lambda: self.now).due().keys, {1: "/1"})

    def test_uncertain_rows(self) -> None:
        """A row that is not what was written ends nothing, and is forgotten; so is one of a write that is gone."""
        for revision in (1, 2, 3):
            self.write(revision, 10)
        self.connection.execute("UPDATE expiry SET at = 5 WHERE rev = 1")
        self.connection.execute("DELETE FROM history WHERE rev = 2")
        self.connection.execute("UPDATE history SET key = CAST(x'ff' AS TEXT) WHERE rev = 3")
        self.now += 10
        due = Expiry(self.connection, lambda: self.now).due()
        self.assertEqual((sorted(due.revisions), due.keys), ([1, 2, 3], {}))

    def test_disk_refuses(self) -> None:
        """Where nothing can be read nothing ends, and it is tried again."""
        self.write(1, 1)
        self.now += 1
        self.connection.execute("ALTER TABLE expiry RENAME TO other")
        self.assertEqual(self.expiry.due().revisions, [])
        self.connection.execute("ALTER TABLE other RENAME TO expiry")
        self.now += RETRY_S
        self.assertEqual(self.expiry.due().keys, {1: "/1"})


class FileTests(FileCase):
    """The same in files."""

    def rows(self) -> list[Any]:
        connection = sqlite3.connect(self.path)
        self.addCleanup(connection.close)
        return connection.execute("SELECT rev FROM expiry ORDER BY rev").fetchall()

    async def test_restart(self) -> None:
        """Values that expired during a stop end soon after the next start, overtaken ones do not
        (reference STORE-15).
        """
        store = await self.open()
        for op in (Op("/a", b"1"), Op("/b", b"1"), Op("/b", b"2")):
            last = (await store.commit(op)).revision
        await store.stop()
        connection = sqlite3.connect(self.path)
        insert(connection, [(last - 2, 1), (last - 1, 1)])
        connection.commit()
        connection.close()
        store = await self.open()
        recorder = Recorder()
        await store.subscribe(last, recorder.deliver)
        await recorder.reached(last + 1)
        self.assertEqual(recorder.changes, [Change(last + 1, "/a", None, KeyValue("/a", b"1", last - 2, last - 2))])
        self.assertEqual([item.key for item in (await store.list("/")).items], ["/b"])
        await store.stop()
        self.assertEqual(self.rows(), [])

    async def test_older_file(self) -> None:
        """A file of the previous format opens, keeps what it has, and takes values that end."""
        connection = sqlite3.connect(self.path)
        connection.executescript(FORMAT_2)
        connection.close()
        store = await self.open()
        revision = (await store.commit(Op("/a", b"", ttl_s=1))).revision
        recorder = Recorder()
        await store.subscribe(revision, recorder.deliver)
        await recorder.reached(revision + 1)
        self.assertEqual([change.value for change in recorder.changes], [None])

    async def test_renewals_do_not_pile_up(self) -> None:
        """Compaction forgets when overtaken writes would have ended."""
        store = await self.open()
        await gatherResults([store.commit(Op("/a", b"%d" % n, ttl_s=3600)) for n in range(500)])
        revision = await store.revision()
        await store.compact(revision)
        await store.stop()
        self.assertEqual(self.rows(), [(revision,)])

    async def test_other_vocabulary(self) -> None:
        """A store that is rewritten for another vocabulary keeps when its values end."""
        store = await self.open()
        await store.commit(Op("/kept", b""))
        await store.commit(Op("/a", b"", ttl_s=3600))
        await store.stop()

        class Same(Translation):
            def key(self, key: str) -> str:
                return key

            def value(self, key: str, value: bytes) -> bytes:
                return value

        store = await self.open(vocabulary="kubernetes", translation=lambda old: Same())
        item = await store.get("/a")
        assert item is not None
        await store.stop()
        self.assertEqual(self.rows(), [(item.revision,)])
