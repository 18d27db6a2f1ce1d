"""Gate in front of all writes, closed while an earlier state of the whole store is brought back."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from typing import Any, TypeVar

from twisted.internet.defer import Deferred
from twisted.internet.interfaces import IReactorTime

from orchtw.errors import TooManyRequests

T = TypeVar("T")


class WriteGate:
    """Lets writes begin while it is open, and counts those under way.

    Those that are still under way when it opens again began in another state: see `check`.
    """

    def __init__(self, clock: IReactorTime) -> None:
        self._clock = clock
        self._closed = False
        self._opened = 0
        self._under_way = 0
        self._entering: list[Deferred[None]] = []
        self._leaving: Deferred[None] | None = None

    @property
    def under_way(self) -> int:
        """Number of writes that have begun and not ended."""
        return self._under_way

    @property
    def times_opened(self) -> int:
        """Number of times that the gate has been opened again, for `check`."""
        return self._opened

    async def run(self, write: Callable[[], Coroutine[Any, Any, T]]) -> T:
        """Return the result of a write, which begins once the gate is open."""
        while self._closed:
            waiting: Deferred[None] = Deferred()
            self._entering.append(waiting)
            await waiting
        self._under_way += 1
        try:
            return await write()
        finally:
            self._under_way -= 1
            if not self._under_way:
                self._last_left()

    def check(self, since: int) -> None:
        """Check that the gate has not been opened again since a request began.

        Raises TooManyRequests (429), which clients repeat: what the request has relied on is no longer so.
        """
        if since != self._opened:
            text = "the state of the server was restored while the request was under way, please try again"
            raise TooManyRequests(text, {"retryAfterSeconds": 1})

    async def close(self, patience_s: float) -> None:
        """Let no write begin; returns when those under way have ended, or after `patience_s`."""
        self._closed = True
        if not self._under_way:
            return
        leaving = self._leaving = Deferred()
        limit = self._clock.callLater(patience_s, self._last_left)
        await leaving
        if limit.active():
            limit.cancel()

    def open(self) -> None:
        """Let writes begin again, those that wait first."""
        self._closed = False
        self._opened += 1
        entering, self._entering = self._entering, []
        for waiting in entering:
            if not waiting.called:
                waiting.callback(None)

    def _last_left(self) -> None:
        leaving, self._leaving = self._leaving, None
        if leaving is not None:
            # In a turn of its own: this one may be in the middle of the writer's work.
            self._clock.callLater(0, leaving.callback, None)
