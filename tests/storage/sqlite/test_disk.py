# mypy: disallow-untyped-calls=False
"""Disks that are full or refuse, what is said of them, older formats, and files that get smaller again."""

from __future__ import annotations

import os
import sqlite3
from typing import Any

from twisted.internet.defer import Deferred, gatherResults
from twisted.internet.task import deferLater
from twisted.trial.unittest import SynchronousTestCase

from orchtw import errors
from orchtw.storage.sqlite import check, file, sealing
from orchtw.storage.sqlite.errors import is_damage, may_be_no_room, sentence
from orchtw.storage.sqlite.store import SqliteStore
from orchtw.storage.store import KeyValue, Op
from orchtw.storage.testing import PODS
from tests.storage.store_files import FileCase, reactor


def error(code: int, name: str, text: str) -> sqlite3.OperationalError:
    """An error as SQLite's module makes it."""
    made = sqlite3.OperationalError(text)
    made.sqlite_errorcode, made.sqlite_errorname = code, name
    return made


class SentenceTests(SynchronousTestCase):
    """Each error has words of its own, and only damage is called damage."""

    def test_each_says_what_it_is(self) -> None:
        """Every code that the disk, a lock or a stranger can cause has a true sentence in one line."""
        for code, name, words in (
            (sqlite3.SQLITE_FULL, "SQLITE_FULL", "the disk is full"),
            (sqlite3.SQLITE_IOERR_SHMSIZE, "SQLITE_IOERR_SHMSIZE", "the disk is full"),
            (sqlite3.SQLITE_READONLY_DIRECTORY, "SQLITE_READONLY_DIRECTORY", "read-only"),
            (sqlite3.SQLITE_IOERR_WRITE, "SQLITE_IOERR_WRITE", "SQLITE_IOERR_WRITE"),
            (sqlite3.SQLITE_IOERR_READ, "SQLITE_IOERR_READ", "cannot be read"),
            (sqlite3.SQLITE_BUSY, "SQLITE_BUSY", "locked by another program"),
            (sqlite3.SQLITE_LOCKED, "SQLITE_LOCKED", "locked by another program"),
            (sqlite3.SQLITE_CANTOPEN, "SQLITE_CANTOPEN", "cannot be opened or made"),
            (sqlite3.SQLITE_PERM, "SQLITE_PERM", "permissions"),
            (sqlite3.SQLITE_NOMEM, "SQLITE_NOMEM", "memory"),
            (sqlite3.SQLITE_MISUSE, "SQLITE_MISUSE", "SQLite reports: what SQLite says"),
        ):
            text = sentence(error(code, name, "what SQLite\nsays"))
            self.assertIn(words, text)
            self.assertNotIn("\n", text)
            self.assertNotIn("damaged", text)
            self.assertFalse(is_damage(error(code, name, "")))

    def test_damage(self) -> None:
        """Damage is reported with a remedy; so is a file that is not a database."""
        told = {sqlite3.SQLITE_CORRUPT: "damaged (x)", sqlite3.SQLITE_NOTADB: "damaged or not a store (x)"}
        for code, words in told.items():
            text = sentence(error(code, "", "x"))
            self.assertTrue(text.startswith(words), text)
            self.assertIn("restore a backup", text)
            self.assertTrue(is_damage(error(code, "", "")))

    def test_error_without_a_code(self) -> None:
        """An error of the module itself is told as it is, and is neither damage nor a full disk."""
        plain = sqlite3.ProgrammingError("Cannot operate on a closed database.")
        self.assertEqual(sentence(plain), "SQLite reports: Cannot operate on a closed database.")
        self.assertFalse(is_damage(plain) or may_be_no_room(plain))


class FullDiskTests(FileCase):
    """A disk without room, played by a quota; `tests.end_to_end.test_store` has real ones."""

    async def test_full_disk_is_called_full(self) -> None:
        """A write for which there is no room says that the disk is full (reference STORE-9)."""
        store = await self.open(quota_bytes=1 << 20)
        failure = await self.assertFailure(store.commit(Op("/big", b"v" * (2 << 20))), errors.InternalError)
        self.assertIn("the disk is full", str(failure))

    async def test_full_disk_is_known_from_the_start(self) -> None:
        """A store that opens without room to write says so before the first write fails; it is alive, and is read."""
        await self.filled({f"{PODS}{number}": b"v" * 6000 for number in range(10)})
        size = os.stat(self.path).st_size
        store = await self.open(quota_bytes=size)
        checked: Deferred[Any] = Deferred.fromCoroutine(store.check())
        failure = await self.assertFailure(checked, errors.InternalError)
        self.assertIn("the disk is full", str(failure))
        await store.alive()
        page = await store.list(PODS)
        self.assertEqual(len(page.items), 10)


class FormatTests(FileCase):
    """Stores of format 1, which had no checksums."""

    ROWS = (
        (2, f"{PODS}a", 2, 0, b"one"), (3, f"{PODS}a", 2, 2, b"two"), (4, f"{PODS}b", 4, 0, b"x" * 9000),
        (5, f"{PODS}b", 0, 4, None), (6, f"{PODS}c", 6, 0, b""),
    )  # fmt: skip

    async def sealed(self, store: SqliteStore) -> None:
        """Wait until every row has its checksum."""
        while self.query("SELECT unsealed FROM meta") != [(0,)]:
            await deferLater(reactor, 0.01, lambda: None)

    async def test_format_1_goes_on(self) -> None:
        """A store of format 1 opens with its states, history and count, and is then one of format 2."""
        self.make_format_1(list(self.ROWS))
        store = await self.open()
        self.assertEqual(await store.revision(), 6)
        self.assertEqual(await store.get(f"{PODS}a"), KeyValue(f"{PODS}a", b"two", 3, 2))
        self.assertEqual(await store.get(f"{PODS}b", 4), KeyValue(f"{PODS}b", b"x" * 9000, 4, 4))
        self.assertEqual([item.key[-1] for item in (await store.list(PODS)).items], ["a", "c"])
        await self.sealed(store)
        await store.commit(Op(f"{PODS}d", b"new"))
        await store.stop()
        self.assertEqual(self.query("SELECT count(*) FROM history WHERE sum IS NULL"), [(0,)])
        self.assertEqual(list(check.findings(self.path)), [])
        await (await self.open()).list(PODS)

    async def test_sealing_is_interrupted(self) -> None:
        """A store that closes before all rows have checksums goes on at the next start."""
        self.make_format_1([(n, f"{PODS}{n:04}", n, 0, b"v" * 500) for n in range(2, 1000)])
        self.patch(sealing.Sealing, "most", 8)
        store = await self.open()
        await store.stop()
        ((unsealed,),) = self.query("SELECT unsealed FROM meta")
        self.assertGreater(unsealed, 0)
        self.assertEqual(self.query(f"SELECT count(*) FROM history WHERE sum IS NULL AND rev > {unsealed}"), [(0,)])
        store = await self.open()
        self.assertEqual(len((await store.list(PODS)).items), 998)
        await self.sealed(store)

    async def test_sealed_rows_must_have_a_sum(self) -> None:
        """Once all rows are sealed, one without a checksum is damaged."""
        self.make_format_1(list(self.ROWS))
        store = await self.open()
        await self.sealed(store)
        await store.stop()
        self.query("UPDATE history SET sum = NULL WHERE rev = 3")
        self.assertEqual([each.key[-1] for each in (await (await self.open()).list(PODS)).damaged], ["a"])


class ShrinkTests(FileCase):
    """Free pages go back to the file system (reference STORE-11)."""

    async def fill_and_empty(self) -> tuple[int, int]:
        """The file's size with 2,000 objects, and after all but a few are deleted and forgotten."""
        store = await self.open()
        await gatherResults([store.commit(Op(f"{PODS}{n}", bytes([n % 256]) * 6000)) for n in range(2000)])
        await store.stop()
        full = os.stat(self.path).st_size
        store = await self.open()
        await gatherResults([store.commit(Op(f"{PODS}{n}", None)) for n in range(5, 2000)])
        await store.compact(await store.revision())
        while os.stat(self.path).st_size > full // 4:
            await deferLater(reactor, 0.01, lambda: None)
        self.assertEqual(len((await store.list(PODS)).items), 5)
        await store.stop()
        return full, os.stat(self.path).st_size

    async def test_mostly_free_file_shrinks(self) -> None:
        """When most of the objects are gone the file gets smaller while the store is open."""
        full, now = await self.fill_and_empty()
        self.assertLess(now, full // 4)
        self.assertEqual(list(check.findings(self.path)), [])

    async def test_file_of_format_1_shrinks(self) -> None:
        """A small file of format 1 is rewritten at its first start, so that it can shrink, too."""
        self.make_format_1([(2, "/old", 2, 0, b"v")])
        await self.fill_and_empty()

    async def test_large_file_is_not_rewritten(self) -> None:
        """A file in which much is in use is left as it is: rewriting it would hold up the start."""
        self.patch(file, "REWRITTEN_BYTES", 0)
        self.make_format_1([(2, f"{PODS}old", 2, 0, b"v")])
        await (await self.open()).stop()
        self.assertEqual(self.query("PRAGMA auto_vacuum"), [(0,)])

    async def test_writes_go_on_meanwhile(self) -> None:
        """Writes are answered while the file shrinks, and all of them are there afterwards."""
        store = await self.open()
        await gatherResults([store.commit(Op(f"/{n}", b"v" * 6000)) for n in range(1000)])
        await gatherResults([store.commit(Op(f"/{n}", None)) for n in range(1000)])
        sweep = Deferred.fromCoroutine(store.compact(await store.revision()))
        for n in range(200):
            await store.commit(Op(f"/new/{n}", b"v" * 500))
        await sweep
        self.assertEqual(len((await store.list("/new/")).items), 200)


class CheckTests(FileCase):
    """Findings of `orch-store check` about a file."""

    async def test_sound_store(self) -> None:
        """A sound store has no findings, also while it is open."""
        store = await self.open()
        await store.commit(Op("/a", b"v"))
        self.assertEqual(list(check.findings(self.path)), [])

    async def test_damage_is_named(self) -> None:
        """Each damaged value is a line with its key and revision, superseded ones too."""
        store = await self.open()
        await gatherResults([store.commit(Op("/a", b"v" * n)) for n in range(3)])
        await store.stop()
        self.query("UPDATE history SET value = x'00' WHERE rev < 4")
        self.assertEqual(
            list(check.findings(self.path)),
            ["/a at 2: the stored value is damaged", "/a at 3: the stored value is damaged"],
        )

    async def test_what_is_no_store(self) -> None:
        """A missing file, another program's and one of format 1 are said to be that."""
        self.assertIn("cannot be opened", next(check.findings(self.path)))
        self.make_format_1([])
        self.assertIn("converts a store of format 1", next(check.findings(self.path)))
        self.overwrite(0, b"kind: Pod\n" * 1000)
        self.assertIn("not a store", next(check.findings(self.path)))
