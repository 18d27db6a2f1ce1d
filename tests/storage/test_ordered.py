"""Entries in order: blocks that snapshots share, ranges of keys, past states, and who holds old ones."""

from __future__ import annotations

import gc
from random import Random

from twisted.trial.unittest import SynchronousTestCase

from orchtw.storage.ordered import BLOCK, Entries, Ordered
from orchtw.storage.past import STRIDE, Past
from orchtw.storage.pins import Pins
from orchtw.watch.entry import NO_LABELS, Entry, LabelSets, Texts
from orchtw.watch.log import Event, EventLog, Superseded


def entry(key: str, revision: int = 1, size: int = 0) -> Entry:
    return Entry(key, "", key, revision, NO_LABELS, (), b"x" * size)


def keys(entries: Entries) -> list[str]:
    return [each.key for each in entries]


class OrderedTests(SynchronousTestCase):
    def test_like_a_dict(self) -> None:
        """After any puts and removals a snapshot is the sorted values; older snapshots stay as they were."""
        random = Random(1)
        model = {f"k{i:05}": entry(f"k{i:05}") for i in range(0, 3 * BLOCK, 2)}
        ordered = Ordered(model.values())
        taken: list[tuple[Entries, list[Entry]]] = []
        for step in range(6000):
            key = f"k{random.randrange(4 * BLOCK):05}"
            if random.random() < (0.4 if step < 3000 else 0.8) and model:
                key = random.choice(list(model)) if step % 7 == 0 else key
                if key in model:
                    del model[key]
                    ordered.remove(key)
            else:
                model[key] = entry(key, step)
                ordered.put(model[key])
            if step % 100 == 0:
                taken.append((ordered.snapshot(), [model[key] for key in sorted(model)]))
        for snapshot, expected in taken:
            self.assertEqual((list(snapshot), len(snapshot)), (expected, len(expected)))
        self.assertRaises(KeyError, ordered.remove, "none")

    def test_emptied(self) -> None:
        """The last entry may go, and others come."""
        ordered = Ordered()
        self.assertEqual(keys(ordered.snapshot()), [])
        ordered.put(entry("a"))
        ordered.remove("a")
        self.assertEqual(keys(ordered.snapshot()), [])
        ordered.put(entry("b"))
        self.assertEqual(keys(ordered.snapshot()), ["b"])

    def test_a_write_copies_one_block(self) -> None:
        """What a snapshot costs does not grow with the number of objects but by their blocks
        (reference DESIGN-18).
        """
        ordered = Ordered(entry(f"k{i:06}") for i in range(100_000))
        before = ordered.snapshot()
        ordered.put(entry("k050000", 2))
        after = ordered.snapshot()
        changed = [old for old, new in zip(before.blocks, after.blocks, strict=True) if old is not new]
        self.assertEqual(len(changed), 1)
        self.assertLess(len(after.blocks), 300)
        self.assertIs(ordered.snapshot(), after)

    def test_sequence(self) -> None:
        """Positions and slices are those of the list."""
        entries = Ordered(entry(f"k{i:05}") for i in range(3 * BLOCK + 7)).snapshot()
        whole = list(entries)
        for index in (0, 1, BLOCK - 1, BLOCK, 2 * BLOCK, len(whole) - 1, -1):
            self.assertIs(entries[index], whole[index])
        for part in (slice(0, 3), slice(500, 1300), slice(BLOCK, None), slice(None, None, 100), slice(9, 4)):
            self.assertEqual(entries[part], whole[part])
        self.assertRaises(IndexError, lambda: entries[len(whole)])

    def test_between(self) -> None:
        """A range of keys, from its start on and up to its end."""
        entries = Ordered(entry(f"k{i:05}") for i in range(0, 4 * BLOCK, 2)).snapshot()
        whole = keys(entries)
        random = Random(2)
        for _ in range(300):
            low, high = (f"k{random.randrange(-5, 4 * BLOCK + 9):05}" for _ in range(2))
            self.assertEqual(keys(entries.between(low, high)), [key for key in whole if low <= key < high])
            self.assertEqual(keys(entries.between(low)), [key for key in whole if low <= key])


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
                steps = Past(now.between(low, high), events, low, high).steps()
                turns, found = run(steps)
                self.assertEqual(list(found), [then[key] for key in sorted(then) if low <= key < (high or "z")])
                self.assertGreater(turns, 2)


def run(steps: object) -> tuple[int, Entries]:
    """How many steps a computation takes, and its result."""
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
