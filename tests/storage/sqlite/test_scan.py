"""Reading everything below a prefix in one go (see `Store.scan`)."""

from __future__ import annotations

from typing import Any

from twisted.internet.defer import Deferred, gatherResults

from orchtw.errors import Expired
from orchtw.storage.sqlite import reader
from orchtw.storage.sqlite import scan as sqlite_scan
from orchtw.storage.sqlite.store import SqliteStore
from orchtw.storage.store import Op, Page, Store
from tests.storage.store_files import FileCase


async def pages(store: Store, prefix: str, revision: int = 0) -> list[Page]:
    return [page async for page in store.scan(prefix, revision=revision)]


class ScanTests(FileCase):
    async def fill(self, count: int) -> SqliteStore:
        store = await self.open()
        await gatherResults([store.commit(Op(f"/a/{number:03}", b"x" * number)) for number in range(count)])
        return store

    async def test_all(self) -> None:
        """Every key comes once, in order, in pages of one revision that say how many follow."""
        self.patch(sqlite_scan, "SPAN_KEYS", 7)
        self.patch(reader, "CHUNK_ROWS", 3)
        store = await self.fill(30)
        await store.commit(Op("/b/other", b"y"))
        found = await pages(store, "/a/")
        items = [(item.key, item.value) for page in found for item in page.items]
        self.assertEqual(items, [(f"/a/{number:03}", b"x" * number) for number in range(30)])
        self.assertEqual({page.revision for page in found}, {32})
        self.assertEqual((len(found), found[-1].remaining), (13, 0))
        self.assertTrue(all(len(page.items) <= 3 for page in found))

    async def test_one_span(self) -> None:
        """Of a few keys it is known from the first page how many follow; of none there is one empty page."""
        self.patch(reader, "CHUNK_ROWS", 3)
        store = await self.fill(5)
        self.assertEqual([(len(page.items), page.remaining) for page in await pages(store, "/a/")], [(3, 2), (2, 0)])
        self.assertEqual([(page.items, page.revision) for page in await pages(store, "/none/")], [([], 6)])

    async def test_past(self) -> None:
        """A revision that is over can be read like any other, a compacted one cannot (reference STORE-6)."""
        store = await self.fill(3)
        await store.commit(Op("/a/001", None))
        self.assertEqual(len((await pages(store, "/a/", 4))[0].items), 3)
        self.assertEqual(len((await pages(store, "/a/"))[0].items), 2)
        await store.compact(5)
        await self.assertFailure(Deferred.fromCoroutine(pages(store, "/a/", 4)), Expired)

    async def test_as_opened(self) -> None:
        """The first full read after the start reuses the index, if nothing was written since."""
        self.patch(sqlite_scan, "SPAN_KEYS", 7)
        self.patch(reader, "CHUNK_ROWS", 3)
        asked: list[str] = []
        read = sqlite_scan.read

        def counted(connection: reader.Connection, *asking: Any) -> sqlite_scan.KeyIndex:
            asked.append(asking[-1])
            return read(connection, *asking)

        self.patch(sqlite_scan, "read", counted)
        store = await self.fill(30)
        await store.commit(Op("/a/029", None))
        await store.commit(Op("/b/other", b"y"))
        await store.commit(Op("/a/003", b"new"))
        await store.stop()
        for prefix, expected in (("/a/", 29), ("/b/", 1), ("/", 30), ("/c/", 0), ("", 30)):
            asked.clear()
            store = await self.open()
            opened = len(asked)
            found = await pages(store, prefix)
            self.assertEqual((opened, len(asked)), (5, 5))
            items = [item.key for page in found for item in page.items]
            self.assertEqual((len(items), items), (expected, sorted(items)))
            if items:
                self.assertEqual(found[0].remaining, max(expected - 3, 0))
            again = [item for page in await pages(store, prefix) for item in page.items]
            self.assertEqual(again, [item for page in found for item in page.items])
            self.assertGreater(len(asked), 5)
            await store.stop()

    async def test_written_since(self) -> None:
        """Writes after the start are read as well."""
        await (await self.fill(3)).stop()
        store = await self.open()
        await store.commit(Op("/a/more", b"x"))
        self.assertEqual([len(page.items) for page in await pages(store, "/a/")], [4])
        await store.stop()
        store = await self.open()
        self.assertEqual([len(page.items) for page in await pages(store, "/a/", 4)], [3])

    async def test_wanted(self) -> None:
        """Unwanted keys are left out, and not counted."""
        self.patch(sqlite_scan, "SPAN_KEYS", 7)
        store = await self.fill(30)
        for again in (False, True):
            if again:
                await store.stop()
                store = await self.open()
            found = [page async for page in store.scan("/a/", wanted=lambda key: int(key[-3:]) % 10 < 2)]
            items = [item.key[-3:] for page in found for item in page.items]
            self.assertEqual(items, ["000", "001", "010", "011", "020", "021"])
            self.assertEqual(found[-1].remaining, 0)
        none = [page async for page in store.scan("/a/", wanted=lambda key: False)]
        self.assertEqual([(page.items, page.remaining) for page in none], [([], 0)])

    async def test_damaged(self) -> None:
        """A row that is not what was written is named, and the others come."""
        store = await self.fill(4)
        await store.stop()
        self.query("UPDATE history SET value = ? WHERE key = ?", b"wrong", "/a/002")
        (found,) = await pages(await self.open(), "/a/")
        self.assertEqual([item.key for item in found.items], ["/a/000", "/a/001", "/a/003"])
        self.assertEqual([lost.key for lost in found.damaged], ["/a/002"])

    async def test_left(self) -> None:
        """A scan that is left early leaves nothing behind."""
        self.patch(sqlite_scan, "SPAN_KEYS", 2)
        store = await self.fill(9)
        scan = store.scan("/a/")
        self.assertEqual(len((await scan.__anext__()).items), 2)
        await store.stop()
        await scan.aclose()  # type: ignore[attr-defined]
