"""Several sequences of entries as one, ordered as far as it is read."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from heapq import merge
from itertools import islice
from operator import attrgetter
from typing import Final, overload

from orchtw.storage.cache.ordered import NO_ENTRIES, Entries
from orchtw.watch.entry import Entry

RUN: Final = 64  # entries put in order at a time: a tenth of a millisecond

_key = attrgetter("key")


class CacheUnion(Sequence[Entry]):
    """Immutable sequence in key order of the entries of `parts`, which are disjoint.

    A slice of it is a list.
    """

    __slots__ = ("_length", "_made", "_more", "_parts")

    def __init__(self, parts: Sequence[Entries]) -> None:
        self._parts = parts
        self._length = sum(map(len, parts))
        self._made: list[Entry] = []
        self._more = merge(*parts, key=_key)

    def __len__(self) -> int:
        return self._length

    def __iter__(self) -> Iterator[Entry]:
        for block in self.blocks():
            yield from block

    @overload
    def __getitem__(self, index: int) -> Entry: ...

    @overload
    def __getitem__(self, index: slice) -> list[Entry]: ...

    def __getitem__(self, index: int | slice) -> Entry | list[Entry]:
        if isinstance(index, slice):
            self._make(index.indices(self._length)[1])
        else:
            self._make(range(self._length)[index] + 1)
        return self._made[index]

    def blocks(self) -> Iterator[Sequence[Entry]]:
        """Yield the entries in short runs."""
        return (self[start : start + RUN] for start in range(0, self._length, RUN))

    def between(self, low: str, high: str = "") -> Candidates:
        """Return the entries with keys from `low` on and before `high` ("": all the rest)."""
        return united([part.between(low, high) for part in self._parts])

    def _make(self, length: int) -> None:
        """Order the first `length` entries."""
        self._made += islice(self._more, max(0, length - len(self._made)))


Candidates = Entries | CacheUnion
"""Entries in key order that include all the wanted ones."""


def united(parts: Sequence[Entries]) -> Candidates:
    """Return the entries of all parts, which are disjoint."""
    filled = [part for part in parts if len(part)]
    if len(filled) > 1:
        return CacheUnion(filled)
    return filled[0] if filled else NO_ENTRIES
