"""The indexes of one resource, made when they would have paid, given up when nobody asks or memory is short.

A list that looks at many entries and gives few has wasted its work. What one attribute's lists have wasted since the
start is counted, and its index is made when that comes to a look at every entry. Making it costs some of these, so
whoever asks for what, lists cost no more than a few times what they had to.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping
from typing import Final

from orchtw.storage.index import Attribute, Index, asked
from orchtw.storage.ordered import Entries
from orchtw.watch.entry import Entry
from orchtw.watch.recent import Budget
from orchtw.watch.selection import Selection
from orchtw.watch.turns import Turns

MIN_ENTRIES: Final = 1024  # fewer are looked at within a fifth of a millisecond
MAX_INDEXES: Final = 8  # of a resource: each makes a write 1 µs dearer
MAX_COUNTED: Final = 64  # attributes whose waste is counted: clients choose the keys of labels
STRIDE: Final = 64  # entries taken in between two looks at the clock
IDLE_S: Final = 600.0  # an index that nobody has asked for so long is given up


class Indexes:
    """`current` has the entries by key as they are now; `snapshot` gives them in order.

    `memory` is what all indexes of the process take, as of their last count, and may take.
    """

    def __init__(
        self,
        current: Mapping[str, Entry],
        snapshot: Callable[[], Entries],
        turns: Turns,
        memory: Budget,
    ) -> None:
        self._current = current
        self._snapshot = snapshot
        self._turns = turns
        self._memory = memory
        self._ready: dict[Attribute, Index] = {}
        self._used_at: dict[Attribute, float] = {}
        self._wasted: dict[Attribute, int] = {}
        self._building: tuple[Attribute, Index] | None = None
        self._counted = 0

    def __len__(self) -> int:
        return len(self._ready)

    def shortest(self, selection: Selection, entries: Entries, low: str, high: str) -> tuple[Entries, str]:
        """The fewest entries from key `low` on and before `high` among which are all the selected ones of `entries`.

        And the kind of the index that knew them: "" for none.
        """
        best, kind = entries, ""
        for attribute, value in asked(selection) if self._ready else ():
            index = self._ready.get(attribute)
            found = None if index is None else index.of(value).between(low, high)
            if found is not None and len(found) < len(best):
                self._used_at[attribute] = self._turns.seconds()
                best, kind = found, attribute[0]
        return best, kind

    def looked(self, selection: Selection, seen: int, given: int) -> None:
        """A list has looked at `seen` entries and given some; begin to make an index if it would have paid."""
        total = len(self._current)
        if seen - given <= 0 or total < MIN_ENTRIES:
            return
        lacking = next((each for each, _ in asked(selection) if each not in self._ready), None)
        if lacking is None:
            return
        if len(self._wasted) >= MAX_COUNTED and lacking not in self._wasted:
            self._wasted.clear()
        wasted = self._wasted[lacking] = self._wasted.get(lacking, 0) + seen - given
        if wasted >= total and self._building is None:
            self._wasted[lacking] = 0
            self._building = lacking, Index(lacking)
            steps = self._build(*self._building)
            self._turns.later(lambda: self._go_on(steps))

    def change(self, old: Entry | None, new: Entry | None) -> None:
        """An entry has taken the place of another."""
        for index in self._ready.values():
            index.change(old, new)
        if self._building is not None:
            self._building[1].change(old, new)

    @property
    def bytes(self) -> int:
        """About what they take in memory."""
        return sum(index.bytes for index in self._ready.values())

    def trim(self) -> None:
        """Give up what nobody uses, and what is too much for the memory that there is."""
        idle = self._turns.seconds() - IDLE_S
        for attribute in [each for each in self._ready if self._used_at[each] < idle]:
            self._drop(attribute)
        self._count()
        while self._memory.used_bytes > self._memory.limit_bytes and self._ready:
            self.drop_coldest()

    @property
    def asked_at(self) -> float:
        """When the index was asked that nobody has asked for the longest time; there must be one."""
        return min(self._used_at.values())

    def drop_coldest(self) -> None:
        """Give up the index that nobody has asked for the longest time; there must be one."""
        self._drop(min(self._ready, key=self._used_at.__getitem__))

    def close(self) -> None:
        """The resource is gone."""
        self._building = None
        for attribute in list(self._ready):
            self._drop(attribute)

    def _build(self, attribute: Attribute, index: Index) -> Generator[None, None, None]:
        """Take in all entries, as far as they are still what they were: of all others `change` has told."""
        current = self._current.get
        room = self._memory.limit_bytes // 2
        for block in self._snapshot().blocks():
            for start in range(0, len(block), STRIDE):
                some = block[start : start + STRIDE]
                index.extend(entry for entry in some if current(entry.key) is entry)
                yield
            if index.bytes > room:
                self._wasted[attribute] = -len(self._current) * 100  # not again for a long while
                return
        self._take(attribute, index)

    def _take(self, attribute: Attribute, index: Index) -> None:
        """An index is complete."""
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
        """Some more of an index that is being made, in the slice of this turn."""
        end = self._turns.end()
        while self._building is not None:
            try:
                next(steps)
            except StopIteration:
                self._building = None
                return
            if self._turns.seconds() >= end:
                self._turns.later(lambda: self._go_on(steps))
                return
