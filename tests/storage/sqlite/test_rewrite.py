# mypy: disallow-untyped-calls=False
"""A store of another vocabulary is rewritten once, wholly or not at all."""

from __future__ import annotations

import sqlite3
import subprocess
import sys
from pathlib import Path
from typing import Any

from twisted.internet.defer import Deferred

from orchtw import errors
from orchtw.storage.sqlite import verify
from orchtw.storage.sqlite.store import SqliteStore
from orchtw.storage.store import Damaged, Op
from orchtw.storage.testing import PODS
from tests.storage.store_files import Capitals, FileCase

ROOT = Path(__file__).parents[3]
VALUES = {f"{PODS}{name}": name.encode() * 3 for name in "abcd"}


class RewriteTests(FileCase):
    """Stores made for orch, opened for kubernetes."""

    asked: list[str]

    async def reopened(self, **options: Any) -> SqliteStore:
        """The store, opened for kubernetes with a translation."""
        return await self.open(vocabulary="kubernetes", translation=self.translation, **options)

    def translation(self, old: str) -> Capitals:
        """See `Capitals`; notes what was asked for."""
        self.asked.append(old)
        return Capitals()

    async def contents(self, store: SqliteStore) -> dict[str, bytes]:
        """All keys and values."""
        return {item.key: item.value for item in (await store.list("")).items}

    def setUp(self) -> None:
        """Nothing was asked for yet."""
        super().setUp()
        self.asked = []

    async def test_rewritten_once(self) -> None:
        """Every object is translated, the store says whose it is, and the next start finds nothing to do."""
        await self.filled(VALUES)
        store = await self.reopened()
        self.assertEqual(await self.contents(store), {f"{PODS}{name}": name.encode() * 3 for name in "ABCD"})
        await store.stop()
        store = await self.reopened()
        self.assertEqual(self.asked, ["orch"])
        await store.stop()
        self.assertIn("was made with --vocabulary kubernetes", await self.refusal())

    async def test_own_vocabulary(self) -> None:
        """A store of the vocabulary that is asked for, and a new one, are not touched."""
        store = await self.reopened()
        await store.stop()
        await (await self.reopened()).stop()
        self.assertEqual(self.asked, [])

    async def test_revisions(self) -> None:
        """Objects have new revisions in the old order; watches from older ones expire."""
        store = await self.open()
        for name in "bca":
            await store.commit(Op(f"{PODS}{name}", b"v"))
        await store.commit(Op(f"{PODS}b", None))
        head = (await store.commit(Op(f"{PODS}c", b"w"))).revision
        await store.stop()
        store = await self.reopened()
        page = await store.list(PODS)
        self.assertEqual([item.key for item in sorted(page.items, key=lambda item: item.revision)],
                         [f"{PODS}A", f"{PODS}C"])  # fmt: skip
        self.assertTrue(all(item.revision > head for item in page.items))
        self.assertEqual(page.revision, max(item.revision for item in page.items))
        await self.assertFailure(Deferred.fromCoroutine(store.subscribe(head, lambda changes: None)), errors.Expired)
        await self.assertFailure(Deferred.fromCoroutine(store.list(PODS, revision=head)), errors.Expired)
        stale = await store.commit(Op(f"{PODS}C", b"x", head))
        self.assertEqual(stale.revision, 0)

    async def test_checksums(self) -> None:
        """Every row has one of its own, also in a store that had none, and the index has every row."""
        self.make_format_1([(2, f"{PODS}a", 2, 0, b"v"), (3, f"{PODS}b", 3, 0, b"w")])
        store = await self.reopened()
        self.assertEqual(await self.contents(store), {f"{PODS}A": b"V", f"{PODS}B": b"W"})
        await store.stop()
        self.assertEqual(self.query("SELECT count(*) FROM history WHERE sum IS NULL"), [(0,)])
        connection = self.open_file()
        self.assertEqual(list(verify.damaged_rows(connection)), [])
        self.assertEqual((verify.misplaced(connection), verify.structure(connection)), ([], ""))

    def open_file(self) -> Any:
        """A connection to the closed file."""
        connection = sqlite3.connect(self.path)
        self.addCleanup(connection.close)
        return connection

    async def test_damaged_rows_stay_damaged(self) -> None:
        """Rows that are not what was written are told as before, whichever column is wrong; the others are there."""
        for column, wrong in (("value", b"x"), ("created", 99), ("sum", 1), ("size", 7), ("key", "elsewhere")):
            self.setUp()
            await self.filled(VALUES)
            self.query(f"UPDATE history SET {column} = ? WHERE key = '{PODS}b'", wrong)
            store = await self.reopened()
            page = await store.list(PODS)
            if column not in ("size", "key"):
                self.assertEqual([each.key for each in page.damaged], [f"{PODS}B"], column)
            self.assertIn(b"AAA", [item.value for item in page.items])
            await store.stop()

    async def test_undecodable_value(self) -> None:
        """A value that is not an object is carried over as it is, under its new key."""
        await self.filled({**VALUES, f"{PODS}e": b"?"})
        store = await self.reopened()
        self.assertEqual((await self.contents(store))[f"{PODS}E"], b"?")
        self.assertEqual((await store.list(PODS)).damaged, list[Damaged]())

    async def test_names_that_meet(self) -> None:
        """Two objects for one key end the start in a line that names both; the store opens as before."""
        await self.filled({f"{PODS}a": b"v", f"{PODS}A": b"w"})
        failure = await self.assertFailure(Deferred.fromCoroutine(self.reopened()), errors.ConfigError)
        for part in (f"{PODS}a", f"{PODS}A", "opens with --vocabulary orch"):
            self.assertIn(part, str(failure))
        self.assertEqual(await self.contents(await self.open()), {f"{PODS}a": b"v", f"{PODS}A": b"w"})

    async def test_no_room(self) -> None:
        """A full disk ends the start in one line; the store opens as before."""
        values = {f"{PODS}{number}": b"v" * 20_000 for number in range(40)}
        await self.filled(values)
        start = Deferred.fromCoroutine(self.reopened(quota_bytes=1 << 20))
        failure = await self.assertFailure(start, errors.ConfigError)
        self.assertIn("the disk is full, or a quota is reached", str(failure))
        self.assertIn("opens with --vocabulary orch", str(failure))
        self.assertEqual(await self.contents(await self.open()), values)

    async def test_killed(self) -> None:
        """kill -9 before any value leaves the old store; after the last, the new one."""
        await self.filled(VALUES)
        for count in range(len(VALUES)):
            self.assertNotIn(b"done", self.killed(count))
            store = await self.open()
            self.assertEqual(await self.contents(store), VALUES)
            await store.stop()
        self.assertIn(b"done", self.killed(len(VALUES)))
        store = await self.reopened()
        self.assertEqual(self.asked, [])
        self.assertEqual(sorted(await self.contents(store)), [f"{PODS}{name}" for name in "ABCD"])

    def killed(self, count: int) -> bytes:
        """Return the output of a process that died before it translated value `count`."""
        command = [sys.executable, "-m", "tests.storage.sqlite.rewrite_child", self.path, str(count)]
        done = subprocess.run(command, capture_output=True, check=False, timeout=60, cwd=ROOT)
        self.assertEqual(done.returncode, -9, done.stderr)
        return done.stdout
