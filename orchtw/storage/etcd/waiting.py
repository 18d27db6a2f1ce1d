"""Log lines about a start that waits for the cluster."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from twisted.internet.task import LoopingCall
from twisted.logger import Logger

LOOK_S: Final = 0.1
TOLD_S: Final = 5.0


class UnreachableLog:
    """Log of the reason why the cluster cannot be reached: at once, then every TOLD_S."""

    _log = Logger()

    def __init__(self, clock: Any, trouble: Callable[[], str]) -> None:
        self._clock = clock
        self._trouble = trouble
        self._due = clock.seconds()
        self._looking = LoopingCall(self._look)
        self._looking.clock = clock

    def start(self) -> None:
        """Start to log the reason while the start waits."""
        self._looking.start(LOOK_S, now=False)

    def stop(self) -> None:
        """Stop logging the wait."""
        self._looking.stop()

    def _look(self) -> None:
        why, now = self._trouble(), self._clock.seconds()
        if why and now >= self._due:
            self._due = now + TOLD_S
            self._log.warn("waiting for etcd, which cannot be reached: {why}", why=why)
