"""What the cache holds beside the objects as they are stored: forms that were made of them, and how much of them."""

from __future__ import annotations

from typing import Final

import attrs

from orchtw.watch.log import Superseded
from orchtw.watch.recent import Budget

MAX_PINNED_BYTES: Final = 256 << 20  # of objects neither live nor in a log, all resources together


@attrs.define(slots=True, eq=False)
class Room:
    """Bytes that are held for readers, and the `limit` on all of them (0: only the parts have bounds of their own).

    `plain` are encodings as they are sent, `packed` compressed ones, `rows` cells of Tables and other versions: all
    of these can be made again. The history of changes, snapshots that somebody reads and recent batches cannot: they
    have at most a third, a quarter and an eighth of the room.
    """

    limit: int = 0
    plain: int = 0
    packed: int = 0
    rows: int = 0
    pinned: int = 0
    history: Superseded = attrs.field(init=False)
    recent: Budget = attrs.field(init=False)

    def __attrs_post_init__(self) -> None:
        self.history, self.recent = Superseded(), Budget()
        if self.limit:
            self.history.limit_bytes = min(self.history.limit_bytes, self.limit // 3)
            self.recent.limit_bytes = min(self.recent.limit_bytes, self.limit // 8)

    @property
    def pinned_limit(self) -> int:
        """What snapshots alone may hold."""
        return self.limit // 4 if self.limit else MAX_PINNED_BYTES

    @property
    def excess(self) -> int:
        """How much more is held than should be."""
        held = self.plain + self.packed + self.rows
        others = self.history.used_bytes + self.recent.used_bytes + self.pinned
        return held + others - self.limit if self.limit else 0

    def count(self, forms: tuple[int, int, int], sign: int = 1) -> None:
        """Plain, packed and other bytes have come, or gone."""
        self.plain += sign * forms[0]
        self.packed += sign * forms[1]
        self.rows += sign * forms[2]
