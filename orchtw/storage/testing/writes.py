# mypy: disallow-untyped-calls=False
"""Conformance tests of writes: revisions, preconditions, keys and values."""

from __future__ import annotations

from collections.abc import Sequence

from twisted.internet.defer import Deferred, gatherResults

from orchtw import errors
from orchtw.storage.store import Change, KeyValue, Op, WriteOutcome
from orchtw.storage.testing.case import StoreCase


class WriteRules(StoreCase):
    """Rules of writes: revisions, and preconditions."""

    async def test_revision_counts_every_write(self) -> None:
        """Each committed write, deletes too, has the next revision; reading uses none (etcd's counting)."""
        first = await self.store.revision()
        self.assertGreaterEqual(first, 1)
        self.assertEqual(await self.put("/a"), first + 1)
        self.assertEqual(await self.put("/b"), first + 2)
        self.assertEqual(await self.delete("/a"), first + 3)
        await self.store.list("/")
        self.assertEqual(await self.store.revision(), first + 3)

    async def test_written_value_is_read_back(self) -> None:
        """`get` after the answer shows the value, its revision and the revision of its creation."""
        created = await self.put("/a", b"one")
        updated = await self.put("/a", b"two")
        self.assertEqual(await self.store.get("/a"), KeyValue("/a", b"two", updated, created))
        self.assertIsNone(await self.store.get("/b"))

    async def test_create_of_a_taken_key_is_refused(self) -> None:
        """`expected=0` commits nothing when the key exists, and returns the present state."""
        created = await self.put("/a", b"one", 0)
        outcome = await self.store.commit(Op("/a", b"two", 0))
        self.assertEqual(outcome, WriteOutcome(0, KeyValue("/a", b"one", created, created)))
        self.assertEqual(await self.store.revision(), created)

    async def test_writes_that_come_together(self) -> None:
        """Each of them has its own outcome, as if they had come one after the other; an empty list has no effect."""
        first = await self.put("/a", b"one")
        ops = [Op("/a", b"two", first), Op("/a", b"three", first), Op("/b", b"one", 0), Op("/a", None)]
        two, three, one, gone = await gatherResults(self.store.commit_all(ops))
        self.assertEqual(three, WriteOutcome(0, KeyValue("/a", b"two", two.revision, first)))
        self.assertTrue(first < two.revision and 0 < one.revision and two.revision < gone.revision)
        self.assertIsNone(await self.store.get("/a"))
        self.assertEqual(list(self.store.commit_all([])), [])

    async def test_swap_needs_the_last_write(self) -> None:
        """A write with a stale `expected` is refused with the current state; one with the right one commits."""
        created = await self.put("/a", b"one")
        updated = await self.put("/a", b"two", created)
        outcome = await self.store.commit(Op("/a", b"three", created))
        self.assertEqual(outcome, WriteOutcome(0, KeyValue("/a", b"two", updated, created)))
        self.assertEqual((await self.store.commit(Op("/a", b"three", updated))).revision, updated + 1)

    async def test_swap_of_a_missing_key_is_refused(self) -> None:
        """An `expected` revision of a missing or deleted key is refused with nothing to show."""
        self.assertEqual(await self.store.commit(Op("/a", b"one", 7)), WriteOutcome(0, None))
        created = await self.put("/a")
        await self.delete("/a")
        self.assertEqual(await self.store.commit(Op("/a", b"one", created)), WriteOutcome(0, None))

    async def test_guard(self) -> None:
        """A write whose guard is at another revision is fenced off, regardless of its own key (CTRL-51)."""
        held = await self.put("/lease", b"one")
        created = await self.put("/a", b"one")
        swapped = await self.store.commit(Op("/a", b"two", created, guard=("/lease", held)))
        self.assertGreater(swapped.revision, created)
        stale = await self.store.commit(Op("/a", b"three", 1, guard=("/lease", held)))
        self.assertEqual(stale, WriteOutcome(0, await self.store.get("/a")))
        await self.put("/lease", b"two")
        for op in (
            Op("/a", b"three", guard=("/lease", held)),
            Op("/a", b"three", swapped.revision, guard=("/lease", held)),
            Op("/a", b"three", 1, guard=("/lease", held)),
            Op("/a", None, guard=("/lease", held)),
            Op("/a", None, swapped.revision, guard=("/lease", held)),
            Op("/new", b"three", 0, guard=("/gone", held)),
        ):
            self.assertEqual(await self.store.commit(op), WriteOutcome(0, fenced=True), op)
        self.assertEqual(await self.store.get("/a"), KeyValue("/a", b"two", swapped.revision, created))
        self.assertGreater((await self.store.commit(Op("/b", b"v", guard=("/gone", 0)))).revision, 0)

    async def test_guard_written_just_before(self) -> None:
        """A guard sees the writes before it, even those that are under way together with it."""
        held = await self.put("/lease", b"one")
        first, second = self.store.commit(Op("/lease", b"two")), None
        if not self.store.shared:
            second = self.store.commit(Op("/a", b"v", guard=("/lease", held)))
        self.assertGreater((await first).revision, held)
        self.assertTrue((await (second or self.store.commit(Op("/a", b"v", guard=("/lease", held))))).fenced)

    async def test_delete_needs_its_precondition(self) -> None:
        """A delete with a stale `expected` is refused, with the right one the key is gone."""
        created = await self.put("/a", b"one")
        stale = await self.store.commit(Op("/a", None, created - 1))
        self.assertEqual(stale, WriteOutcome(0, KeyValue("/a", b"one", created, created)))
        await self.delete("/a", created)
        self.assertIsNone(await self.store.get("/a"))

    async def test_delete_of_a_missing_key_commits_nothing(self) -> None:
        """Deleting a missing key uses no revision, with any `expected`."""
        before = await self.store.revision()
        for expected in (None, 0, 5):
            self.assertEqual(await self.store.commit(Op("/a", None, expected)), WriteOutcome(0, None))
        self.assertEqual(await self.store.revision(), before)

    async def test_recreated_key_has_a_new_creation(self) -> None:
        """A key made again after its deletion counts as new."""
        await self.put("/a")
        await self.delete("/a")
        created = await self.put("/a", b"new", 0)
        self.assertEqual(await self.store.get("/a"), KeyValue("/a", b"new", created, created))

    async def test_later_writes_see_earlier_ones(self) -> None:
        """Writes handed over at once are decided in order, each against the ones before it."""
        first = await self.store.revision() + 1
        ops = [
            Op("/a", b"1", 0),
            Op("/a", b"2", 0),
            Op("/a", b"3", first),
            Op("/a", None, first + 1),
            Op("/a", None),
            Op("/a", b"4", 0),
        ]
        outcomes = await gatherResults([self.store.commit(op) for op in ops])
        self.assertEqual(
            outcomes,
            [
                WriteOutcome(first),
                WriteOutcome(0, KeyValue("/a", b"1", first, first)),
                WriteOutcome(first + 1),
                WriteOutcome(first + 2),
                WriteOutcome(0, None),
                WriteOutcome(first + 3),
            ],
        )
        self.assertEqual(await self.store.get("/a"), KeyValue("/a", b"4", first + 3, first + 3))
        self.assertEqual(await self.store.get("/a", first + 1), KeyValue("/a", b"3", first + 1, first))

    async def test_one_of_many_creators_wins(self) -> None:
        """Of concurrent creates of one key exactly one commits, and the others see it."""
        outcomes = await gatherResults([self.store.commit(Op("/a", b"%d" % n, 0)) for n in range(20)])
        winners = [outcome.revision for outcome in outcomes if outcome.revision]
        self.assertEqual(len(winners), 1)
        current = await self.store.get("/a")
        self.assertEqual({outcome.current for outcome in outcomes if not outcome.revision}, {current})

    async def test_many_writers_lose_nothing(self) -> None:
        """Concurrent read-modify-write loops on one counter add up: no update is lost."""

        async def increment() -> None:
            held = await self.store.get("/counter")
            while True:
                number = int(held.value) if held else 0
                op = Op("/counter", b"%d" % (number + 1), held.revision if held else 0)
                outcome = await self.store.commit(op)
                if outcome.revision:
                    return
                held = outcome.current

        await gatherResults([Deferred.fromCoroutine(increment()) for _ in range(20)])
        counter = await self.store.get("/counter")
        self.assertEqual(counter and counter.value, b"20")


class ReplaceRules(StoreCase):
    """Rules of `Store.replace`: everything at once, or nothing."""

    async def replaces(self) -> bool:
        """Report whether the store replaces its state; a shared one refuses it."""
        if self.store.shared:
            await self.assertFailure(self.store.replace([], 1), errors.MethodNotAllowed)
        return not self.store.shared

    async def test_replacement_is_one_batch(self) -> None:
        """All writes are committed in order, and told of in one call of their own, before the answer."""
        self.store.show_replaced()
        if not await self.replaces():
            return
        created = await self.put("/a", b"1")
        other = await self.put("/b", b"2")
        batches: list[Sequence[Change]] = []
        subscription = await self.store.subscribe(other, batches.append)
        self.addCleanup(subscription.stop)
        note = object()
        ops = [Op("/a", b"3", note=note), Op("/b", None, note=note), Op("/c", None), Op("/d", b"4")]
        last = await self.store.replace(ops, other)
        self.assertEqual(last, other + 3)
        one = Change(other + 1, "/a", b"3", KeyValue("/a", b"1", created, created), note)
        two = Change(other + 2, "/b", None, KeyValue("/b", b"2", other, other), note)
        self.assertEqual([list(batch) for batch in batches], [[one, two, Change(other + 3, "/d", b"4", None)]])
        self.assertEqual(await self.names(""), ["/a", "/d"])
        self.assertEqual(await self.names("", revision=other), ["/a", "/b"])

    async def test_replacement_after_another_write_does_nothing(self) -> None:
        """A write since the revision, even one that is queued just before it, is noticed; the state stays."""
        if not await self.replaces():
            return
        written = await self.put("/a", b"1")
        queued = self.store.commit(Op("/b", b"2"))
        self.assertEqual(await self.store.replace([Op("/a", None)], written), 0)
        self.assertEqual((await queued).revision, written + 1)
        self.assertEqual(await self.names(""), ["/a", "/b"])
        self.assertEqual(await self.store.replace([Op("/a", None)], written + 1), written + 2)

    async def test_replacement_of_nothing(self) -> None:
        """Without a difference the revision stays, and no subscriber is called."""
        if not await self.replaces():
            return
        written = await self.put("/a", b"1")
        recorder, _ = await self.follow(written)
        self.assertEqual(await self.store.replace([Op("/b", None)], written), written)
        self.assertEqual(await self.store.replace([], written), written)
        self.assertEqual(await self.store.revision(), written)
        self.assertEqual(recorder.changes, [])

    async def test_many_replacements(self) -> None:
        """A replacement is as large as it needs to be; values in it may expire."""
        if not await self.replaces():
            return
        ops = [Op(f"/{number:04}", b"v" * 100) for number in range(3000)]
        revision = await self.store.replace([*ops, Op("/ends", b"v", ttl_s=1)], await self.store.revision())
        recorder, _ = await self.follow(revision)
        page = await self.store.list("/0", limit=5)
        self.assertEqual((len(page.items), page.remaining), (5, 995))
        await recorder.reached(revision + 1)
        self.assertEqual([(each.key, each.value) for each in recorder.changes], [("/ends", None)])

    async def test_closed_store_replaces_nothing(self) -> None:
        """After a stop a replacement fails as any write does."""
        if await self.replaces():
            await self.store.stop()
            await self.assertFailure(self.store.replace([], 1), errors.ServiceUnavailable)


class KeyRules(StoreCase):
    """Rules of keys and values: any text, any bytes."""

    async def test_values_are_any_bytes(self) -> None:
        """A value is opaque: empty, NULs, every byte, no UTF-8, 3 MiB (the largest body, reference LIMIT-1)."""
        values = [b"", b"\0", b"a\0b", bytes(range(256)), b"\xff\xfe\xc3", bytes(range(256)) * (3 << 12)]
        for number, value in enumerate(values):
            await self.put(f"/{number}", value)
        page = await self.store.list("/")
        self.assertEqual([item.value for item in page.items], values)
        self.assertEqual((await self.store.get("/5") or page.items[0]).value, values[5])

    async def test_keys_are_ordered_by_bytes(self) -> None:
        """Keys are any text and come in the order of their UTF-8 bytes, not of a language or of UTF-16."""
        keys = ["/k/a", "/k/B", "/k/é", "/k/-", "/k/a/b", "/k/a-b", "/k/a.b", "/k/\uffee", "/k/\U0001f600", '/k/"\\']
        for key in keys:
            await self.put(key, key.encode())
        expected = sorted(keys, key=str.encode)
        page = await self.store.list("/k/")
        self.assertEqual([item.key for item in page.items], expected)
        self.assertEqual([item.value.decode() for item in page.items], expected)
        found = await self.store.get("/k/\U0001f600")
        self.assertEqual(found and found.value, "/k/\U0001f600".encode())

    async def test_key_that_is_no_text_is_refused_alone(self) -> None:
        """A key without a UTF-8 form fails with BadRequest and does not harm its neighbours."""
        good, bad = self.store.commit(Op("/good", b"")), self.store.commit(Op("/\udc80", b""))
        await self.assertFailure(bad, errors.BadRequest)
        self.assertGreater((await good).revision, 0)
        self.assertIsNone(await self.store.get("/\udc80"))
