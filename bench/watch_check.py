"""Check that a watcher saw every write once and in order, and how long after it was sent and answered."""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Write:
    """An acknowledged write: its number, the revision it was told, and when it was sent and answered (ns)."""

    revision: int
    number: int
    sent_ns: int
    answered_ns: int


@dataclass(slots=True)
class Seen:
    """Events that one watcher received, in order: numbers, revisions and moments (ns)."""

    numbers: array[int] = field(default_factory=lambda: array("I"))
    revisions: array[int] = field(default_factory=lambda: array("Q"))
    times_ns: array[int] = field(default_factory=lambda: array("Q"))


@dataclass(slots=True)
class Tally:
    """Faults and latencies over any number of watchers."""

    deliveries: int = 0
    lost: int = 0
    duplicated: int = 0
    out_of_order: int = 0
    rv_mismatch: int = 0
    last_ns: int = 0
    latencies_ns: array[int] = field(default_factory=lambda: array("Q"))
    after_answer_ns: array[int] = field(default_factory=lambda: array("Q"))

    def add(self, other: Tally) -> None:
        """Count another tally in."""
        self.deliveries += other.deliveries
        self.lost += other.lost
        self.duplicated += other.duplicated
        self.out_of_order += other.out_of_order
        self.rv_mismatch += other.rv_mismatch
        self.last_ns = max(self.last_ns, other.last_ns)
        self.latencies_ns += other.latencies_ns
        self.after_answer_ns += other.after_answer_ns


class Expected:
    """The writes of one phase, which every watcher must have seen in the order of their revisions."""

    def __init__(self, writes: Sequence[Write]) -> None:
        self._writes = sorted(writes, key=lambda write: write.revision)
        self._numbers = array("I", (write.number for write in self._writes))
        self._revisions = array("Q", (write.revision for write in self._writes))
        self._by_number = {write.number: write for write in writes}

    def __len__(self) -> int:
        return len(self._writes)

    def check(self, seen: Seen, tally: Tally, timed: bool = True) -> None:
        """Count into `tally` what `seen` shows; latencies only where `timed`."""
        if seen.numbers == self._numbers and seen.revisions == self._revisions:
            tally.deliveries += len(self._writes)
            arrivals: Iterable[tuple[Write, int]] = zip(self._writes, seen.times_ns, strict=True)
        else:
            arrivals = self._faults(seen, tally)
        if seen.times_ns:
            tally.last_ns = max(tally.last_ns, seen.times_ns[-1])
        if not timed:
            return
        for write, moment in arrivals:
            tally.latencies_ns.append(moment - write.sent_ns)
            tally.after_answer_ns.append(max(0, moment - write.answered_ns))

    def _faults(self, seen: Seen, tally: Tally) -> list[tuple[Write, int]]:
        """Count the faults one by one; returns the first arrival of each write."""
        arrived: dict[int, tuple[Write, int]] = {}
        last = 0
        for number, revision, moment in zip(seen.numbers, seen.revisions, seen.times_ns, strict=True):
            if revision <= last:
                tally.out_of_order += 1
            last = max(last, revision)
            write = self._by_number.get(number)
            if number in arrived or write is None:
                tally.duplicated += 1
                continue
            arrived[number] = (write, moment)
            tally.rv_mismatch += revision != write.revision
        tally.deliveries += len(arrived)
        tally.lost += len(self._writes) - len(arrived)
        return list(arrived.values())
