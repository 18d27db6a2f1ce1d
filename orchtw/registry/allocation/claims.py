"""Claim of a Service's write, held until the write has ended."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from orchtw.registry.allocation.allocator import Allocator, Marks, mark

Held = tuple[Allocator, int]


def _nothing() -> None:
    """Do nothing once the write is stored: the default."""


class Claim:
    """Reservation of numbers for one write. `holding` are the numbers of all writes under way; a dry run takes none.

    `kept` is called when the write is stored.
    """

    def __init__(self, holding: set[Held], *, dry_run: bool) -> None:
        self._holding = holding
        self._dry_run = dry_run
        self._taken: set[Held] = set()
        self._shown: dict[Allocator, Marks] = {}  # what a dry run has shown
        self._given_up: list[Held] = []
        self.kept: Callable[[], None] = _nothing

    async def take(self, allocator: Allocator, number: int) -> str:
        """Take a number that was asked for; returns the reason for a refusal, or an empty text."""
        held = (allocator, number)
        if number not in allocator:
            return allocator.range.out_of_range(number)
        if self._dry_run:
            free = held not in self._taken and await allocator.is_free(number)
        else:
            free = await allocator.take(number)
        if not free:
            return allocator.range.taken(number)
        self._note(held)
        return ""

    async def take_any(self, allocator: Allocator) -> int | None:
        """Take any free number; None if there is none."""
        if self._dry_run:
            number = await allocator.find(self._shown.setdefault(allocator, {}))
        else:
            number = await allocator.take_any()
        if number is not None:
            self._note((allocator, number))
        return number

    def give_up(self, held: Iterable[Held]) -> None:
        """Free these once the write is stored."""
        self._given_up += held

    def _note(self, held: Held) -> None:
        self._taken.add(held)
        if self._dry_run:
            allocator, number = held
            mark(self._shown.setdefault(allocator, {}), number)
        else:
            self._holding.add(held)

    def keep(self) -> None:
        """Free the numbers given up and call `kept`, as `Reservation.keep`."""
        self._end(self._given_up)
        self.kept()

    def release(self) -> None:
        """Free the numbers taken, as `Reservation.release`; a dry run took none, and others may have them by now."""
        self._end(() if self._dry_run else self._taken & self._holding)

    def doubt(self) -> None:
        """Free no numbers at all, as `Reservation.doubt`."""
        self._end(())

    def _end(self, free: Iterable[Held]) -> None:
        self._holding.difference_update(self._taken)
        for allocator, number in free:
            allocator.free(number)
