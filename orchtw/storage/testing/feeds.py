# mypy: disallow-untyped-calls=False
"""Conformance tests of subscriptions."""

from __future__ import annotations

from twisted.internet.defer import gatherResults

from orchtw.storage.store import Change, KeyValue, Op, WriteOutcome
from orchtw.storage.testing.case import StoreCase


class FeedRules(StoreCase):
    """Rules of feeds: each change once, in order."""

    async def test_feed_tells_each_change(self) -> None:
        """A live subscriber gets every write in order, with what it replaced and the writer's note."""
        self.store.show_replaced()
        recorder, _ = await self.follow(await self.store.revision())
        note = object()
        first = (await self.store.commit(Op("/a", b"1", 0, note))).revision
        await gatherResults([self.store.commit(Op("/a", b"2")), self.store.commit(Op("/a", None))])
        await recorder.reached(first + 2)
        self.assertEqual(
            recorder.changes,
            [
                Change(first, "/a", b"1", None, note),
                Change(first + 1, "/a", b"2", KeyValue("/a", b"1", first, first)),
                Change(first + 2, "/a", None, KeyValue("/a", b"2", first + 1, first)),
            ],
        )
        self.assertIs(recorder.changes[0].note, note)

    async def test_feed_names_what_is_replaced(self) -> None:
        """Without `show_replaced`, a change still has the revisions of what it replaced, and no wrong value."""
        recorder, _ = await self.follow(await self.store.revision())
        created = await self.put("/a", b"0")
        for value in (b"1", b"2", b"3"):
            await self.put("/a", value)
        await self.delete("/a")
        again = await self.put("/a", b"4")
        await gatherResults([self.store.commit(Op("/a", value)) for value in (b"5", b"6", None)])
        await self.store.commit(Op("/a", b"7"))
        await recorder.reached(again + 4)
        before = None
        for change in recorder.changes:
            found = change.previous
            if before is None or found is None:
                self.assertIs(found, before)
            else:
                self.assertIn(found, (before, KeyValue("/a", b"", before.revision, before.create_revision)))
            first = created if change.revision < again else again if change.revision < again + 4 else again + 4
            before = None if change.value is None else KeyValue("/a", change.value, change.revision, first)

    async def test_feed_from_the_past(self) -> None:
        """A subscriber from an old revision gets the later history with the replaced states, then new changes."""
        self.store.show_replaced()
        created = await self.put("/a", b"1")
        await self.put("/a", b"2")
        await self.delete("/a")
        recorder, _ = await self.follow(created)
        last = await self.put("/a", b"3")
        await recorder.reached(last)
        self.assertEqual(
            recorder.changes,
            [
                Change(created + 1, "/a", b"2", KeyValue("/a", b"1", created, created)),
                Change(created + 2, "/a", None, KeyValue("/a", b"2", created + 1, created)),
                Change(last, "/a", b"3", None),
            ],
        )

    async def test_feed_from_the_compacted_revision(self) -> None:
        """Following from the compacted revision itself works, with the replaced states."""
        self.store.show_replaced()
        await self.put("/a", b"1")
        mark = await self.put("/a", b"2")
        last = await self.put("/a", b"3")
        await self.store.compact(mark)
        recorder, _ = await self.follow(mark)
        await recorder.reached(last)
        self.assertEqual(recorder.revisions, [last])
        self.assertEqual(recorder.changes[0].previous, KeyValue("/a", b"2", mark, mark - 1))

    async def test_feed_has_no_gap_under_load(self) -> None:
        """Subscribers that join while many write get each revision once, in order."""
        begin = await self.store.revision()
        recorders = []
        writes = []
        for round_ in range(10):
            writes += [self.store.commit(Op(f"/{round_}/{n % 7}", b"%d" % n)) for n in range(50)]
            recorders.append((await self.follow(begin))[0])
        outcomes = await gatherResults(writes)
        last = max(outcome.revision for outcome in outcomes)
        self.assertEqual(last, begin + 500)
        for recorder in recorders:
            await recorder.reached(last)
            self.assertEqual(recorder.revisions, list(range(begin + 1, last + 1)))

    async def test_change_comes_before_the_answer(self) -> None:
        """When a write's answer fires, live subscribers already have its Change."""
        recorder, _ = await self.follow(await self.store.revision())
        seen: list[bool] = []

        def answered(outcome: WriteOutcome) -> None:
            seen.append(outcome.revision in recorder.revisions)

        await gatherResults([self.store.commit(Op(f"/{n}", b"")).addCallback(answered) for n in range(30)])
        self.assertEqual(seen, [True] * 30)

    async def test_feed_comes_to_the_revision(self) -> None:
        """Subscribers reach the result of `revision` without a further write; at once if nobody else writes."""
        recorder, _ = await self.follow(await self.store.revision())
        await gatherResults([self.store.commit(Op(f"/{n}", b"")) for n in range(30)])
        await self.store.commit(Op("/none", None))  # commits nothing
        revision = await self.store.revision()
        if not self.store.shared:
            self.assertEqual(recorder.revisions[-1], revision)
        await recorder.reached(revision)

    async def test_stopped_feed_is_silent(self) -> None:
        """After `stop`, also from within `deliver`, nothing more is delivered; stopping twice is fine."""
        revision = await self.store.revision()
        stopped, subscription = await self.follow(revision)
        stopped.on_change = subscription.stop
        other, _ = await self.follow(revision)
        await self.put("/a")
        last = await self.put("/a")
        await other.reached(last)
        subscription.stop()
        self.assertEqual(stopped.revisions, [last - 1])
        self.assertEqual(other.revisions, [last - 1, last])

    async def test_cancelled_answer_does_not_cancel_the_write(self) -> None:
        """A caller that stops waiting loses the answer only: the write is made, and delivered to subscribers
        (reference STORE-12).
        """
        recorder, _ = await self.follow(await self.store.revision())
        waiting = self.store.commit(Op("/a", b"1"))
        waiting.addErrback(lambda failure: None)
        waiting.cancel()
        last = await self.put("/a", b"2")
        await recorder.reached(last)
        self.assertEqual([change.value for change in recorder.changes], [b"1", b"2"])
