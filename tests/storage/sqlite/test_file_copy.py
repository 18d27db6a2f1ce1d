"""Copies, snapshots and loads of store files (reference STORE-18, STORE-20)."""
# covers: orchtw.storage.sqlite.snapshot

from __future__ import annotations

import os
import sqlite3
import stat
from functools import partial
from itertools import count
from pathlib import Path

from twisted.internet.defer import gatherResults

from orchtw.errors import ConfigError
from orchtw.logs.progress import Progress
from orchtw.storage.sqlite import file_copy
from orchtw.storage.sqlite.file import StoreFile
from orchtw.storage.sqlite.file_copy import copy_store
from orchtw.storage.sqlite.load import Load
from orchtw.storage.sqlite.snapshot import Snapshot
from orchtw.storage.store import Damaged, KeyValue, Op
from tests.logs.test_progress import Terminal
from tests.storage.store_files import FileCase


class CopyTests(FileCase):
    async def test_open_store(self) -> None:
        """A store that is in use is copied with all that has been acknowledged; the copy is the owner's alone."""
        store = await self.open()
        await gatherResults([store.commit(Op(f"/{number}", b"value")) for number in range(100)])
        target = Path(self.path).with_name("copy")
        self.assertEqual(copy_store(Path(self.path), target), target.stat().st_size)
        self.assertEqual(stat.S_IMODE(target.stat().st_mode), 0o600)
        copy = await self.open(str(target))
        page = await copy.list("/")
        self.assertEqual((len(page.items), page.revision), (100, await store.revision()))

    async def test_consistent(self) -> None:
        """Writes that go on between its parts are in the copy up to some revision, and none after it."""
        self.patch(file_copy, "PAGES_AT_ONCE", 4)
        store = await self.open()
        for round_ in range(5):
            writes = [store.commit(Op(f"/{round_}/{number}", b"v" * 2000)) for number in range(200)]
            target = Path(self.path).with_name(f"copy{round_}")
            copy_store(Path(self.path), target)
            await gatherResults(writes)
            snapshot = Snapshot(target)
            found = sorted(item.revision for item in snapshot.live())
            snapshot.close()
            self.assertEqual(found, list(range(2, len(found) + 2)))

    async def test_progress(self) -> None:
        """On a terminal a copy shows how much of it is done."""
        await self.filled({f"/{number}": b"v" * 5000 for number in range(20)})
        shown = Terminal()
        self.patch(file_copy, "PAGES_AT_ONCE", 4)
        self.patch(file_copy, "Progress", partial(Progress, out=shown, now=count(step=10).__next__))
        size = copy_store(Path(self.path), Path(self.path).with_name("copy")) / (1 << 20)
        self.assertIn(f"copying: 100%, {size:.1f} of {size:.1f} MiB", shown.getvalue())

    async def test_never_over_a_file(self) -> None:
        """Existing files at the target stay."""
        await self.filled({"/a": b"1"})
        for suffix in ("", "-wal", "-shm"):
            target = Path(self.path).with_name("there")
            other = target.with_name(f"there{suffix}")
            other.write_bytes(b"mine")
            error = self.assertRaises(ConfigError, copy_store, Path(self.path), target)
            self.assertEqual(str(error), f"{other}: already exists; move it away first")
            self.assertEqual(other.read_bytes(), b"mine")
            other.unlink()

    async def test_what_is_no_store(self) -> None:
        """A missing file, another program's and an older format are told apart, and leave nothing behind."""
        folder = Path(self.path).parent
        target = folder / "copy"
        missing = self.assertRaises(ConfigError, copy_store, folder / "none", target)
        self.assertEqual(str(missing), f"{folder / 'none'}: No such file or directory")
        (folder / "text").write_bytes(b"this is no database at all" * 50)
        damaged = self.assertRaises(ConfigError, copy_store, folder / "text", target)
        self.assertIn("damaged or not a store", str(damaged))
        other = sqlite3.connect(folder / "other")
        other.execute("CREATE TABLE t (a)")
        other.close()
        foreign = self.assertRaises(ConfigError, copy_store, folder / "other", target)
        self.assertEqual(str(foreign), f"{folder / 'other'}: is not an orchtw store")
        self.make_format_1([])
        older = self.assertRaises(ConfigError, copy_store, Path(self.path), target)
        self.assertIn("has format 1, this version reads 3; a server's start brings it up to date", str(older))
        self.assertEqual([name for name in os.listdir(folder) if "copy" in name], [])

    async def test_no_folder(self) -> None:
        """A target in a folder that is not there is a line, as is one where nothing may be written."""
        await self.filled({"/a": b"1"})
        target = Path(self.path).parent / "none" / "copy"
        error = self.assertRaises(ConfigError, copy_store, Path(self.path), target)
        self.assertEqual(str(error), f"{target}: No such file or directory")


class SnapshotTests(FileCase):
    async def test_state(self) -> None:
        """It shows live keys in order, as of when it was opened; what is damaged is named."""
        store = await self.open()
        for key in ("/b", "/a", "/gone"):
            await store.commit(Op(key, key.encode()))
        await store.commit(Op("/gone", None))
        await store.commit(Op("/ends", b"", ttl_s=1000.0))
        snapshot = Snapshot(Path(self.path))
        self.addCleanup(snapshot.close)
        await store.commit(Op("/later", b""))
        found = list(snapshot.live())
        self.assertEqual(
            found, [KeyValue("/a", b"/a", 3, 3), KeyValue("/b", b"/b", 2, 2), KeyValue("/ends", b"", 6, 6)]
        )
        self.assertEqual((snapshot.revision, snapshot.vocabulary, list(snapshot.ends())), (6, "orch", [6]))

    async def test_damage(self) -> None:
        """A value that is not what was written is named."""
        await self.filled({"/a": b"right", "/b": b"right"})
        self.query("UPDATE history SET value = ? WHERE key = '/a'", b"wrong")
        snapshot = Snapshot(Path(self.path))
        self.addCleanup(snapshot.close)
        self.assertEqual([type(item) for item in snapshot.live()], [Damaged, KeyValue])


class LoadTests(FileCase):
    def load(self, after: int = 0) -> Load:
        """A load into the file, which stays open until the end."""
        self.file = StoreFile(path=self.path, vocabulary="orch")
        self.connection = self.file.open()
        self.addCleanup(self.close)
        return Load(self.connection, after)

    def close(self) -> None:
        self.connection.close()
        self.file.release()

    async def test_revisions(self) -> None:
        """They are new, beyond the given one, and everything before them has expired."""
        load = self.load(after=100)
        load.put("/b", b"1")
        load.put("/a", b"2", end_ms=1 << 50)
        self.assertEqual(load.commit(), 2)
        self.close()
        store = await self.open()
        page = await store.list("/")
        self.assertEqual([(each.key, each.revision) for each in page.items], [("/a", 102), ("/b", 101)])
        self.assertEqual(await store.revision(), 102)

    async def test_twice(self) -> None:
        """A key that comes twice is refused; undone, the store is as empty as before."""
        load = self.load()
        load.put("/a", b"1")
        self.assertRaises(ConfigError, load.put, "/a", b"2")
        load.undo()
        self.close()
        store = await self.open()
        self.assertEqual((await store.list("/")).items, [])

    async def test_not_empty(self) -> None:
        """A store that has objects, or had some, is refused."""
        await self.filled({"/a": b"1"})
        error = self.assertRaises(ConfigError, self.load)
        self.assertEqual(str(error), "is not empty: it has or had 1 objects; import into a new one")
