# mypy: disallow-untyped-calls=False
"""The conformance tests that every store passes, as a mixin for trial's TestCase.

```python
class SqliteConformanceTests(StoreConformance, TestCase):
    def make_store(self) -> Store: ...
```
A store under test has no compaction of its own during a test; its keys, if it is a shared one, are its own.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from twisted.internet.defer import Deferred, gatherResults

from orchtw import errors
from orchtw.storage.interface import Change, KeyValue, Op, Outcome, Page, Store, Subscription

if TYPE_CHECKING:
    from twisted.trial.unittest import TestCase as _Base
else:
    _Base = object

PODS = "/registry/pods/"


class Recorder:
    """A subscriber that remembers every Change, and can be waited for."""

    def __init__(self) -> None:
        self.changes: list[Change] = []
        self._waiting: list[tuple[int, Deferred[None]]] = []
        self.on_change: Callable[[], None] = lambda: None

    def deliver(self, changes: Sequence[Change]) -> None:
        """Remember `changes` and wake those whose revision has come."""
        self.changes += changes
        self.on_change()
        due = [entry for entry in self._waiting if entry[0] <= changes[-1].revision]
        self._waiting = [entry for entry in self._waiting if entry not in due]
        for _, waiting in due:
            waiting.callback(None)

    def reached(self, revision: int) -> Deferred[None]:
        """Fires when a Change of `revision` or later has been delivered."""
        waiting: Deferred[None] = Deferred()
        if self.changes and self.changes[-1].revision >= revision:
            waiting.callback(None)
        else:
            self._waiting.append((revision, waiting))
        return waiting

    @property
    def revisions(self) -> list[int]:
        """The revisions delivered, in order."""
        return [change.revision for change in self.changes]


class StoreConformance(_Base):
    """What `orchtw.storage.interface` promises, as tests. `make_store` makes an empty store, not started."""

    store: Store

    def make_store(self) -> Store:
        """An empty store that has not been started."""
        raise NotImplementedError

    async def setUp(self) -> None:  # type: ignore[override]
        """Start an empty store and stop it afterwards."""
        self.store = self.make_store()
        await self.store.start()
        self.addCleanup(lambda: Deferred.fromCoroutine(self.store.stop()))

    async def put(self, key: str, value: bytes = b"v", expected: int | None = None) -> int:
        """Write, which must succeed; the revision."""
        outcome = await self.store.commit(Op(key, value, expected))
        self.assertGreater(outcome.revision, 0, f"{key} was not written")
        return outcome.revision

    async def delete(self, key: str, expected: int | None = None) -> int:
        """Delete, which must succeed; the revision."""
        outcome = await self.store.commit(Op(key, None, expected))
        self.assertGreater(outcome.revision, 0, f"{key} was not deleted")
        return outcome.revision

    async def names(self, prefix: str = PODS, *, revision: int = 0) -> list[str]:
        """The keys that a list shows."""
        return [item.key for item in (await self.store.list(prefix, revision=revision)).items]

    async def follow(self, after: int) -> tuple[Recorder, Subscription]:
        """A recorder subscribed after revision `after`, stopped at the test's end."""
        recorder = Recorder()
        subscription = await self.store.subscribe(after, recorder.deliver)
        self.addCleanup(subscription.stop)
        return recorder, subscription

    # Revisions and preconditions

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
        """`expected=0` commits nothing when the key exists and shows what is there."""
        created = await self.put("/a", b"one", 0)
        outcome = await self.store.commit(Op("/a", b"two", 0))
        self.assertEqual(outcome, Outcome(0, KeyValue("/a", b"one", created, created)))
        self.assertEqual(await self.store.revision(), created)

    async def test_swap_needs_the_last_write(self) -> None:
        """A write with a stale `expected` is refused with the current state; one with the right one commits."""
        created = await self.put("/a", b"one")
        updated = await self.put("/a", b"two", created)
        outcome = await self.store.commit(Op("/a", b"three", created))
        self.assertEqual(outcome, Outcome(0, KeyValue("/a", b"two", updated, created)))
        self.assertEqual((await self.store.commit(Op("/a", b"three", updated))).revision, updated + 1)

    async def test_swap_of_a_missing_key_is_refused(self) -> None:
        """An `expected` revision of a key that does not exist, or no more, is refused with nothing to show."""
        self.assertEqual(await self.store.commit(Op("/a", b"one", 7)), Outcome(0, None))
        created = await self.put("/a")
        await self.delete("/a")
        self.assertEqual(await self.store.commit(Op("/a", b"one", created)), Outcome(0, None))

    async def test_delete_needs_its_precondition(self) -> None:
        """A delete with a stale `expected` is refused, with the right one the key is gone."""
        created = await self.put("/a", b"one")
        stale = await self.store.commit(Op("/a", None, created - 1))
        self.assertEqual(stale, Outcome(0, KeyValue("/a", b"one", created, created)))
        await self.delete("/a", created)
        self.assertIsNone(await self.store.get("/a"))

    async def test_delete_of_a_missing_key_commits_nothing(self) -> None:
        """Deleting what is not there uses no revision, whatever was expected."""
        before = await self.store.revision()
        for expected in (None, 0, 5):
            self.assertEqual(await self.store.commit(Op("/a", None, expected)), Outcome(0, None))
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
                Outcome(first),
                Outcome(0, KeyValue("/a", b"1", first, first)),
                Outcome(first + 1),
                Outcome(first + 2),
                Outcome(0, None),
                Outcome(first + 3),
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

    # Values and keys

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

    # Lists

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
        """A scan gives each key once, in order, at one revision, while others write; of nothing one empty page."""
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
        """What is compacted or to come cannot be scanned; who leaves a scan early can go on with others."""
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
        """`start` is the first key that may be shown; before the prefix it means nothing, after it all is over."""
        for name in "abc":
            await self.put(PODS + name)
        self.assertEqual(self.keys(await self.store.list(PODS, start=PODS + "b")), [PODS + "b", PODS + "c"])
        self.assertEqual(self.keys(await self.store.list(PODS, start=PODS + "aa", limit=1)), [PODS + "b"])
        self.assertEqual(len(self.keys(await self.store.list(PODS, start="/"))), 3)
        self.assertEqual(self.keys(await self.store.list(PODS, start="/registry/q")), [])

    async def test_limit_that_fits_has_no_more(self) -> None:
        """A limit equal to what is there leaves nothing over."""
        for name in "ab":
            await self.put(PODS + name)
        page = await self.store.list(PODS, limit=2)
        self.assertEqual((len(page.items), page.more, page.remaining), (2, False, 0))

    def keys(self, page: Page) -> list[str]:
        """The keys of a page."""
        return [item.key for item in page.items]

    # History

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
        """Reading or following a revision that has not happened is Timeout with its cause (reference READ-8)."""
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
        """Compacting to an older revision than before is no error and brings nothing back."""
        first = await self.put("/a")
        last = await self.put("/a")
        await self.store.compact(last)
        await self.store.compact(first)
        await self.assertFailure(Deferred.fromCoroutine(self.store.get("/a", first)), errors.Expired)

    # Change feed

    async def test_feed_tells_each_change(self) -> None:
        """A live subscriber gets every write in order, with what it replaced and the writer's note."""
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

    async def test_feed_from_the_past(self) -> None:
        """A subscriber from an old revision gets the history after it with the replaced states, then what comes."""
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
        """Following from the compacted revision itself works, with the states it replaced."""
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

        def answered(outcome: Outcome) -> None:
            seen.append(outcome.revision in recorder.revisions)

        await gatherResults([self.store.commit(Op(f"/{n}", b"")).addCallback(answered) for n in range(30)])
        self.assertEqual(seen, [True] * 30)

    async def test_feed_comes_to_the_revision(self) -> None:
        """Subscribers come to what `revision` says without a further write; at once where nobody else writes."""
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
        """Who gives up waiting loses the answer only: the write is made, and told to subscribers
        (reference STORE-12).
        """
        recorder, _ = await self.follow(await self.store.revision())
        waiting = self.store.commit(Op("/a", b"1"))
        waiting.addErrback(lambda failure: None)
        waiting.cancel()
        last = await self.put("/a", b"2")
        await recorder.reached(last)
        self.assertEqual([change.value for change in recorder.changes], [b"1", b"2"])

    # Values that end by themselves

    async def lasting(self, key: str, ttl_s: float, value: bytes = b"v") -> int:
        """Write a value that ends; the revision."""
        outcome = await self.store.commit(Op(key, value, ttl_s=ttl_s))
        self.assertGreater(outcome.revision, 0, f"{key} was not written")
        return outcome.revision

    async def test_value_ends(self) -> None:
        """A value with an end is there until then; its deletion is told as any other (reference STORE-15)."""
        written = await self.lasting("/a", 1, b"1")
        kept = await self.put("/b", b"2")
        recorder, _ = await self.follow(kept)
        self.assertEqual(await self.store.get("/a"), KeyValue("/a", b"1", written, written))
        await recorder.reached(kept + 1)
        self.assertEqual(
            recorder.changes, [Change(kept + 1, "/a", None, KeyValue("/a", b"1", written, written))]
        )
        self.assertIsNone(await self.store.get("/a"))
        self.assertEqual(await self.names("/"), ["/b"])
        self.assertEqual(await self.store.revision(), kept + 1)

    async def test_each_write_says_anew_when_a_value_ends(self) -> None:
        """A later write of the key ends later or, if it does not say, never; a deleted key begins anew."""
        for key in ("/longer", "/for-ever", "/deleted", "/again"):
            await self.lasting(key, 1)
        await self.lasting("/longer", 3600)
        await self.put("/for-ever")
        await self.delete("/deleted")
        await self.delete("/again")
        await self.put("/again")
        recorder, _ = await self.follow(last := await self.lasting("/witness", 2))
        await recorder.reached(last + 1)
        self.assertEqual([change.key for change in recorder.changes], ["/witness"])
        self.assertEqual(await self.names("/"), ["/again", "/for-ever", "/longer"])

    async def test_many_values_end(self) -> None:
        """Many that end at once all do, each once, while others are written."""
        await gatherResults([self.store.commit(Op(f"/{n:03}", b"", ttl_s=1)) for n in range(300)])
        recorder, _ = await self.follow(await self.store.revision())
        while len({change.key for change in recorder.changes if change.value is None}) < 300:
            await self.put("/busy")
        ended = [change.key for change in recorder.changes if change.value is None]
        self.assertEqual(sorted(ended), [f"/{n:03}" for n in range(300)])
        self.assertEqual(await self.names("/"), ["/busy"])

    # Life

    async def test_check_passes_while_open(self) -> None:
        """A started store is healthy and alive, a stopped one is neither."""
        await self.store.check()
        await self.store.alive()
        await self.store.stop()
        await self.assertFailure(Deferred.fromCoroutine(self.store.check()), errors.StatusError)
        await self.assertFailure(Deferred.fromCoroutine(self.store.alive()), errors.StatusError)

    async def test_stop_answers_everything(self) -> None:
        """Writes accepted before `stop` are committed and answered; later ones fail with ServiceUnavailable."""
        writes = [self.store.commit(Op(f"/{n}", b"v")) for n in range(1000)]
        await self.store.stop()
        await self.store.stop()
        outcomes = [self.successResultOf(write) for write in writes]
        self.assertEqual(len({outcome.revision for outcome in outcomes} - {0}), 1000)
        self.failureResultOf(self.store.commit(Op("/late", b"v")), errors.ServiceUnavailable)
        await self.assertFailure(Deferred.fromCoroutine(self.store.get("/0")), errors.ServiceUnavailable)
