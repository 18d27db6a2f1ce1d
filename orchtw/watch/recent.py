"""Last few batches of a group, kept while a member is behind, for all that catch up."""

from __future__ import annotations

from bisect import bisect_left
from typing import Final

import msgspec

RECENT_BYTES: Final = 1024 * 1024  # of one group: the lag of a reader of ordinary speed in a burst
RECENT_TOTAL_BYTES: Final = 64 * 1024 * 1024  # of all groups together


class Batch(msgspec.Struct, frozen=True, eq=False):
    """Frames joined and framed once: all of the group's events after revision `after` up to revision `until`.

    `sizes` are those of the frames.
    """

    after: int
    until: int
    framed: bytes
    sizes: tuple[int, ...] = ()


class RecentBudget(msgspec.Struct, eq=False):
    """Bytes of the recent batches of all groups, and their limit."""

    limit_bytes: int = RECENT_TOTAL_BYTES
    used_bytes: int = 0


class Recent:
    """Consecutive batches of a group; the oldest are dropped first."""

    def __init__(self, budget: RecentBudget) -> None:
        self._budget = budget
        self._batches: list[Batch] = []
        self._afters: list[int] = []
        self._floor = 0  # nothing for the group happened between this revision and the first batch
        self._bytes = 0

    def add(self, batch: Batch) -> None:
        """Add the batch that follows the last one, and drop the oldest beyond the bounds."""
        if not self._batches:
            self._floor = batch.after
        self._batches.append(batch)
        self._afters.append(batch.after)
        self._count(len(batch.framed))
        while self._batches and (self._bytes > RECENT_BYTES or self._budget.used_bytes > self._budget.limit_bytes):
            self._floor = self._batches[0].until
            self._count(-len(self._batches[0].framed))
            del self._batches[0], self._afters[0]

    def clear(self) -> None:
        """Drop all recent batches."""
        self._batches.clear()
        self._afters.clear()
        self._count(-self._bytes)

    def after(self, cursor: int, limit_bytes: int) -> list[Batch]:
        """Return the next batches for `cursor`, up to `limit_bytes` but at least one; empty if not known."""
        first = bisect_left(self._afters, cursor)
        before = self._batches[first - 1].until if first else self._floor
        found: list[Batch] = []
        size = 0
        if cursor >= before:
            for position in range(first, len(self._batches)):
                batch = self._batches[position]
                size += len(batch.framed)
                if found and size > limit_bytes:
                    break
                found.append(batch)
        return found

    def ends_at(self, cursor: int) -> bool:
        """Report whether a member at `cursor` is known to have every event."""
        return bool(self._batches) and cursor >= self._batches[-1].until

    def _count(self, size: int) -> None:
        self._bytes += size
        self._budget.used_bytes += size
