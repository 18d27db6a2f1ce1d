"""The indexes of one resource, made when they would have paid, dropped when unused or memory is short.

A list that looks at many entries and gives few has wasted its work. What one attribute's lists have wasted since the
start is counted, and an index is made when that comes to a look at every entry: of what the last list asked for, the
attribute that fewest have. Making it costs some of these, so that no list costs more than a few
times its minimum. A list that could use an index that is being made waits for it rather than look at everything.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping, Sequence
from typing import Final

from twisted.internet.defer import Deferred

from orchtw.storage.cache.index import Attribute, CacheIndex, Wanted, asked, share
from orchtw.storage.cache.ordered import Entries
from orchtw.storage.cache.union import Candidates
from orchtw.watch.entry import Entry
from orchtw.watch.recent import RecentBudget
from orchtw.watch.selection import Selection
from orchtw.watch.turns import ReactorTurns

MIN_ENTRIES: Final = 1024  # fewer are looked at within a fifth of a millisecond
MAX_INDEXES: Final = 8  # of a resource: each makes a write 1 µs dearer
MAX_COUNTED: Final = 64  # attributes whose waste is counted: clients choose the keys of labels
STRIDE: Final = 16  # entries taken in between two looks at the clock: each may have to be read first
PAYS: Final = 0.9  # of all entries: so many must have been looked at in vain
SAMPLE: Final = 64  # entries that tell how many others have something
RARE: Final = 1 / 8  # of all entries: to find fewer it pays to wait for an index
USEFUL: Final = 1 / 2  # of all entries: what more have has no index of its own
IDLE_S: Final = 600.0  # an index that nobody has asked for so long is given up


class Indexes:
    """`current` has the entries by key as they are now; `snapshot` gives them in order.

    `memory` is the memory of all indexes of the process, at their last count, and its limit.
    """

    def __init__(
        self,
        current: Mapping[str, Entry],
        snapshot: Callable[[], Entries],
        turns: ReactorTurns,
        memory: RecentBudget,
    ) -> None:
        self._current = current
        self._snapshot = snapshot
        self._turns = turns
        self._memory = memory
        self._ready: dict[Attribute, CacheIndex] = {}
        self._used_at: dict[Attribute, float] = {}
        self._wasted: dict[Attribute, int] = {}
        self._building: tuple[Attribute, CacheIndex] | None = None
        self._written: set[str] = set()  # keys of what has changed while it is being made
        self._waiting: list[Deferred[None]] = []
        self._counted = 0

    def __len__(self) -> int:
        return len(self._ready)

    def shortest(self, selection: Selection, entries: Entries, low: str, high: str) -> tuple[Candidates, str]:
        """Return the fewest candidates from key `low` on and before `high` that include all selected ones of
        `entries`.

        The second value is the kind of the index used, or "".
        """
        best: Candidates = entries
        kind = ""
        for wanted in asked(selection) if self._ready else ():
            index = self._ready.get(wanted.attribute)
            known = None if index is None else index.wanted(wanted)
            found = None if known is None else known.between(low, high)
            if found is not None and len(found) < len(best):
                self._used_at[wanted.attribute] = self._turns.seconds()
                best, kind = found, wanted.kind
        return best, kind

    def coming(self, selection: Selection) -> Deferred[None] | None:
        """Return a Deferred for a selective index that is being built, or None."""
        if self._building is None:
            return None
        wanted = next((each for each in asked(selection) if each.attribute == self._building[0]), None)
        if wanted is None or share(wanted, self._sample()) > RARE:
            return None
        waiting: Deferred[None] = Deferred()
        self._waiting.append(waiting)
        return waiting

    def looked(self, selection: Selection, seen: int, given: int) -> None:
        """Count a list that looked at `seen` entries and returned `given`; begin an index if it would have paid."""
        total = len(self._current)
        if seen - given <= 0 or total < MIN_ENTRIES:
            return
        wasted = self._wasted
        lacking = [each for each in asked(selection) if each.attribute not in self._ready]
        if len(wasted) >= MAX_COUNTED and any(each.attribute not in wasted for each in lacking):
            wasted.clear()
        for each in lacking:
            wasted[each.attribute] = wasted.get(each.attribute, 0) + seen - given
        due = [each for each in lacking if wasted[each.attribute] >= total * PAYS]
        if due and self._building is None:
            wasted.update((each.attribute, 0) for each in due)
            self._begin(due)

    def _begin(self, due: Sequence[Wanted]) -> None:
        """Begin the one of these indexes that would give the fewest entries, unless that is most of them."""
        sample = self._sample()
        shares = [share(each, sample) for each in due]
        least = min(shares)
        attribute = due[shares.index(least)].attribute
        if least > USEFUL:
            return
        self._building = attribute, CacheIndex(attribute)
        self._written = set()
        steps = self._build(self._snapshot(), *self._building)
        self._turns.later(lambda: self._go_on(steps))

    def _sample(self) -> Sequence[Entry]:
        """Return some entries from all over the resource."""
        entries = self._snapshot()
        count = min(SAMPLE, len(entries))
        return [entries[number * len(entries) // count] for number in range(count)]

    def change(self, old: Entry | None, new: Entry | None) -> None:
        """Replace an entry in all indexes."""
        for index in self._ready.values():
            index.change(old, new)
        if self._building is not None and (entry := new or old) is not None:
            self._written.add(entry.key)
            self._building[1].change(old, new)

    @property
    def bytes(self) -> int:
        """Approximate memory of all indexes."""
        return sum(index.bytes for index in self._ready.values())

    def trim(self) -> None:
        """Drop unused indexes, and those that exceed the memory limit."""
        idle = self._turns.seconds() - IDLE_S
        for attribute in [each for each in self._ready if self._used_at[each] < idle]:
            self._drop(attribute)
        self._count()
        while self._memory.used_bytes > self._memory.limit_bytes and self._ready:
            self.drop_coldest()

    @property
    def asked_at(self) -> float:
        """Time at which the coldest index was last used; there must be one."""
        return min(self._used_at.values())

    def drop_coldest(self) -> None:
        """Drop the index unused for the longest time; there must be one."""
        self._drop(min(self._ready, key=self._used_at.__getitem__))

    def close(self) -> None:
        """Drop all indexes: the resource is gone."""
        self._built()
        for attribute in list(self._ready):
            self._drop(attribute)

    def _build(self, entries: Entries, attribute: Attribute, index: CacheIndex) -> Generator[None, None, None]:
        """Add all entries in steps, except those that `change` has handled meanwhile."""
        written = self._written
        room = self._memory.limit_bytes // 2
        for block in entries.blocks():
            for start in range(0, len(block), STRIDE):
                some = block[start : start + STRIDE]
                index.extend([entry for entry in some if entry.key not in written] if written else some)
                yield
            if index.bytes > room:
                self._wasted[attribute] = -len(self._current) * 100  # not again for a long while
                return
        self._take(attribute, index)

    def _take(self, attribute: Attribute, index: CacheIndex) -> None:
        """Put a complete index to use."""
        self._ready[attribute] = index
        self._used_at[attribute] = self._turns.seconds()
        if len(self._ready) > MAX_INDEXES:
            self.drop_coldest()
        self.trim()

    def _drop(self, attribute: Attribute) -> None:
        del self._ready[attribute], self._used_at[attribute]
        self._count()

    def _count(self) -> None:
        size = self.bytes
        self._memory.used_bytes += size - self._counted
        self._counted = size

    def _go_on(self, steps: Generator[None, None, None]) -> None:
        """Continue an index that is being made, in the slice of this turn."""
        end = self._turns.end()
        while self._building is not None:
            try:
                next(steps)
            except StopIteration:
                self._built()
                return
            if self._turns.seconds() >= end:
                self._turns.later(lambda: self._go_on(steps))
                return

    def _built(self) -> None:
        """End the making of an index, and wake those that wait for it."""
        self._building = None
        waiting, self._waiting = self._waiting, []
        for each in waiting:
            each.callback(None)
