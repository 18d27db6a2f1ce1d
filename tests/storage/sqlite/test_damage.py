# mypy: disallow-untyped-calls=False
"""Damaged bytes in a store's file: told for one object or for the whole file, never served."""

from __future__ import annotations

import os
import random
from pathlib import Path
from typing import Any

from twisted.internet.defer import Deferred, gatherResults
from twisted.trial.unittest import SynchronousTestCase

from orchtw import errors
from orchtw.storage.sqlite import file, reader
from orchtw.storage.sqlite.checksum import LONG_BYTES, PIECE_BYTES, all_written, checksum, is_written
from orchtw.storage.store import Damaged, KeyValue, Op
from orchtw.storage.testing import PODS
from tests.storage.store_files import FileCase

FLIPS = 150


class ChecksumTests(SynchronousTestCase):
    """Content that the checksum covers."""

    def test_every_column_counts(self) -> None:
        """Another revision, key, creation, predecessor or value is another sum; a tombstone is not an empty value."""
        rows = [
            (7, "/a", 5, 6, b"v"), (8, "/a", 5, 6, b"v"), (7, "/b", 5, 6, b"v"), (7, "/a", 4, 6, b"v"),
            (7, "/a", 5, 4, b"v"), (7, "/a", 5, 6, b"w"), (7, "/a", 5, 6, b""), (7, "/a", 5, 6, None),
        ]  # fmt: skip
        self.assertEqual(len({checksum(*row) for row in rows}), len(rows))

    def test_pieces_are_the_whole(self) -> None:
        """The sum does not depend on how it is computed: any one flipped bit shows, at any length."""
        for length in (1, PIECE_BYTES, PIECE_BYTES + 1, 3 * PIECE_BYTES, LONG_BYTES, LONG_BYTES + 1):
            value = bytearray(length)
            sums = {checksum(1, "/a", 1, 0, bytes(value))}
            for place in {0, length // 2, length - 1}:
                value[place] ^= 1
                sums.add(checksum(1, "/a", 1, 0, bytes(value)))
                value[place] ^= 1
            self.assertEqual(len(sums), 1 + len({0, length // 2, length - 1}))


    def test_many_at_once(self) -> None:
        """Rows are told apart as they are one by one: sound ones, and those with anything wrong in them."""
        for length in (0, 3, PIECE_BYTES + 1, LONG_BYTES + 1):
            rows: list[list[Any]] = []
            for number in (1, 2, 3):
                key, value = f"/{number}", b"v" * length
                rows.append([checksum(number, key, 1, 0, value), 9, number, key, 1, 0, value])
            self.assertTrue(self.all_written(rows))
            for column, wrong in ((0, 7), (2, 8), (3, "/x"), (4, 1.5), (5, 1), (6, b"w" * (length + 1)), (6, None)):
                right, rows[1][column] = rows[1][column], wrong
                self.assertFalse(self.all_written(rows), column)
                self.assertFalse(is_written(*rows[1]))
                rows[1][column] = right
            rows[1][0] = None
            self.assertTrue(self.all_written(rows))
        self.assertTrue(all_written([], 0, [], [], [], [], []))

    def all_written(self, rows: list[list[Any]]) -> bool:
        sums, unsealed, *columns = map(list, zip(*rows, strict=True))
        revisions, keys, created, previous, values = columns
        return all_written(sums, unsealed[0], revisions, keys, created, previous, values)


class DamagedValueTests(FileCase):
    """One object whose bytes are wrong."""

    async def damaged_store(self, column: str = "value", wrong: object = b"\xa5" * 20) -> None:
        """Three pods, the second of them with a wrong column; the file itself is sound."""
        await self.filled({f"{PODS}{name}": name.encode() * 20 for name in "abc"})
        self.query(f"UPDATE history SET {column} = ? WHERE key = '{PODS}b'", wrong)

    async def test_list_leaves_it_out_and_names_it(self) -> None:
        """A list has the other objects, and says which one is damaged; `get` of it is a 500 that names it."""
        await self.damaged_store()
        store = await self.open()
        page = await store.list(PODS)
        self.assertEqual([item.value for item in page.items], [b"a" * 20, b"c" * 20])
        self.assertEqual(page.damaged, [Damaged(f"{PODS}b", 3)])
        failure = await self.assertFailure(Deferred.fromCoroutine(store.get(f"{PODS}b")), errors.InternalError)
        self.assertIn(f"the stored object {PODS}b is damaged", str(failure))

    async def test_pages_go_round_it(self) -> None:
        """Pages are as long as asked for, and none begins or ends twice, around damaged objects."""
        await self.filled({f"{PODS}{number}": b"v" for number in range(10)})
        self.query("UPDATE history SET value = x'00' WHERE rev IN (2, 5, 6, 11)")
        store = await self.open()
        seen: list[str] = []
        damaged: list[Damaged] = []
        page = await store.list(PODS, limit=2)
        while True:
            seen += [item.key for item in page.items]
            damaged += page.damaged
            if not page.more:
                break
            page = await store.list(PODS, limit=2, revision=page.revision, start=page.items[-1].key + "\0")
        self.assertEqual(seen, [f"{PODS}{number}" for number in (1, 2, 5, 6, 7, 8)])
        self.assertEqual([each.revision for each in damaged], [2, 5, 6, 11])

    async def test_every_column_is_covered(self) -> None:
        """A value of another length or type, a wrong sum, and none at all, are damage like a wrong value."""
        await self.filled({f"{PODS}{name}": name.encode() * 20 for name in "abc"})
        values: tuple[tuple[str, object], ...] = (("value", b""), ("value", "text"), ("value", None))
        for column, wrong in (*values, ("sum", 1), ("sum", None), ("prev", 2), ("created", 2)):
            before = self.query(f"SELECT {column} FROM history WHERE rev = 3")[0][0]
            self.query(f"UPDATE history SET {column} = ? WHERE rev = 3", wrong)
            store = await self.open()
            self.assertEqual([each.revision for each in (await store.list(PODS)).damaged], [3], (column, wrong))
            await store.stop()
            self.query(f"UPDATE history SET {column} = ? WHERE rev = 3", before)

    async def test_it_can_be_replaced_and_removed(self) -> None:
        """Creating over it is refused, writing over it with its version works, and so does deleting it, for good."""
        await self.damaged_store()
        store = await self.open()
        refused = await store.commit(Op(f"{PODS}b", b"new", 0))
        self.assertEqual((refused.revision, refused.current), (0, KeyValue(f"{PODS}b", b"", 3, 3)))
        self.assertEqual((await store.commit(Op(f"{PODS}b", b"new", 3))).revision, 5)
        self.assertEqual((await store.list(PODS)).damaged, [])
        await store.stop()
        self.query("UPDATE history SET value = x'00' WHERE rev = 5")
        store = await self.open()
        self.assertEqual((await store.commit(Op(f"{PODS}b", None, 5))).revision, 6)
        await store.compact(6)
        await store.stop()
        store = await self.open()
        page = await store.list(PODS)
        self.assertEqual(([item.key for item in page.items], page.damaged), ([f"{PODS}a", f"{PODS}c"], []))

    async def test_neighbours_in_a_batch_are_written(self) -> None:
        """A write over a damaged object does not harm the others of its batch."""
        await self.damaged_store()
        store = await self.open()
        outcomes = await gatherResults([store.commit(Op(f"{PODS}{name}", b"new", None)) for name in "abc"])
        self.assertEqual([outcome.revision for outcome in outcomes], [5, 6, 7])


class DamagedRowTests(FileCase):
    """A row that its index entry contradicts, as a flipped bit in a page makes it."""

    async def flipped(self, old: bytes, new: bytes) -> None:
        """A store in whose table, not in its index, `old` became `new`."""
        await self.filled({f"{PODS}pod-{name}": b"marker-" + name.encode() * 20 for name in "abc"})
        content = Path(self.path).read_bytes()
        table = content.index(b"marker-b")
        self.overwrite(content.rindex(old, 0, table + len(old)), new)

    async def test_wrong_key_in_the_row(self) -> None:
        """A row whose own key is wrong is known by its index entry, and is sound: the value belongs to that key."""
        await self.flipped(b"pod-b", b"pod-z")
        store = await self.open()
        page = await store.list(PODS)
        self.assertEqual([item.key[-1] for item in page.items], ["a", "b", "c"])

    async def test_deleted_row_does_not_come_back(self) -> None:
        """A row that contradicts the index cannot be swept; what superseded it stays, so that it never comes back."""
        await self.flipped(b"pod-b", b"pod-z")
        store = await self.open()
        await store.commit(Op(f"{PODS}pod-b", None))
        await store.compact(await store.revision())
        await store.stop()
        page = await (await self.open()).list(PODS)
        self.assertEqual(([item.key[-1] for item in page.items], page.damaged), (["a", "c"], []))

    async def wrong_index(self) -> None:
        """A store whose index, not its table, has a wrong key."""
        await self.filled({f"{PODS}pod-{name}": b"marker-" + name.encode() * 20 for name in "abc"})
        content = Path(self.path).read_bytes()
        places = [at for at in range(len(content)) if content.startswith(b"pod-b", at)]
        self.overwrite(next(at for at in places if b"marker-b" not in content[at : at + 40]), b"pod-z")

    async def test_index_is_made_anew(self) -> None:
        """An index that lacks a sound row is made anew at the start: no key is lost or taken for another."""
        await self.wrong_index()
        store = await self.open()
        self.assertEqual([item.key[-1] for item in (await store.list(PODS)).items], ["a", "b", "c"])
        self.assertEqual((await store.commit(Op(f"{PODS}pod-b", b"", 0))).revision, 0)

    async def test_index_of_a_large_file(self) -> None:
        """In a file too large for a check at the start, an object that the index takes for another is not served."""
        self.patch(file, "CHECKED_BYTES", 0)
        await self.wrong_index()
        store = await self.open()
        failure = await self.assertFailure(Deferred.fromCoroutine(store.list(PODS)), errors.InternalError)
        self.assertIn(f"it returns {PODS}pod-b for {PODS}pod-z", str(failure))

    async def test_read_at_once_or_singly_is_the_same(self) -> None:
        """Histories and lists are the same when rows are read one by one."""
        await self.filled({f"{PODS}{number}": b"v" * number for number in range(30)})
        store = await self.open()
        expected = await store.list(PODS)
        self.patch(reader, "_read_at_once", lambda connection, keys: None)
        self.assertEqual(await store.list(PODS), expected)


class FlipTests(FileCase):
    """Any flipped byte, anywhere in the file."""

    timeout = 300  # hundreds of turns between threads: a busy machine takes its time, this only ends what hangs

    async def test_nothing_wrong_is_served(self) -> None:
        """After any flip each object is right, named as damaged, or the start is refused with a line that says so."""
        values = {f"{PODS}ns/pod-{number:03d}": bytes([number]) * (number * 97 % 9000) for number in range(60)}
        await self.filled(values)
        clean = Path(self.path).read_bytes()
        choose = random.Random(7)
        ends = {"right": 0, "damaged": 0, "refused": 0}
        for _ in range(FLIPS):
            place, bit = choose.randrange(len(clean)), 1 << choose.randrange(8)
            self.overwrite(0, clean)
            os.truncate(self.path, len(clean))
            self.overwrite(place, bytes([clean[place] ^ bit]))
            ends[await self.outcome(values, place)] += 1
        self.assertGreater(ends["damaged"], FLIPS // 4, ends)
        self.flushLoggedErrors()

    async def outcome(self, values: dict[str, bytes], place: int) -> str:
        """Return the fate of a store with the byte at `place` flipped."""
        try:
            store = await self.open()
        except errors.ConfigError as refusal:
            self.assertNotIn("\n", str(refusal))
            return "refused"
        try:
            page = await store.list(PODS)
            seen = {item.key: item.value for item in page.items}
            damaged = {each.key for each in page.damaged}
            self.assertEqual({key: seen[key] for key in seen}, {key: values[key] for key in seen}, place)
            self.assertEqual(seen.keys() | damaged, values.keys(), place)
            for key in damaged:
                self.assertGreater((await store.commit(Op(key, None))).revision, 0)
            await store.compact(await store.revision())
            return "damaged" if damaged else "right"
        finally:
            await store.stop()
            for suffix in ("-wal", "-shm"):
                if os.path.exists(self.path + suffix):
                    os.unlink(self.path + suffix)
