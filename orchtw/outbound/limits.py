"""Limit of concurrent calls to one server, so that a server that hangs only harms its own callers."""

from __future__ import annotations

from typing import Final

from twisted.internet.defer import DeferredSemaphore

RUNNING: Final = 128
"""Limit of concurrent calls: more would only wait in the other server. Eight hanging servers fill the dialer."""

WAITING: Final = 1000
"""Limit of calls that wait for one of these to end; further ones are rejected."""


class Crowded(Exception):
    """Error: too many calls wait already."""


class CallLimit:
    """Semaphore for `running` calls; up to `waiting` more wait for it, in order."""

    def __init__(self, running: int = RUNNING, waiting: int = WAITING) -> None:
        self._room = DeferredSemaphore(running)
        self._most = waiting

    @property
    def waiting(self) -> int:
        """Number of waiting calls."""
        return len(self._room.waiting)

    @property
    def idle(self) -> bool:
        """Report whether no call runs or waits."""
        return self._room.tokens == self._room.limit

    async def take(self) -> None:
        """Wait for room, which `give` returns; a cancelled caller takes none. Raises Crowded."""
        if not self._room.tokens and self.waiting >= self._most:
            raise Crowded(f"more than {self._most} calls are waiting for it already")
        await self._room.acquire()

    def give(self) -> None:
        """Return the room of a call that has ended."""
        self._room.release()
