"""Reading everything below a prefix of a cluster, over ranges that are made up here."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from twisted.internet.defer import Deferred
from twisted.trial.unittest import SynchronousTestCase

from orchtw.storage.etcd import scanning
from orchtw.storage.etcd.scanning import Scan
from orchtw.storage.store import KeyValue, Page


class Found(SimpleNamespace):
    """A stand-in for a RangeResponse message."""

    def ByteSize(self) -> int:
        """As messages have it."""
        return 10 * len(self.kvs)


class ScanTests(SynchronousTestCase):
    def setUp(self) -> None:
        self.patch(scanning, "FIRST_PAGE", 2)
        self.patch(scanning, "MOST_A_PAGE", 3)
        self.patch(scanning, "SPAN_KEYS", 7)
        self.asked: list[tuple[int, int, bool]] = []

    async def ask(
        self, revision: int, *, key: bytes, range_end: bytes, limit: int, keys_only: bool = False
    ) -> Found:
        """Answer as a cluster with these keys would, and note what it counts."""
        there = [each for each in self.keys if key <= each < range_end]
        self.asked.append((revision, len(there), keys_only))
        return Found(
            kvs=[SimpleNamespace(key=each) for each in there[:limit]],
            count=len(there),
            header=SimpleNamespace(revision=9),
        )

    def pages(self, count: int) -> list[Page]:
        """All pages of a store of so many keys."""
        self.keys = [b"/a/%03d" % number for number in range(count)]
        scan = Scan(self.ask, lambda pair: KeyValue(pair.key.decode(), b"", 1, 1), b"/a/", b"/a0", 0)

        async def all_pages() -> list[Page]:
            return [page async for page in scan.pages()]

        return self.successResultOf(Deferred.fromCoroutine(all_pages()))

    def test_all_once(self) -> None:
        """However many keys there are, each comes once, at the first page's revision, and what follows is known."""
        for count in range(40):
            self.asked.clear()
            pages = self.pages(count)
            found = [item.key.encode() for page in pages for item in page.items]
            self.assertEqual(found, self.keys)
            self.assertEqual({page.revision for page in pages}, {9})
            self.assertEqual({revision for revision, *_ in self.asked[1:]} - {9}, set())
            self.assertEqual((pages[0].remaining, pages[-1].remaining, pages[-1].more), (max(0, count - 2), 0, False))

    def test_counts_little(self) -> None:
        """Beside one look at the keys of each span, no page has more counted than a span."""
        self.pages(100)
        self.assertLessEqual(max(counted for _, counted, keys_only in self.asked[1:] if not keys_only), 7)
        self.assertEqual(sum(keys_only for *_, keys_only in self.asked), 14)

    def test_one_page_ahead(self) -> None:
        """The next page is asked for when one is given out, no more than that; who leaves leaves nothing behind."""
        self.keys = [b"/a/%03d" % number for number in range(7)]
        scan = Scan(self.ask, lambda pair: KeyValue(pair.key.decode(), b"", 1, 1), b"/a/", b"/a0", 5).pages()

        async def one() -> Any:
            return await scan.__anext__()

        self.successResultOf(Deferred.fromCoroutine(one()))
        self.assertEqual([revision for revision, *_ in self.asked], [5, 5])
        self.successResultOf(Deferred.fromCoroutine(scan.aclose()))  # type: ignore[attr-defined]
        self.assertEqual(len(self.asked), 2)
