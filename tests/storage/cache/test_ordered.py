"""Ordered entries: blocks that snapshots share, ranges of keys, past states, and pins of old ones."""

from __future__ import annotations

import gc
from random import Random
from typing import Any, cast

from hypothesis import given, strategies
from twisted.trial.unittest import SynchronousTestCase

from orchtw.storage.cache import ordered as module
from orchtw.storage.cache.ordered import BLOCK, Entries, Ordered
from orchtw.storage.cache.past import STRIDE, Past
from orchtw.storage.cache.pins import Pins
from orchtw.watch.entry import NO_LABELS, Entry, LabelSets, Texts
from orchtw.watch.event_log import Event, EventLog, Superseded
from tests.properties import examples


def entry(key: str, revision: int = 1, size: int = 0) -> Entry:
    return Entry(key, "", key, revision, NO_LABELS, (), b"x" * size)


def keys(entries: Entries) -> list[str]:
    return [each.key for each in entries]


class Touched:
    """Stands for an entry, and counts how often the key of any is looked at."""

    __slots__ = ("name",)

    looks = 0

    def __init__(self, number: int) -> None:
        self.name = f"k{number:07}"

    @property
    def key(self) -> str:
        Touched.looks += 1
        return self.name


def touched(count: int) -> list[Any]:
    return [Touched(number) for number in range(count)]


def small(case: SynchronousTestCase) -> None:
    """Blocks and chunks of a few entries, so that a few writes split and join them."""
    case.patch(module, "BLOCK", 4)
    case.patch(module, "CHUNK", 4)


KEYS = strategies.integers(0, 60).map(lambda number: f"k{number:03}")
WRITES = strategies.lists(strategies.tuples(strategies.sampled_from(["put", "put", "remove", "look"]), KEYS))
CALM = examples(60)


class OrderedTests(SynchronousTestCase):
    @CALM
    @given(strategies.sets(KEYS), WRITES, KEYS, KEYS)
    def test_like_a_dict(self, first: set[str], writes: list[tuple[str, str]], low: str, high: str) -> None:
        """After any puts and removals a snapshot is the sorted values; older snapshots stay as they were."""
        small(self)
        model = {key: entry(key) for key in first}
        ordered = Ordered(model.values())
        taken: list[tuple[Entries, list[Entry]]] = []
        for step, (what, key) in enumerate(writes):
            if what == "put":
                self.assertEqual(ordered.put(made := entry(key, step)), key not in model)
                model[key] = made
            elif what == "look":
                taken.append((ordered.snapshot(), [model[key] for key in sorted(model)]))
            elif model.pop(key, None) is None:
                self.assertRaises(KeyError, ordered.remove, key)
            else:
                ordered.remove(key)
            self.assertEqual(ordered.empty, not model)
        taken.append((ordered.snapshot(), [model[key] for key in sorted(model)]))
        for snapshot, expected in taken:
            self.alike(snapshot, expected)
            self.alike(snapshot.between(low), [each for each in expected if each.key >= low])
            self.alike(snapshot.between(low, high), [each for each in expected if low <= each.key < high])
            self.alike(snapshot.between("", high).between(low), [each for each in expected if low <= each.key < high])

    def alike(self, entries: Entries, expected: list[Entry]) -> None:
        """The sequence is the list, in whatever way it is read."""
        self.assertEqual((list(entries), len(entries)), (expected, len(expected)))
        self.assertEqual([each for block in entries.blocks() for each in block], expected)
        self.assertEqual([entries[place] for place in range(-len(expected), len(expected))], 2 * expected)
        for part in (slice(0, 3), slice(2, 9), slice(3, None), slice(None, None, 4), slice(9, 4), slice(-2, None)):
            self.assertEqual(entries[part], expected[part])
        self.assertRaises(IndexError, lambda: entries[len(expected)])

    @CALM
    @given(strategies.sets(KEYS), WRITES)
    def test_two_of_one(self, first: set[str], writes: list[tuple[str, str]]) -> None:
        """A copy of a snapshot is independent: neither sees writes to the other."""
        small(self)
        ordered = Ordered(map(entry, first))
        other, model = Ordered.of(ordered.snapshot()), {key: 1 for key in first}
        for number, (what, key) in enumerate(writes):
            if what == "put":
                other.put(entry(key, number))
                model[key] = number
            elif model.pop(key, None) is not None:
                other.remove(key)
        self.assertEqual(keys(ordered.snapshot()), sorted(first))
        self.assertEqual({each.key: each.revision for each in other.snapshot()}, model)

    def test_a_write_copies_one_block(self) -> None:
        """A snapshot costs the same with any number of objects: a list after a write copies the written blocks, and
        references to a few others (reference STORE-6, DESIGN-18).
        """
        ordered = Ordered(touched(200_000))
        before = ordered.snapshot()
        Touched.looks = 0
        ordered.put(cast(Entry, Touched(100_000)))
        after = ordered.snapshot()
        self.assertLess(Touched.looks, 100)
        self.assertLess(len(after.chunks), 20)
        chunks = [(old, new) for old, new in zip(before.chunks, after.chunks, strict=True) if old is not new]
        self.assertEqual(len(chunks), 1)
        old, new = chunks[0]
        self.assertEqual(sum(a is not b for a, b in zip(old.blocks, new.blocks, strict=True)), 1)
        self.assertIs(ordered.snapshot(), after)

    def test_a_page_touches_what_it_gives(self) -> None:
        """A page, the length of a range and what is beyond are found without a look at others (reference STORE-6)."""
        entries = Ordered(touched(200_000)).snapshot()
        Touched.looks = 0
        some = entries.between("k0100000", "k0150000")
        self.assertEqual((len(some), len(some[:500])), (50_000, 500))
        self.assertLess(Touched.looks, 100)

    def test_chunks_stay_whole(self) -> None:
        """However entries come and go, there are not many more blocks than they need."""
        random = Random(4)
        ordered, live = Ordered(), list[str]()
        for number in range(40_000):
            live.append(f"k{random.random():.12f}")
            ordered.put(entry(live[-1]))
            if number > 20_000:
                ordered.remove(live.pop(random.randrange(len(live))))
        blocks = sum(len(chunk.blocks) for chunk in ordered.snapshot().chunks)
        self.assertLess(blocks, 4 * len(live) // BLOCK)


class PastTests(SynchronousTestCase):
    def test_any_history(self) -> None:
        """The events taken back give the state before them, whatever was made, changed or deleted since."""
        random = Random(3)
        for deletes in (0.1, 0.5, 1.0):
            then = {f"k{i:05}": entry(f"k{i:05}") for i in range(2 * BLOCK)}
            model, events = dict(then), list[Event]()
            for revision in range(2, 2 + 3 * STRIDE):
                key = f"k{random.randrange(3 * BLOCK):05}"
                new = None if random.random() < deletes else entry(key, revision)
                old = model.pop(key, None)
                if new is not None:
                    model[key] = new
                if old is not None or new is not None:
                    events.append(Event(revision, key, old, new))
            now = Ordered(model.values()).snapshot()
            for low, high in (("", ""), ("k00500", ""), ("k00100", "k00900")):
                turns, found = run(Past(now, events, low, high, lambda entry: True).steps())
                self.assertEqual(list(found), [then[key] for key in sorted(then) if low <= key < (high or "z")])
                self.assertGreater(turns, 2)

    def test_selected(self) -> None:
        """Of what an index found now, the events of selected objects are taken back (reference READ-5)."""
        random = Random(5)
        then = {f"k{i:03}": entry(f"k{i:03}", random.randrange(2)) for i in range(300)}
        model, events = dict(then), list[Event]()
        for number in range(400):
            key = f"k{random.randrange(400):03}"
            old, new = model.pop(key, None), random.choice([None, entry(key, 0), entry(key, 1)])
            if new is not None:
                model[key] = new
            events.append(Event(number + 2, key, old, new))

        def odd(each: Entry) -> bool:
            return each.revision == 1

        _, found = run(Past(Ordered(filter(odd, model.values())).snapshot(), events, "", "", odd).steps())
        self.assertEqual(list(found), [then[key] for key in sorted(then) if odd(then[key])])

    def test_cost_of_few_events(self) -> None:
        """A state some writes ago is had without a look at what has not changed (reference STORE-6)."""
        entries = touched(200_000)
        now = Ordered(entries).snapshot()
        events = [Event(number, "x", entries[number], entries[number]) for number in range(0, 1000, 100)]
        Touched.looks = 0
        for event in events:
            event.key = f"k{event.revision:07}"
        run(Past(now, events, "", "", lambda entry: True).steps())
        self.assertLess(Touched.looks, 500)


def run(steps: object) -> tuple[int, Entries]:
    """Return the number of steps of a computation, and its result."""
    count = 0
    while True:
        try:
            next(steps)  # type: ignore[call-overload]
        except StopIteration as done:
            return count, done.value
        count += 1


class Reader:
    def __init__(self) -> None:
        self.expired = False

    def expire(self) -> None:
        self.expired = True


class PinsTests(SynchronousTestCase):
    def test_what_is_held(self) -> None:
        """A reader holds at most what the log has dropped since it came; it is forgotten when it is gone."""
        log = EventLog(0, min_events=0, max_superseded_bytes=1000)
        pins = Pins(log)
        first, second = Reader(), Reader()
        pins.add(first)
        self.assertEqual(pins.bytes, 0)
        for revision in range(1, 31):
            log.append(revision, "a", entry("a", size=100), entry("a"), 0.0)
        self.assertEqual(pins.bytes, 2000)
        pins.add(second)
        pins.expire_oldest()
        self.assertEqual((first.expired, second.expired, pins.bytes), (True, False, 0))
        del second
        gc.collect()
        self.assertEqual(len(pins), 0)


class BoundsTests(SynchronousTestCase):
    def test_logs_together(self) -> None:
        """All logs together hold no more than their limit; the largest one gives up first, even its last hundred."""
        total = Superseded(10_000)
        large, small = EventLog(0, total=total), EventLog(0, total=total)
        small.append(1, "a", entry("a", size=500), None, 0.0)
        for revision in range(2, 60):
            large.append(revision, "a", entry("a", size=1000), None, 0.0)
            self.assertLessEqual(total.used_bytes, 10_000)
        self.assertEqual((len(small), small.superseded_bytes), (1, 500))
        self.assertGreater(large.oldest, 45)
        self.assertEqual(total.used_bytes, large.superseded_bytes + small.superseded_bytes)
        total.leave(large)
        self.assertEqual(total.used_bytes, 500)

    def test_label_sets_go_with_their_entries(self) -> None:
        """Equal label sets are one mapping, and none outlives the objects that have it."""
        sets = LabelSets(Texts())
        kept = sets.share({"a": "b"})
        self.assertIs(sets.share({"a": "b"}), kept)
        for i in range(300):
            sets.share({f"label-{j}": f"{i}" for j in range(50)})
        gc.collect()
        self.assertEqual(len(sets._known), 1)

    def test_texts(self) -> None:
        """Short texts are shared; neither their number nor their length is a client's to choose."""
        texts = Texts()
        first = texts.share("".join(["node", "-1"]))
        self.assertIs(texts.share("".join(["node", "-1"])), first)
        for i in range(30_000):
            texts.share(f"text-{i}")
        texts.share("x" * 10_000)
        self.assertLess(len(texts._known), 10_000)
        self.assertNotIn("x" * 10_000, texts._known)
