"""Time of a reactor for imports and replays."""

from __future__ import annotations

from typing import Any

from twisted.internet.task import deferLater


class ReactorPace:
    """Clock and sleep of a reactor."""

    def __init__(self, reactor: Any) -> None:
        self._reactor = reactor

    def seconds(self) -> float:
        """Return the reactor's time."""
        seconds: float = self._reactor.seconds()
        return seconds

    async def sleep(self, seconds: float) -> None:
        """Wait for that time."""
        await deferLater(self._reactor, seconds)
