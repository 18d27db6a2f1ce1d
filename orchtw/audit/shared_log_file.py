"""Audit log of a server with several processes: all append to one file, and the one that fills it rotates it.

A process takes a lock for each write, under which it checks that the path still leads to its open file.
"""

from __future__ import annotations

import fcntl
import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from orchtw.audit.log_file import LogFile, LogSettings

_TRIES: Final = 50
_TRY_S: Final = 0.001
"""Delay between _TRIES attempts to lock; then a process writes without the lock, in case its holder is stopped."""

_MODE: Final = 0o600


class SharedLogFile(LogFile):
    """`LogFile` for several processes. `lock` is the path of the file that they lock."""

    def __init__(
        self, settings: LogSettings, seconds: Callable[[], float], say: Callable[[str], None], lock: Path
    ) -> None:
        self._lock = lock
        self._locked = False
        self._lock_fd = os.open(lock, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, _MODE)
        super().__init__(settings, seconds, say)
        self._keeper.alone = self._alone

    def write(self, data: bytes) -> None:
        """Append data under the lock, as `LogFile.write`; without it if it cannot be had in time."""
        self._locked = self._take()
        try:
            self._follow()
            super().write(data)
        finally:
            if self._locked:
                fcntl.flock(self._lock_fd, fcntl.LOCK_UN)

    def close(self) -> None:
        """Close the file, as `LogFile.close`."""
        super().close()
        os.close(self._lock_fd)

    def _take(self) -> bool:
        for _ in range(_TRIES):
            try:
                fcntl.flock(self._lock_fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                time.sleep(_TRY_S)
            else:
                return True
        return False

    def _follow(self) -> None:
        """Open the path again if another process has rotated the file, and update the size."""
        if self._limit:
            if not self._is_ours():
                self._open_again()
            self._size = os.fstat(self._fd).st_size

    def _rotate(self) -> None:
        """Rotate the file if this process holds the lock."""
        if self._locked:
            super()._rotate()

    @contextmanager
    def _alone(self) -> Iterator[None]:
        """Hold the lock for old files, on which one process at a time works."""
        fd = os.open(self._lock.with_name(f"{self._lock.name}.old"), os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, _MODE)
        try:
            fcntl.flock(fd, fcntl.LOCK_EX)
            yield
        finally:
            os.close(fd)
