"""Blocks of numbers in a store that others share (reference CTRL-9, CTRL-37)."""

from __future__ import annotations

from twisted.internet.defer import CancelledError, Deferred
from twisted.trial.unittest import SynchronousTestCase

from orchtw.errors import InternalError
from orchtw.registry.allocation.blocks import SIZE, StoredBlock
from orchtw.storage.store import Op
from tests.registry.allocation.processes import Group, Link

KEY = "/registry/ranges/serviceips/ipv4/0"


class StoredBlockTests(SynchronousTestCase):
    """Two processes, each with a block over the same record."""

    def setUp(self) -> None:
        self.group = Group(0)
        self.links = [Link(self.group.store, shared=True) for _ in range(2)]
        self.mine, self.other = (StoredBlock(link, KEY) for link in self.links)

    def test_size(self) -> None:
        """A block holds 4,096 numbers (reference CTRL-37)."""
        self.assertEqual(SIZE, 4096)

    def take(self, block: StoredBlock, number: int) -> Deferred[bool]:
        """Begin to take a number."""
        return Deferred.fromCoroutine(block.take(number))

    def taken(self, block: StoredBlock, number: int) -> bool:
        """Take one of the numbers."""
        return bool(self.group.wait(block.take(number)))

    def recorded(self) -> set[int]:
        """Return the record in the store."""
        record = self.group.store.items.get(KEY)
        bits = 0 if record is None else int.from_bytes(record.value, "little")
        return {number for number in range(SIZE) if bits >> number & 1}

    def test_taken_when_recorded(self) -> None:
        """A number is taken once the store says so, and by one only."""
        first = self.take(self.mine, 7)
        self.assertNoResult(first)
        self.assertFalse(self.taken(self.mine, 7))
        self.group.settle()
        self.assertTrue(self.successResultOf(first))
        self.assertFalse(self.taken(self.other, 7))
        self.assertEqual(self.recorded(), {7})

    def test_many_share_a_commit(self) -> None:
        """64 at a time take two commits: the first one's, and that of all who came meanwhile."""
        running = [self.take(self.mine, number) for number in range(64)]
        self.group.settle()
        self.assertTrue(all(self.successResultOf(each) for each in running))
        self.assertEqual((len(self.links[0].commits), len(self.recorded())), (2, 64))

    def test_race(self) -> None:
        """Of two processes that want the same number one gets it; what else they want they both get."""
        running = [self.take(block, number) for block in (self.mine, self.other) for number in (1, 2)]
        running += [self.take(self.mine, 3), self.take(self.other, 4)]
        self.group.settle()
        found = [self.successResultOf(each) for each in running]
        self.assertEqual([found[0] + found[2], found[1] + found[3], *found[4:]], [1, 1, True, True])
        self.assertEqual(self.recorded(), {1, 2, 3, 4})

    def test_freed(self) -> None:
        """Released numbers are free for others too, and an empty record is deleted."""
        self.taken(self.mine, 1)
        self.taken(self.mine, 2)
        self.mine.free(1)
        self.group.settle()
        self.assertTrue(self.taken(self.other, 1))
        for block, number in ((self.other, 1), (self.mine, 2)):
            block.free(number)
            self.group.settle()
        self.assertNotIn(KEY, self.group.store.items)
        self.assertTrue(self.taken(self.mine, 1))

    def test_cancelled(self) -> None:
        """A cancelled take does not hold the number."""
        running = self.take(self.mine, 1)
        running.cancel()
        self.failureResultOf(running, CancelledError)
        self.group.settle()
        self.assertEqual(self.recorded(), set())
        self.assertTrue(self.taken(self.mine, 1))

    def test_store_fails(self) -> None:
        """A failure reaches all waiting takes; afterwards the record is read again."""
        self.links[0].failing = True
        running = self.take(self.mine, 1)
        self.group.settle()
        self.failureResultOf(running, InternalError)
        self.links[0].failing = False
        self.assertFalse(self.taken(self.mine, 1))
        self.assertTrue(self.taken(self.mine, 2))
        self.links[0].failing = True
        self.mine.free(2)
        self.group.settle()
        self.links[0].failing = False
        self.assertTrue(self.taken(self.mine, 3))

    def test_record_that_somebody_changes(self) -> None:
        """A view can be refreshed."""
        self.taken(self.mine, 1)
        self.group.wait(self.links[1].commit(Op(KEY, (1 << 5).to_bytes(SIZE // 8, "little"), None)))
        self.group.wait(self.mine.refresh())
        self.assertEqual(self.mine.bits, 1 << 5)
