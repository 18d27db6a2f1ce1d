# mypy: disallow-untyped-calls=False
"""Conformance tests of lists, of the present and of the past."""

from __future__ import annotations

from twisted.internet.defer import Deferred, gatherResults

from orchtw import errors
from orchtw.storage.store import KeyValue, Op, Page
from orchtw.storage.testing.case import PODS, StoreCase


class ListRules(StoreCase):
    """Rules of lists: prefixes, pages and scans."""

    async def test_list_shows_the_prefix_only(self) -> None:
        """A list has the live keys below its prefix, in order, as of the revision that it names."""
        for key in ("/registry/pods/b", "/registry/pods/a", "/registry/podsx/c", "/registry/pod", "/registry/pods"):
            await self.put(key)
        gone = await self.put("/registry/pods/gone")
        last = await self.delete("/registry/pods/gone", gone)
        page = await self.store.list(PODS)
        self.assertEqual([item.key for item in page.items], ["/registry/pods/a", "/registry/pods/b"])
        self.assertEqual((page.revision, page.more, page.remaining), (last, False, 0))
        self.assertEqual((await self.store.list("/nothing/")).items, [])

    async def test_list_of_all_and_of_one(self) -> None:
        """The empty prefix is everything; a whole key as prefix includes that key."""
        for key in ("/a", "/a/b", "/\U0010ffff"):
            await self.put(key)
        self.assertEqual(await self.names(""), ["/a", "/a/b", "/\U0010ffff"])
        self.assertEqual(await self.names("/a"), ["/a", "/a/b"])
        self.assertEqual(await self.names("/\U0010ffff"), ["/\U0010ffff"])

    async def test_pages_join_to_the_whole(self) -> None:
        """Pages by limit and start key at one revision miss and repeat nothing while others write."""
        keys = [f"{PODS}{number:03d}" for number in range(25)]
        for key in keys:
            await self.put(key, key.encode())
        seen: list[KeyValue] = []
        page = await self.store.list(PODS, limit=10)
        revision = page.revision
        while True:
            seen += page.items
            self.assertEqual((page.remaining, page.revision), (25 - len(seen), revision))
            self.assertEqual(page.more, len(seen) < 25)
            if not page.more:
                break
            await self.put(f"{PODS}new-{len(seen)}")
            await self.delete(keys[len(seen)])
            page = await self.store.list(PODS, limit=10, revision=revision, start=page.items[-1].key + "\0")
        self.assertEqual([item.key for item in seen], keys)
        self.assertEqual([item.value.decode() for item in seen], keys)

    async def test_scan_shows_one_state(self) -> None:
        """A scan yields each key once, in order, at one revision, while others write; else one empty page."""
        keys = [f"{PODS}{number:03d}" for number in range(120)]
        await gatherResults([self.store.commit(Op(key, key.encode() * 4000)) for key in keys])
        await self.put("/registry/q")
        seen: list[KeyValue] = []
        revisions: set[int] = set()
        left = iter(reversed(keys))
        async for page in self.store.scan(PODS):
            seen += page.items
            revisions.add(page.revision)
            await self.put(f"{PODS}005-{len(seen)}")
            await self.delete(next(left))
        self.assertEqual([item.key for item in seen], keys)
        self.assertEqual([item.value for item in seen], [key.encode() * 4000 for key in keys])
        again = [item async for page in self.store.scan(PODS, revision=revisions.pop()) for item in page.items]
        self.assertEqual((again, revisions), (seen, set()))
        self.assertEqual([page.items async for page in self.store.scan("/registry/none/")], [[]])

    async def test_scan_refuses_as_lists_do(self) -> None:
        """Compacted and future revisions cannot be scanned; after leaving a scan early, others can be made."""
        first = await self.put(PODS + "a")
        await self.put(PODS + "b")
        left = self.store.scan(PODS)
        await left.__anext__()
        await left.aclose()  # type: ignore[attr-defined]
        await self.store.compact(first + 1)
        for revision, refusal in ((first, errors.Expired), (first + 9, errors.Timeout)):
            scan = self.store.scan(PODS, revision=revision)
            await self.assertFailure(Deferred.fromCoroutine(scan.__anext__()), refusal)  # type: ignore[arg-type]
        self.assertEqual(len([page async for page in self.store.scan(PODS)]), 1)

    async def test_start_is_included(self) -> None:
        """`start` is the first key that may be shown; it may be before the prefix, and nothing is after it."""
        for name in "abc":
            await self.put(PODS + name)
        self.assertEqual(self.keys(await self.store.list(PODS, start=PODS + "b")), [PODS + "b", PODS + "c"])
        self.assertEqual(self.keys(await self.store.list(PODS, start=PODS + "aa", limit=1)), [PODS + "b"])
        self.assertEqual(len(self.keys(await self.store.list(PODS, start="/"))), 3)
        self.assertEqual(self.keys(await self.store.list(PODS, start="/registry/q")), [])

    async def test_limit_that_fits_has_no_more(self) -> None:
        """A limit equal to the number of keys leaves nothing over."""
        for name in "ab":
            await self.put(PODS + name)
        page = await self.store.list(PODS, limit=2)
        self.assertEqual((len(page.items), page.more, page.remaining), (2, False, 0))

    def keys(self, page: Page) -> list[str]:
        """Return the keys of a page."""
        return [item.key for item in page.items]


class HistoryRules(StoreCase):
    """Rules of history: old states are readable until they are compacted."""

    async def test_old_states_stay_readable(self) -> None:
        """`get` and `list` at a revision show the state of that moment, deleted keys included."""
        created = await self.put(PODS + "a", b"one")
        updated = await self.put(PODS + "a", b"two")
        other = await self.put(PODS + "b")
        deleted = await self.delete(PODS + "a")
        at = self.store.get
        self.assertIsNone(await at(PODS + "a", created - 1))
        self.assertEqual(await at(PODS + "a", created), KeyValue(PODS + "a", b"one", created, created))
        self.assertEqual(await at(PODS + "a", other), KeyValue(PODS + "a", b"two", updated, created))
        self.assertIsNone(await at(PODS + "a", deleted))
        self.assertEqual(await self.names(revision=updated), [PODS + "a"])
        self.assertEqual(await self.names(revision=other), [PODS + "a", PODS + "b"])
        self.assertEqual(await self.names(revision=deleted), [PODS + "b"])
        self.assertEqual((await self.store.list(PODS, revision=updated)).revision, updated)

    async def test_revision_to_come_is_refused(self) -> None:
        """Reading or following a future revision is Timeout with its cause (reference READ-8)."""
        future = await self.put("/a") + 1
        for refused in (
            self.store.get("/a", future),
            self.store.list("/", revision=future),
            self.store.list("/", revision=1 << 70),
            self.store.subscribe(future, lambda changes: None),
            self.store.compact(future),
        ):
            failure = await self.assertFailure(Deferred.fromCoroutine(refused), errors.Timeout)
            assert isinstance(failure, errors.Timeout) and failure.details
            self.assertEqual(failure.details["causes"][0]["reason"], "ResourceVersionTooLarge")

    async def test_compaction_ends_the_past(self) -> None:
        """After a compaction older states are Expired (410); its own revision and later ones are as before."""
        first = await self.put(PODS + "a", b"1")
        await self.put(PODS + "gone")
        await self.delete(PODS + "gone")
        mark = await self.put(PODS + "a", b"2")
        last = await self.put(PODS + "a", b"3")
        await self.store.compact(mark)
        for refused in (
            self.store.get(PODS + "a", first),
            self.store.list(PODS, revision=first),
            self.store.subscribe(first, lambda changes: None),
        ):
            await self.assertFailure(Deferred.fromCoroutine(refused), errors.Expired)
        self.assertEqual(await self.store.get(PODS + "a", mark), KeyValue(PODS + "a", b"2", mark, first))
        self.assertEqual(await self.names(revision=mark), [PODS + "a"])
        self.assertEqual(await self.store.get(PODS + "a"), KeyValue(PODS + "a", b"3", last, first))
        self.assertEqual(await self.store.revision(), last)

    async def test_compaction_keeps_what_is_live(self) -> None:
        """A key that was never written again survives every compaction, and can be swapped after it."""
        old = await self.put("/old", b"old", 0)
        for number in range(200):
            await self.put("/busy", b"%d" % number)
        await self.store.compact(await self.store.revision())
        self.assertEqual(await self.store.get("/old"), KeyValue("/old", b"old", old, old))
        await self.put("/old", b"new", old)
        self.assertEqual((await self.store.commit(Op("/busy", b"", 0))).revision, 0)

    async def test_compaction_of_a_deletion_keeps_the_count(self) -> None:
        """When the newest write is a delete and compacted away, the next write's revision is still the next one."""
        await self.put("/a")
        last = await self.delete("/a")
        await self.store.compact(last)
        self.assertEqual(await self.store.revision(), last)
        self.assertEqual((await self.store.list("/")).revision, last)
        self.assertEqual(await self.put("/a", b"", 0), last + 1)

    async def test_compaction_never_goes_back(self) -> None:
        """Compacting to an older revision than before is not an error and restores nothing."""
        first = await self.put("/a")
        last = await self.put("/a")
        await self.store.compact(last)
        await self.store.compact(first)
        await self.assertFailure(Deferred.fromCoroutine(self.store.get("/a", first)), errors.Expired)
