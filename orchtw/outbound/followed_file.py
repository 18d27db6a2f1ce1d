"""File that is read again soon after it has changed (reference AUTHN-62)."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Final

from twisted.application.service import Service
from twisted.internet.interfaces import IDelayedCall, IReactorTime
from twisted.logger import Logger

from orchtw.errors import ConfigError

INTERVAL_S: Final = 60.0
"""Time between two looks, as in the release."""


class FollowedFile(Service):
    """Looks at a file's time and size every minute. `read` reads it, and changes nothing if it raises ConfigError.

    A changed file that cannot be read is tried again with each look: what it refers to may have come since. `what` is
    its name in the log.
    """

    _log = Logger()

    def __init__(self, path: Path, what: str, read: Callable[[], None], clock: IReactorTime) -> None:
        self._path = path
        self._what = what
        self._read = read
        self._clock = clock
        self._seen = self._state()
        self._next: IDelayedCall | None = None

    def startService(self) -> None:
        """Start looking at the file, every minute."""
        super().startService()  # type: ignore[no-untyped-call]
        self._next = self._clock.callLater(INTERVAL_S, self._look)

    def stopService(self) -> None:
        """Stop looking at the file."""
        super().stopService()  # type: ignore[no-untyped-call]
        if self._next is not None and self._next.active():
            self._next.cancel()

    def _state(self) -> tuple[int, int, int]:
        try:
            found = os.stat(self._path)
        except OSError:
            return 0, 0, 0
        return found.st_mtime_ns, found.st_size, found.st_ino

    def _look(self) -> None:
        self._next = self._clock.callLater(INTERVAL_S, self._look)
        state = self._state()
        if state == self._seen:
            return
        try:
            self._read()
        except ConfigError as error:
            self._log.error("keeping the old {what}: {why}", what=self._what, why=str(error))
        except Exception:  # noqa: BLE001 - one failure must not end the looks
            self._log.failure("keeping the old {what}", what=self._what)
        else:
            self._seen = state
            self._log.info("reread {what}", what=self._what)
