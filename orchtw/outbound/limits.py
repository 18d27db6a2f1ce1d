"""Limit of concurrent calls to one server, so that a server that hangs costs its own callers alone."""

from __future__ import annotations

from typing import Final

from twisted.internet.defer import DeferredSemaphore

RUNNING: Final = 128
"""Calls at a time: more would only wait in the other server. Eight servers that hang leave the dialer's room."""

WAITING: Final = 1000
"""Calls that wait for one of these to end; those that come then are refused."""


class Crowded(Exception):
    """Too many wait already; the text says so."""


class CallTurns:
    """Room for `running` calls; `waiting` more wait for it, in their order."""

    def __init__(self, running: int = RUNNING, waiting: int = WAITING) -> None:
        self._room = DeferredSemaphore(running)
        self._most = waiting

    @property
    def waiting(self) -> int:
        """Return the number of waiting calls."""
        return len(self._room.waiting)

    @property
    def idle(self) -> bool:
        """Report whether no call runs or waits."""
        return self._room.tokens == self._room.limit

    async def take(self) -> None:
        """Wait for room, which `give` gives back; who is cancelled meanwhile has none. Raises Crowded."""
        if not self._room.tokens and self.waiting >= self._most:
            raise Crowded(f"more than {self._most} calls are waiting for it already")
        await self._room.acquire()

    def give(self) -> None:
        """A call has ended."""
        self._room.release()
