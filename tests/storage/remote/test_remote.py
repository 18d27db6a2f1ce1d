# mypy: disallow-untyped-calls=False
"""A store that workers share with its owner, as conformance tests."""
# covers: orchtw.storage.remote.client, orchtw.storage.remote.link, orchtw.storage.remote.scanning
# covers: orchtw.storage.remote.server

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from twisted.internet.defer import gatherResults
from twisted.trial.unittest import TestCase

from orchtw.errors import Expired
from orchtw.storage.cache.starting_point import starting_point
from orchtw.storage.remote.messages import MessageKind
from orchtw.storage.sqlite import reader, scan
from orchtw.storage.store import Change, Op, Store
from orchtw.storage.testing import StoreConformance
from tests.storage.quick_ends import QuickEnds
from tests.storage.remote.owned import Owned, worker_with_company


class WorkerConformanceTests(QuickEnds, StoreConformance, TestCase):
    """A worker's store, beside another worker (reference STORE-1)."""

    def make_store(self) -> Store:
        """Return an empty store."""
        return worker_with_company(Owned(self.mktemp()))


def noting(send: Callable[..., None], sent: list[int]) -> Callable[..., None]:
    """Wrap `send` so that the kind of each message is noted in `sent`."""

    def noted(kind: int, *data: Any) -> None:
        sent.append(kind)
        send(kind, *data)

    return noted


class WorkerScanTests(TestCase):
    """Reading everything through the owner."""

    async def setUp(self) -> None:  # type: ignore[override]
        self.patch(scan, "SPAN_KEYS", 4)
        self.owned = Owned(self.mktemp())
        self.store = worker_with_company(self.owned)
        await self.store.start()
        await gatherResults([self.store.commit(Op(f"/a/{number}", b"x")) for number in range(30, 50)])

    def scans(self) -> int:
        """Return the number of the owner's running scans."""
        return sum(len(server._scans._scans) for server in self.owned.servers)

    async def test_one_page_ahead(self) -> None:
        """The owner reads no more than the page after the one that is being taken in."""
        sent: list[int] = []
        for server in self.owned.servers:
            server._scans._send = noting(server._scans._send, sent)
        taken = 0
        async for page in self.store.scan("/a/"):
            taken += 1
            await self.store.get("/a/30")
            self.assertEqual(len(page.items), 4)
            self.assertLessEqual(sent.count(MessageKind.PAGE), taken + 1)
        self.assertEqual((taken, sent[-1], self.scans()), (5, MessageKind.DONE, 0))
        await self.store.stop()

    async def test_left(self) -> None:
        """The owner keeps nothing of a scan that its worker has left, at whatever moment."""
        first, second = self.store.scan("/a/"), self.store.scan("/a/")
        await first.__anext__()
        await second.__anext__()
        await self.store.get("/a/30")
        self.assertEqual(self.scans(), 2)
        await first.aclose()  # type: ignore[attr-defined]
        await self.store.get("/a/30")
        self.assertEqual(self.scans(), 1)
        await self.store.stop()
        await second.aclose()  # type: ignore[attr-defined]
        self.assertEqual(self.scans(), 0)


class HistoryTests(TestCase):
    """History from before a worker began."""

    async def setUp(self) -> None:  # type: ignore[override]
        self.patch(reader, "CHUNK_ROWS", 4)
        self.owned = Owned(self.mktemp())
        self.store = worker_with_company(self.owned)
        await self.store.start()
        await gatherResults([self.store.commit(Op(f"/a/{number}", b"x")) for number in range(30)])
        self.late = self.owned.worker()
        await self.late.start()

    async def ended(self) -> None:
        """End all, the late one first."""
        await self.late.stop()
        await self.store.stop()

    async def test_in_parts(self) -> None:
        """Nobody reads or sends more of it than the store reads at once; followers have it all, once, then go on."""
        sent: list[int] = []
        link = self.owned.servers[-1].link
        self.patch(link, "send", noting(link.send, sent))
        found: list[Change] = []
        following = await self.late.subscribe(11, found.extend)
        self.assertEqual([change.revision for change in found], list(range(12, 32)))
        self.assertEqual(sent.count(MessageKind.PAST), 2 * 5)
        await self.store.commit(Op("/a/0", b"y"))
        await self.late.get("/a/0")
        self.assertEqual([change.revision for change in found], list(range(12, 33)))
        following.stop()
        await self.ended()

    async def test_begins_in_the_past(self) -> None:
        """A worker begins where the store was, as far as that is kept (reference READ-28)."""
        self.assertEqual(await starting_point(self.late, "/a/0"), 1)
        await self.store.compact(8)
        self.assertEqual(await starting_point(self.late, "/a/0"), 31 - 10_000 // 512)
        found: list[Change] = []
        with self.assertRaises(Expired):
            await self.late.subscribe(5, found.extend)
        await self.ended()
