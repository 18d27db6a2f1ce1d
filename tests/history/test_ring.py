"""The bounded record of writes."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
from twisted.trial.unittest import SynchronousTestCase

from orchtw.errors import Expired
from orchtw.history.ring import RECORD_BYTES, STRIDE, RecordedWrite, Ring
from tests.history.records import record
from tests.properties import examples

writes = st.lists(st.tuples(st.sampled_from("xyz"), st.none() | st.integers(0, 3000)), max_size=60)


class RingTests(SynchronousTestCase):
    """Records that come and go."""

    def test_types(self) -> None:
        """A write is ADDED, MODIFIED or DELETED by what was there before and is there after it."""
        made = [record(1), record(2, previous=b"value"), record(3, value=None, previous=b"value")]
        self.assertEqual([each.type for each in made], ["ADDED", "MODIFIED", "DELETED"])

    def test_positions(self) -> None:
        """Records are found by number and by revision; every write after the floor is there."""
        ring = Ring(1 << 20, floor=10)
        made = [record(at, name=str(at)) for at in (11, 13, 13, 17)]
        for each in made:
            ring.append(each)
        self.assertEqual((len(ring), ring.start, ring.end, ring.floor), (4, 0, 4, 10))
        self.assertEqual([ring.after(at) for at in (0, 10, 11, 12, 13, 16, 17, 99)], [0, 0, 1, 1, 3, 3, 4, 4])
        self.assertEqual(between(ring, 11, 13), made[1:3])
        self.assertIs(ring.at(3), made[3])
        self.assertRaises(IndexError, ring.at, 4)

    def test_oldest_go(self) -> None:
        """Beyond the limit the oldest records go; the floor rises, and what is left is found as before."""
        ring = Ring(10 * RECORD_BYTES)
        for at in range(1, 10_000):
            ring.append(record(at, name=str(at % 7), value=b"v" * 100))
            self.assertLessEqual(ring.used_bytes, 10 * RECORD_BYTES)
        self.assertEqual(ring.floor + len(ring), 9_999)
        kept = [each.revision for each in between(ring, ring.floor, 9_999)]
        self.assertEqual(kept, list(range(ring.floor + 1, 10_000)))
        self.assertEqual(ring.at(ring.start).revision, ring.floor + 1)
        self.assertRaises(IndexError, ring.at, ring.start - 1)

    def test_dropped_meanwhile(self) -> None:
        """Records that are dropped between two steps of a search end it with an error."""
        ring = Ring(4 * STRIDE * RECORD_BYTES)
        for at in range(3 * STRIDE):
            ring.append(record(at + 1, name=str(at), value=b""))
        steps = ring.between(ring.start, ring.end)
        next(steps)
        for at in range(3 * STRIDE):
            ring.append(record(3 * STRIDE + at, name=str(at), value=b""))
        self.assertRaises(Expired, next, steps)

    def test_large_record(self) -> None:
        """The latest record stays, however large it is."""
        ring = Ring(1000)
        ring.append(record(1))
        ring.append(record(2, value=b"v" * 100_000))
        self.assertEqual((len(ring), ring.floor), (1, 1))
        ring.append(record(3))
        self.assertEqual(ring.at(ring.start).revision, 3)

    def test_shared_value(self) -> None:
        """The value that one write stores and the next one replaces is in memory once, and counted once."""
        ring = Ring(1 << 20)
        first, second = record(1, value=b"v" * 5000), record(2, value=b"w", previous=bytes(b"v" * 5000))
        ring.append(first)
        before = ring.used_bytes
        ring.append(second)
        self.assertIs(second.previous, first.value)
        self.assertLess(ring.used_bytes - before, RECORD_BYTES + 1000)

    @examples(100)
    @given(writes, st.integers(2_000, 20_000))
    def test_count(self, written: list[tuple[str, int | None]], limit: int) -> None:
        """The bytes that are counted are those of the records with each value once, after any writes."""
        ring, values = Ring(limit), dict[str, bytes]()
        for revision, (name, size) in enumerate(written, 1):
            value = None if size is None else bytes([revision]) * size
            ring.append(record(revision, name, value, values.get(name)))
            values.pop(name, None)
            if value is not None:
                values[name] = value
            kept = between(ring, ring.floor, revision)
            self.assertEqual(ring.used_bytes, counted(kept))
            self.assertTrue(ring.used_bytes <= limit or len(kept) == 1)


def between(ring: Ring, after: int, upto: int) -> list[RecordedWrite]:
    """The records after a revision, up to another."""
    steps = ring.between(ring.after(after), ring.after(upto))
    while True:
        try:
            next(steps)
        except StopIteration as done:
            return list(done.value)


def counted(records: list[RecordedWrite]) -> int:
    """The memory of records, by identity of their values."""
    total, seen = 0, dict[str, bytes | None]()
    for each in records:
        total += RECORD_BYTES + len(each.key) + each.origin.characters() + len(each.value or b"")
        if each.previous is not None and seen.get(each.key) is not each.previous:
            total += len(each.previous)
        seen[each.key] = each.value
    return total
