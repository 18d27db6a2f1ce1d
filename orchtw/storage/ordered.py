"""Entries in key order, in blocks that snapshots share until they change.

A snapshot costs a reference for each block and a write copies one block, so neither grows noticeably with 100,000
objects.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Sequence
from itertools import accumulate, chain
from operator import attrgetter
from typing import Final, overload

from orchtw.watch.entry import Entry

BLOCK: Final = 512  # a full block is split at twice that

_key = attrgetter("key")


class Entries(Sequence[Entry]):
    """An immutable sequence of entries in key order. A slice of it is a list."""

    __slots__ = ("_ends", "blocks")

    def __init__(self, blocks: Sequence[Sequence[Entry]]) -> None:
        self.blocks = blocks  # none of them empty
        self._ends = list(accumulate(map(len, blocks)))

    def __len__(self) -> int:
        return self._ends[-1] if self._ends else 0

    def __iter__(self) -> Iterator[Entry]:
        return chain.from_iterable(self.blocks)

    @overload
    def __getitem__(self, index: int) -> Entry: ...

    @overload
    def __getitem__(self, index: slice) -> list[Entry]: ...

    def __getitem__(self, index: int | slice) -> Entry | list[Entry]:
        if isinstance(index, slice):
            start, stop, step = index.indices(len(self))
            return self._run(start, stop) if step == 1 else [self[i] for i in range(start, stop, step)]
        place = range(len(self))[index]
        block = bisect_right(self._ends, place)
        return self.blocks[block][place - (self._ends[block - 1] if block else 0)]

    def _run(self, start: int, stop: int) -> list[Entry]:
        found: list[Entry] = []
        block = bisect_right(self._ends, start)
        while start < stop:
            offset = self._ends[block - 1] if block else 0
            found += self.blocks[block][start - offset : stop - offset]
            start = self._ends[block]
            block += 1
        return found

    def between(self, low: str, high: str = "") -> Entries:
        """The entries whose keys are `low` or follow it, and come before `high` ("": all the rest)."""
        blocks = self.blocks
        first = max(0, bisect_right(blocks, low, key=_first) - 1)
        last = bisect_left(blocks, high, first, key=_first) if high else len(blocks)
        chosen = list(blocks[first:last])
        if chosen and high:
            chosen[-1] = chosen[-1][: bisect_left(chosen[-1], high, key=_key)]
        if chosen:
            chosen[0] = chosen[0][bisect_left(chosen[0], low, key=_key) :]
        return Entries([block for block in chosen if block])


NO_ENTRIES: Final = Entries(())


class Ordered:
    """The entries of a resource: put, remove, and take snapshots."""

    def __init__(self, entries: Iterable[Entry] = ()) -> None:
        ordered = sorted(entries, key=_key)
        self._blocks = [ordered[start : start + BLOCK] for start in range(0, len(ordered), BLOCK)]
        self._own = [True] * len(self._blocks)  # those that no snapshot shares
        self._snapshot: Entries | None = None

    def snapshot(self) -> Entries:
        """All entries as they are now."""
        if self._snapshot is None:
            self._snapshot = Entries(self._blocks.copy())
            self._own = [False] * len(self._blocks)
        return self._snapshot

    def put(self, entry: Entry) -> None:
        """Take an entry in, in place of one with the same key."""
        if not self._blocks:
            self._blocks, self._own, self._snapshot = [[entry]], [True], None
            return
        at = max(0, bisect_right(self._blocks, entry.key, key=_first) - 1)
        block = self._private(at)
        place = bisect_left(block, entry.key, key=_key)
        if place < len(block) and block[place].key == entry.key:
            block[place] = entry
            return
        block.insert(place, entry)
        if len(block) >= 2 * BLOCK:
            self._blocks[at : at + 1] = [block[:BLOCK], block[BLOCK:]]
            self._own[at : at + 1] = [True, True]

    def remove(self, key: str) -> None:
        """Let go of the entry with that key. Raises KeyError when there is none."""
        at = bisect_right(self._blocks, key, key=_first) - 1
        block = self._private(at) if at >= 0 else []
        place = bisect_left(block, key, key=_key)
        if place == len(block) or block[place].key != key:
            raise KeyError(key)
        del block[place]
        if len(block) < BLOCK // 4:
            self._join(at, block)

    def _private(self, at: int) -> list[Entry]:
        """The block at `at`, which is about to change."""
        self._snapshot = None
        if not self._own[at]:
            self._blocks[at] = self._blocks[at].copy()
            self._own[at] = True
        return self._blocks[at]

    def _join(self, at: int, block: list[Entry]) -> None:
        """A small block goes into the one before it if both fit in one; an empty one goes."""
        before = self._blocks[at - 1] if at else []
        if block and (not before or len(before) + len(block) > BLOCK):
            return
        if block:
            self._private(at - 1).extend(block)
        del self._blocks[at], self._own[at]


def _first(block: Sequence[Entry]) -> str:
    return block[0].key
