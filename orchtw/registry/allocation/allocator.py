"""Allocator of the numbers of a range: which are taken, over all of its blocks (reference KIND-27)."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterator
from random import Random

from orchtw.registry.allocation.bitmap import lowest_from, span
from orchtw.registry.allocation.blocks import SIZE, Block, shown
from orchtw.registry.allocation.ranges import Range

Marks = dict[int, int]
"""Numbers, as bits by the place of their block."""


def mark(marks: Marks, number: int) -> None:
    """Add a number to the marks."""
    place = number // SIZE
    marks[place] = marks.get(place, 0) | 1 << number % SIZE


class Allocator:
    """Allocator of a range. `make_block` makes the block of a name, such as `servicenodeports/28672`.

    A block's name depends on its numbers alone: a range that is changed finds the numbers taken in the old one.
    Numbers are picked at random, all in one block until that is full, so that picks at the same time are one change;
    processes begin with different blocks.
    """

    def __init__(self, numbers: Range, make_block: Callable[[str], Block], random: Random) -> None:
        self.range = numbers
        self._make_block = make_block
        self._random = random
        self._blocks: dict[int, Block] = {}
        self._places = range(numbers.first // SIZE, numbers.last // SIZE + 1)
        self._preferred = random.choice(self._places)

    def __contains__(self, number: int) -> bool:
        return self.range.first <= number <= self.range.last

    async def take(self, number: int) -> bool:
        """Take a number of the range; False if it is already taken. Raises what the store raises."""
        block, bit = self._place(number)
        if block.bits >> bit & 1:
            await block.refresh()
        return await block.take(bit)

    async def take_any(self) -> int | None:
        """Take any free number and return it, None if all are taken. Raises what the store raises."""
        async for block, free, place in self._with_room({}):
            if await block.take(free):
                self._preferred = place
                return place * SIZE + free
        return None

    async def find(self, besides: Marks) -> int | None:
        """Return a free number outside of `besides`, or None."""
        async for _, free, place in self._with_room(besides):
            return place * SIZE + free
        return None

    async def is_free(self, number: int) -> bool:
        """Report whether a number is free."""
        block, bit = self._place(number)
        await block.refresh()
        return not block.bits >> bit & 1

    def free(self, number: int) -> None:
        """Give back a number of the range."""
        block, bit = self._place(number)
        block.free(bit)

    async def taken(self) -> set[int]:
        """Return all numbers that are taken now."""
        found: set[int] = set()
        for place in self._places:
            block = self._block(place)
            await block.refresh()
            found |= shown(block.bits & span(*self._bounds(place, self.range.first)), place * SIZE)
        return found

    async def _with_room(self, besides: Marks) -> AsyncIterator[tuple[Block, int, int]]:
        """Yield blocks with a free number, until they have none left: first from memory, then after refreshing."""
        for ask in (False, True):
            for place in self._order():
                block = self._block(place)
                if ask:
                    await block.refresh()
                low, high = self._bounds(place, self.range.picked_from)
                inside = span(low, high) & ~besides.get(place, 0)
                while free := inside & ~block.bits:
                    yield block, lowest_from(free, self._random.randint(low, high)), place

    def _order(self) -> Iterator[int]:
        """Yield all places, from the preferred one on."""
        first = self._preferred - self._places.start
        yield from self._places[first:]
        yield from self._places[:first]

    def _bounds(self, place: int, first: int) -> tuple[int, int]:
        """Return the first and last number of a block that belong to the range, from `first` on."""
        start = place * SIZE
        return max(first - start, 0), min(self.range.last - start, SIZE - 1)

    def _place(self, number: int) -> tuple[Block, int]:
        return self._block(number // SIZE), number % SIZE

    def _block(self, place: int) -> Block:
        block = self._blocks.get(place)
        if block is None:
            block = self._blocks[place] = self._make_block(f"{self.range.name}/{place * SIZE}")
        return block
