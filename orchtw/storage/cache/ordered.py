"""Entries in key order, in blocks that snapshots share until they change.

Blocks stand in chunks: a snapshot costs a reference for each chunk, and a write after it copies one chunk's
references and one block. With a million objects there are some sixty chunks. A part of a snapshot is two positions
in it.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Sequence
from itertools import accumulate
from operator import attrgetter
from typing import Final, overload

from orchtw.watch.entry import Entry

BLOCK: Final = 512  # entries; a full block is split at twice that
CHUNK: Final = 32  # blocks; the same

_key = attrgetter("key")


class Chunk:
    """Some neighbouring blocks, none of them empty, with `count` entries together.

    A chunk, and each of its blocks, may be changed only by its owner in `owner` and `owners`; others copy it first.
    """

    __slots__ = ("_ends", "blocks", "count", "owner", "owners")

    def __init__(self, blocks: list[list[Entry]], owners: list[object], owner: object, count: int) -> None:
        self.blocks = blocks
        self.owners = owners
        self.owner = owner
        self.count = count
        self._ends: list[int] | None = None

    @property
    def ends(self) -> list[int]:
        """Position after each block's last entry, within the chunk."""
        if self._ends is None:
            self._ends = list(accumulate(map(len, self.blocks)))
        return self._ends

    def before(self, key: str) -> int:
        """Return the number of entries before `key`."""
        at = bisect_right(self.blocks, key, key=_first) - 1
        if at < 0:
            return 0
        return (self.ends[at - 1] if at else 0) + bisect_left(self.blocks[at], key, key=_key)

    def copy(self, owner: object) -> Chunk:
        """Return a copy for another owner, which owns none of the blocks."""
        return Chunk(self.blocks.copy(), self.owners.copy(), owner, self.count)

    def put(self, entry: Entry) -> bool:
        """Put an entry, as `Ordered.put`."""
        key = entry.key
        at = bisect_right(self.blocks, key, 1, key=_first) - 1
        block = self.blocks[at] if self.owners[at] is self.owner else self._private(at)
        place = bisect_left(block, key, key=_key)
        if place < len(block) and block[place].key == key:
            block[place] = entry
            return False
        block.insert(place, entry)
        self._ends = None
        self.count += 1
        if len(block) >= 2 * BLOCK:
            self.blocks[at : at + 1] = [block[:BLOCK], block[BLOCK:]]
            self.owners[at : at + 1] = [self.owner, self.owner]
        return True

    def remove(self, key: str) -> None:
        """Remove an entry, as `Ordered.remove`."""
        at = bisect_right(self.blocks, key, key=_first) - 1
        block = self.blocks[at] if at >= 0 else []
        place = bisect_left(block, key, key=_key)
        if place == len(block) or block[place].key != key:
            raise KeyError(key)
        block = self._private(at)
        del block[place]
        self._ends = None
        self.count -= 1
        if len(block) < BLOCK // 4:
            self._join(at, block)

    def _private(self, at: int) -> list[Entry]:
        """Return the block at `at`, copied if shared, because it is about to change."""
        if self.owners[at] is not self.owner:
            self.blocks[at] = self.blocks[at].copy()
            self.owners[at] = self.owner
        return self.blocks[at]

    def _join(self, at: int, block: list[Entry]) -> None:
        """Join a small block to the one before it if both fit in one; remove an empty one."""
        before = self.blocks[at - 1] if at else []
        if block and (not before or len(before) + len(block) > BLOCK):
            return
        if block:
            self._private(at - 1).extend(block)
        del self.blocks[at], self.owners[at]


class Entries(Sequence[Entry]):
    """An immutable sequence of entries in key order: those of some chunks, from one position to another.

    A slice of it is a list.
    """

    __slots__ = ("_chunks", "_ends", "_start", "_stop")

    def __init__(self, chunks: Sequence[Chunk], ends: Sequence[int], start: int, stop: int) -> None:
        self._chunks = chunks
        self._ends = ends  # the position after each chunk's last entry
        self._start = start
        self._stop = stop

    @classmethod
    def of(cls, chunks: Sequence[Chunk]) -> Entries:
        """Return all entries of these chunks, none of which is empty or will be changed."""
        ends = list(accumulate(chunk.count for chunk in chunks))
        return cls(chunks, ends, 0, ends[-1] if ends else 0)

    @classmethod
    def run(cls, entries: Iterable[Entry]) -> Entries:
        """Return a copy of a few entries, which are in order."""
        block = list(entries)
        return cls.of([Chunk([block], [None], None, len(block))]) if block else NO_ENTRIES

    @property
    def chunks(self) -> Sequence[Chunk]:
        """Chunks that hold the entries."""
        return self._chunks

    def __len__(self) -> int:
        return self._stop - self._start

    def __iter__(self) -> Iterator[Entry]:
        for block in self.blocks():
            yield from block

    @overload
    def __getitem__(self, index: int) -> Entry: ...

    @overload
    def __getitem__(self, index: slice) -> list[Entry]: ...

    def __getitem__(self, index: int | slice) -> Entry | list[Entry]:
        if isinstance(index, slice):
            start, stop, step = index.indices(len(self))
            if step != 1:
                return [self[i] for i in range(start, stop, step)]
            found: list[Entry] = []
            for block in self._pieces(self._start + start, self._start + stop):
                found += block
            return found
        place = self._start + range(len(self))[index]
        at = bisect_right(self._ends, place)
        chunk = self._chunks[at]
        place -= self._ends[at] - chunk.count
        number = bisect_right(chunk.ends, place)
        return chunk.blocks[number][place - chunk.ends[number]]

    def blocks(self) -> Iterator[Sequence[Entry]]:
        """Yield the entries in runs of some hundred, which must not be changed."""
        return self._pieces(self._start, self._stop)

    def _pieces(self, start: int, stop: int) -> Iterator[Sequence[Entry]]:
        at = bisect_right(self._ends, start)
        while start < stop:
            chunk = self._chunks[at]
            before = self._ends[at] - chunk.count
            for number in range(bisect_right(chunk.ends, start - before), len(chunk.blocks)):
                block, end = chunk.blocks[number], before + chunk.ends[number]
                first = end - len(block)
                yield block if start == first and end <= stop else block[start - first : stop - first]
                start = end
                if start >= stop:
                    return
            at += 1

    def between(self, low: str, high: str = "") -> Entries:
        """Return the entries with keys from `low` on and before `high` ("": all the rest)."""
        start = max(self._start, self._before(low)) if low else self._start
        stop = min(self._stop, self._before(high)) if high else self._stop
        return Entries(self._chunks, self._ends, start, stop) if start < stop else NO_ENTRIES

    def _before(self, key: str) -> int:
        """Return the number of entries in the chunks before `key`."""
        at = bisect_right(self._chunks, key, key=_first_of) - 1
        if at < 0:
            return 0
        chunk = self._chunks[at]
        return self._ends[at] - chunk.count + chunk.before(key)


NO_ENTRIES: Final = Entries((), (), 0, 0)


class Ordered:
    """The entries of a resource: put, remove, and take snapshots."""

    def __init__(self, entries: Iterable[Entry] = ()) -> None:
        self._owner: object = object()  # of what no snapshot shares
        self._snapshot: Entries | None = None
        self.fill(entries)

    def fill(self, entries: Iterable[Entry]) -> None:
        """Replace all entries with these."""
        ordered = sorted(entries, key=_key)
        blocks = [ordered[start : start + BLOCK] for start in range(0, len(ordered), BLOCK)]
        self._chunks = [self._chunk(blocks[start : start + CHUNK]) for start in range(0, len(blocks), CHUNK)]
        self._snapshot = None

    @classmethod
    def of(cls, entries: Entries) -> Ordered:
        """Return an independent copy that begins with a whole snapshot."""
        made = cls()
        made._chunks = list(entries.chunks)
        made._snapshot = entries
        return made

    def snapshot(self) -> Entries:
        """Return all entries as they are now."""
        if self._snapshot is None:
            self._snapshot = Entries.of(self._chunks.copy())
            self._owner = object()
        return self._snapshot

    @property
    def empty(self) -> bool:
        """Report whether there are no entries."""
        return not self._chunks

    def put(self, entry: Entry) -> bool:
        """Put an entry in, in place of one with the same key; returns whether there was none."""
        if not self._chunks:
            self._chunks, self._snapshot = [self._chunk([[entry]])], None
            return True
        at = bisect_right(self._chunks, entry.key, 1, key=_first_of) - 1
        chunk = self._private(at)
        is_new = chunk.put(entry)
        if len(chunk.blocks) >= 2 * CHUNK:
            self._chunks[at : at + 1] = self._halves(chunk)
        return is_new

    def remove(self, key: str) -> None:
        """Remove the entry with that key. Raises KeyError if there is none."""
        at = bisect_right(self._chunks, key, key=_first_of) - 1
        if at < 0:
            raise KeyError(key)
        chunk = self._private(at)
        chunk.remove(key)
        if len(chunk.blocks) < CHUNK // 4:
            self._join(at, chunk)

    def _private(self, at: int) -> Chunk:
        """Return the chunk at `at`, copied if shared, because it is about to change."""
        self._snapshot = None
        if self._chunks[at].owner is not self._owner:
            self._chunks[at] = self._chunks[at].copy(self._owner)
        return self._chunks[at]

    def _join(self, at: int, chunk: Chunk) -> None:
        """Join a small chunk to the one before it if both fit; remove an empty one."""
        before = self._chunks[at - 1] if at else None
        if not chunk.blocks:
            del self._chunks[at]
        elif before is not None and len(before.blocks) + len(chunk.blocks) <= CHUNK:
            blocks, owners = before.blocks + chunk.blocks, before.owners + chunk.owners
            joined = Chunk(blocks, owners, self._owner, before.count + chunk.count)
            self._chunks[at - 1 : at + 1] = [joined]

    def _chunk(self, blocks: list[list[Entry]]) -> Chunk:
        return Chunk(blocks, [self._owner] * len(blocks), self._owner, sum(map(len, blocks)))

    def _halves(self, chunk: Chunk) -> list[Chunk]:
        first, second = chunk.blocks[:CHUNK], chunk.blocks[CHUNK:]
        count = sum(map(len, first))
        return [
            Chunk(first, chunk.owners[:CHUNK], self._owner, count),
            Chunk(second, chunk.owners[CHUNK:], self._owner, chunk.count - count),
        ]


def _first(block: Sequence[Entry]) -> str:
    return block[0].key


def _first_of(chunk: Chunk) -> str:
    return chunk.blocks[0][0].key
