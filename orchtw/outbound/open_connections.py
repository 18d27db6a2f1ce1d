"""The open connections of one owner, which are dropped at its end."""

from __future__ import annotations

from typing import Any

from twisted.internet.defer import Deferred


class OpenConnections:
    """Transports from their connection to their end, for any protocol."""

    def __init__(self) -> None:
        self._transports: set[Any] = set()
        self._all_closed: Deferred[None] | None = None

    def opened(self, transport: Any) -> None:
        """Add a transport that is connected."""
        self._transports.add(transport)

    def closed(self, transport: Any) -> None:
        """Remove a transport that has lost its connection."""
        self._transports.discard(transport)
        if self._all_closed is not None and not self._transports:
            waiting, self._all_closed = self._all_closed, None
            waiting.callback(None)

    async def drop(self) -> None:
        """Abort all connections, and wait until they are closed."""
        if not self._transports:
            return
        waiting = self._all_closed = Deferred()
        for each in list(self._transports):
            each.abortConnection()
        await waiting
