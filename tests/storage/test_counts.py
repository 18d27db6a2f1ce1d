"""Counts after a page of a past state (see `Store.list`)."""

from __future__ import annotations

from twisted.internet.defer import gatherResults
from twisted.trial.unittest import SynchronousTestCase

from orchtw.storage.counts import MAX_COUNTS, Counts
from orchtw.storage.sqlite import reader
from orchtw.storage.store import Op
from tests.storage.store_files import FileCase


class CountedOnceTests(FileCase):
    async def test_pages(self) -> None:
        """The remaining keys are counted for the first page; later pages know, whatever is written (READ-27)."""
        store = await self.open()
        await gatherResults([store.commit(Op(f"/a/{number:02}", b"x")) for number in range(20)])
        revision = await store.revision()
        page = await store.list("/a/", revision=revision, limit=4)
        await store.commit(Op("/a/05", None))
        await store.commit(Op("/a/10-new", b"y"))
        self.patch(reader, "COUNT", "this is no SQL")
        seen = ["/a/00", "/a/01", "/a/02"]
        while page.more:
            self.assertEqual(page.remaining, 20 - len(seen) - 1)
            page = await store.list("/a/", revision=revision, limit=4, start=f"{seen[-1]}\0")  # from the last one on
            seen += [item.key for item in page.items[:3]]
        self.assertEqual(page.remaining, 0)

    async def test_damaged(self) -> None:
        """A row that cannot be read counts as it did for the first page."""
        store = await self.open()
        await gatherResults([store.commit(Op(f"/a/{number}", b"x")) for number in range(9)])
        revision = await store.revision()
        await store.stop()
        self.query("UPDATE history SET value = ? WHERE key = ?", b"wrong", "/a/4")
        store = await self.open()
        page = await store.list("/a/", revision=revision, limit=3)
        self.patch(reader, "COUNT", "this is no SQL")
        page = await store.list("/a/", revision=revision, limit=3, start=f"{page.items[-1].key}\0")
        self.assertEqual(([item.key for item in page.items], page.remaining), (["/a/3", "/a/5", "/a/6"], 2))


class CountsTests(SynchronousTestCase):
    def test_bounded(self) -> None:
        """The oldest places are forgotten, and others are not known."""
        counts = Counts()
        for revision in range(MAX_COUNTS):
            counts.keep("/a/", revision, ["/a/1", "/a/2"], 7)
        self.assertEqual(counts.find(("/a/", 0, "/a/2\0")), None)
        last = MAX_COUNTS - 1
        self.assertEqual((counts.find(("/a/", last, "/a/2\0")), counts.find(("/a/", last, "/a/1\0"))), (7, 8))
        self.assertEqual(counts.find(("/b/", last, "/a/2\0")), None)
