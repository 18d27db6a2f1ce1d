"""The check behind "none lost, doubled or out of order": it must see each of these faults."""

from __future__ import annotations

from array import array
from collections.abc import Iterable

from twisted.trial.unittest import SynchronousTestCase

from bench.watch_check import Expected, Seen, Tally, Write

WRITES = [Write(revision=10 + i, number=i, sent_ns=1000 * i, answered_ns=1000 * i + 500) for i in range(4)]


def checked(events: Iterable[tuple[int, int]]) -> Tally:
    """Return the check's tally of a watcher that received these numbers and revisions, 700 ns after each was sent."""
    seen, tally = Seen(), Tally()
    for number, revision in events:
        seen.numbers.append(number)
        seen.revisions.append(revision)
        seen.times_ns.append(1000 * number + 700)
    Expected(WRITES).check(seen, tally)
    return tally


class ExpectedTests(SynchronousTestCase):
    def faults(self, *events: tuple[int, int]) -> tuple[int, int, int, int]:
        tally = checked(events)
        return tally.lost, tally.duplicated, tally.out_of_order, tally.rv_mismatch

    def test_all_in_order(self) -> None:
        """Every write once, in order, is not a fault; latencies run from the sending and from the answer."""
        tally = checked((write.number, write.revision) for write in WRITES)
        self.assertEqual((tally.deliveries, tally.lost, tally.duplicated, tally.out_of_order), (4, 0, 0, 0))
        self.assertEqual(tally.latencies_ns, array("Q", [700] * 4))
        self.assertEqual(tally.after_answer_ns, array("Q", [200] * 4))
        self.assertEqual(tally.last_ns, 3700)

    def test_lost(self) -> None:
        """A write that never came is lost."""
        self.assertEqual(self.faults((0, 10), (1, 11), (3, 13)), (1, 0, 0, 0))

    def test_duplicated(self) -> None:
        """A write that came twice is duplicated, and its second arrival out of order."""
        self.assertEqual(self.faults((0, 10), (1, 11), (1, 11), (2, 12), (3, 13)), (0, 1, 1, 0))

    def test_unknown(self) -> None:
        """An event without an acknowledged write counts as one too many."""
        self.assertEqual(self.faults((0, 10), (1, 11), (2, 12), (3, 13), (9, 14)), (0, 1, 0, 0))

    def test_out_of_order(self) -> None:
        """A revision below one that came before is out of order."""
        self.assertEqual(self.faults((0, 10), (2, 12), (1, 11), (3, 13)), (0, 0, 1, 0))

    def test_misnumbered(self) -> None:
        """A revision other than the one the writer was told is a mismatch."""
        self.assertEqual(self.faults((0, 10), (1, 11), (2, 12), (3, 99)), (0, 0, 0, 1))

    def test_untimed(self) -> None:
        """A watcher whose latencies are not kept is still checked."""
        seen, tally = Seen(), Tally()
        Expected(WRITES).check(seen, tally, timed=False)
        self.assertEqual((tally.lost, len(tally.latencies_ns)), (4, 0))
