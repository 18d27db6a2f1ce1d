"""Budget for the bytes that connections hold: incomplete or unanswered requests, and unsent responses.

Bytes up to FREE_BYTES a connection are not counted: they are less than the connection itself costs, and almost
every request and answer passes in them. Anonymous peers share an eighth of the budget, and cannot use the rest.
When it is full, connections idle for STALE_S are closed, the longest idle first; if none is idle, further requests
are refused.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Sequence

ANONYMOUS_SHARE = 8
"""The share of anonymous peers is the budget divided by this."""

STALE_S = 2.0
"""Seconds without progress after which a connection may be closed to make room; clients' pauses are shorter."""


class _Pool:
    """Part of the budget for one group: its bytes, and the holdings that may have to make room, longest idle
    first.
    """

    __slots__ = ("limit_bytes", "still", "used_bytes")

    def __init__(self, limit_bytes: int) -> None:
        self.limit_bytes = limit_bytes
        self.used_bytes = 0
        self.still: OrderedDict[Holding, None] = OrderedDict()


class InflightBudget:
    """Budget of all connections of a listener: `limit_bytes`, of which anonymous peers have their share.

    `seconds` is the time on a clock that may be coarse. `ended` counts connections closed to make room, `refused`
    requests for which there was none.
    """

    def __init__(self, limit_bytes: int, seconds: Callable[[], float]) -> None:
        anonymous_bytes = limit_bytes // ANONYMOUS_SHARE
        self._pools = _Pool(anonymous_bytes), _Pool(limit_bytes - anonymous_bytes)
        self._seconds = seconds
        # Shared bytes that wait for somebody, by identity: how many wait, and whose pool counts them.
        self._pinned: dict[int, tuple[int, _Pool]] = {}
        self.ended = self.refused = 0

    @property
    def used_bytes(self) -> int:
        """All that is counted at the moment."""
        return sum(pool.used_bytes for pool in self._pools)

    def holding(self, *, known: bool, end: Callable[[], None]) -> Holding:
        """Return an empty holding of a peer that is `known` or anonymous; `end` is called when it has to make
        room.
        """
        return Holding(self, self._pools[known], end)

    def take(self, pool: _Pool, count: int) -> bool:
        """Count this many more bytes in a pool; False where there is no room and nobody to make it.

        An empty pool takes anything, so that there is no list that could never be sent.
        """
        while pool.used_bytes and pool.used_bytes + count > pool.limit_bytes:
            oldest = next(iter(pool.still), None)
            if oldest is None or self._seconds() - oldest.moved_s < STALE_S:
                self.refused += 1
                return False
            self.ended += 1
            oldest.make_room()
        pool.used_bytes += count
        return True

    def pin(self, piece: bytes, pool: _Pool) -> bool:
        """Count `piece`, once for all who wait for it; False where there is no room."""
        waiting, owner = self._pinned.get(id(piece), (0, pool))
        if not waiting and not self.take(pool, len(piece)):
            return False
        self._pinned[id(piece)] = waiting + 1, owner
        return True

    def unpin(self, piece: bytes) -> None:
        """Unpin a piece for one response that no longer waits for it."""
        waiting, owner = self._pinned.pop(id(piece))
        if waiting > 1:
            self._pinned[id(piece)] = waiting - 1, owner
        else:
            owner.used_bytes -= len(piece)

    def now(self) -> float:
        """Return the clock's time in seconds."""
        return self._seconds()


class Holding:
    """Bytes that one connection holds: its own, and pinned pieces that others may hold too."""

    __slots__ = ("_budget", "_bytes", "_end", "_pins", "_pool", "moved_s")

    def __init__(self, budget: InflightBudget, pool: _Pool, end: Callable[[], None]) -> None:
        self._budget = budget
        self._pool = pool
        self._end = end
        self._bytes = 0
        self._pins: list[bytes] = []
        self.moved_s = budget.now()

    @property
    def empty(self) -> bool:
        """Report whether nothing is held."""
        return not self._bytes and not self._pins

    def hold(self, count: int) -> bool:
        """Have `count` bytes of its own from now on; False, and nothing changes, where there is no room."""
        more = count - self._bytes
        if more > 0:
            # The connection that asks does not make room for itself.
            self.settle()
            if not self._budget.take(self._pool, more):
                return False
        else:
            self._pool.used_bytes += more
        self._bytes = count
        return True

    def pin(self, pieces: Sequence[bytes]) -> bool:
        """Have shared `pieces`, counted once for all holders; False, and none is held, where there is no room."""
        self.settle()
        for piece in pieces:
            if not self._budget.pin(piece, self._pool):
                self.unpin()
                return False
            self._pins.append(piece)
        return True

    def unpin(self) -> None:
        """Let go of all pieces."""
        pins, self._pins = self._pins, []
        for piece in pins:
            self._budget.unpin(piece)

    def move(self) -> None:
        """Note progress of the peer; from now on its idleness counts."""
        self.moved_s = self._budget.now()
        self._pool.still[self] = None
        self._pool.still.move_to_end(self)

    def settle(self) -> None:
        """Exempt this holding from making room: it is the server's turn."""
        self._pool.still.pop(self, None)

    def release(self) -> None:
        """Release everything that is held."""
        self.settle()
        self.unpin()
        self._pool.used_bytes -= self._bytes
        self._bytes = 0

    def make_room(self) -> None:
        """End the connection for the sake of others."""
        self.release()
        self._end()
