"""Accounting of the cache's memory beside stored values: encodings, rows, history and indexes."""

from __future__ import annotations

from typing import Final, Protocol

import attrs

from orchtw.watch.event_log import Superseded
from orchtw.watch.recent import RecentBudget

MAX_PINNED_BYTES: Final = 256 << 20  # of objects neither live nor in a log, all resources together
MAX_INDEX_BYTES: Final = 128 << 20  # of the indexes of all resources
MAX_COMPRESSED_BYTES: Final = 64 << 20  # of compressed lists: those of 10,000 pods are 3 to 8 MiB


class Yielding(Protocol):
    """Holder of data that can be made again."""

    @property
    def used_bytes(self) -> int:
        """Number of bytes that it holds."""

    def give_up(self, size: int) -> None:
        """Drop about `size` bytes that have been unused since the last call, if there are as many."""


@attrs.define(slots=True, eq=False)
class Room:
    """Bytes held for readers, and the `limit` on their sum (0: only the parts have limits).

    `plain` are encodings as they are sent, `packed` compressed ones, `rows` cells of Tables and other versions,
    `compressed` pieces of lists as they were sent: all of these can be made again, as can `indexes`. The history of
    changes, snapshots in use and recent batches cannot: they have at most a third, a quarter and an eighth of the
    room. Indexes and compressed lists have a quarter each at most.
    """

    limit: int = 0
    plain: int = 0
    packed: int = 0
    rows: int = 0
    pinned: int = 0
    history: Superseded = attrs.field(init=False)
    recent: RecentBudget = attrs.field(init=False)
    indexes: RecentBudget = attrs.field(init=False)
    compressed: Yielding | None = None

    def __attrs_post_init__(self) -> None:
        self.history, self.recent, self.indexes = Superseded(), RecentBudget(), RecentBudget(MAX_INDEX_BYTES)
        if self.limit:
            self.history.limit_bytes = min(self.history.limit_bytes, self.limit // 3)
            self.recent.limit_bytes = min(self.recent.limit_bytes, self.limit // 8)
            self.indexes.limit_bytes = min(MAX_INDEX_BYTES, self.limit // 4)

    @property
    def pinned_limit(self) -> int:
        """Limit of snapshots in bytes."""
        return self.limit // 4 if self.limit else MAX_PINNED_BYTES

    @property
    def compressed_limit(self) -> int:
        """Limit of compressed lists in bytes."""
        return min(MAX_COMPRESSED_BYTES, self.limit // 4) if self.limit else MAX_COMPRESSED_BYTES

    @property
    def compressed_bytes(self) -> int:
        """Bytes of the compressed lists."""
        return 0 if self.compressed is None else self.compressed.used_bytes

    @property
    def excess(self) -> int:
        """Bytes by which the limit is exceeded."""
        held = self.plain + self.packed + self.rows + self.compressed_bytes
        others = self.history.used_bytes + self.recent.used_bytes + self.pinned + self.indexes.used_bytes
        return held + others - self.limit if self.limit else 0

    def count(self, forms: tuple[int, int, int], sign: int = 1) -> None:
        """Count plain, packed and other bytes, or discount them."""
        self.plain += sign * forms[0]
        self.packed += sign * forms[1]
        self.rows += sign * forms[2]
