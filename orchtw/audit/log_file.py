"""Log file that events are appended to, and its rotation (reference AUDIT-11, AUDIT-18)."""

from __future__ import annotations

import os
import stat
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Final

import msgspec

from orchtw.audit.old_files import Keeper, Keeping, backup_path

MEGABYTE: Final = 1 << 20
_FLAGS: Final = os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC
_MODE: Final = 0o600
STANDARD_OUTPUT: Final = "-"
STANDARD_OUTPUT_FD = 1


class LogSettings(msgspec.Struct, frozen=True, kw_only=True):
    """Settings of the log: `path` of the file or STANDARD_OUTPUT, size limit, and retention of old files."""

    path: str
    max_bytes: int = 100 * MEGABYTE
    keeping: Keeping = msgspec.field(default_factory=Keeping)


class LogFile:
    """Log file, used by one thread at a time except for `reopen_later`. `seconds` is the time since the epoch."""

    def __init__(self, settings: LogSettings, seconds: Callable[[], float], say: Callable[[str], None]) -> None:
        """Open the file, which is created if missing, as is its folder. Raises OSError.

        `say` reports errors other than those of writing.
        """
        self._settings = settings
        self._seconds = seconds
        self._say = say
        self._path = Path(settings.path).absolute()
        self._keeper = Keeper(self._path, settings.keeping, say)
        self._size = 0
        self._limit = 0
        self._torn = self._reopen = False
        self._fd = self._open()

    @property
    def regular(self) -> bool:
        """Report whether the path is a regular file, whose writes wait for no reader."""
        return stat.S_ISREG(os.fstat(self._fd).st_mode)

    def write(self, data: bytes) -> None:
        """Append whole lines, after rotating a full file. Raises OSError if not all of it was written."""
        if self._reopen:
            self._reopen = False
            self._open_again()
        if self._limit and self._size and self._size + len(data) > self._limit:
            self._rotate()
        if self._torn:  # the file ends in a partial line, which the next must not join
            data = b"\n" + data
        written = os.write(self._fd, data)
        self._size += written
        if written < len(data):
            self._torn = True
            self._write_rest(memoryview(data)[written:])
        self._torn = False

    def _write_rest(self, view: memoryview) -> None:
        while view:
            written = os.write(self._fd, view)
            self._size += written
            view = view[written:]

    def reopen_later(self) -> None:
        """Open the path again before the next line is written, for tools that have moved the file (SIGHUP)."""
        self._reopen = True

    def tidy(self) -> None:
        """Apply the retention settings to old files, in a thread; to be called once threads may start."""
        if self._limit:
            self._keeper.look()

    def close(self) -> None:
        """Close the file; a running compression is left for the next start."""
        self._keeper.stop()
        if self._settings.path != STANDARD_OUTPUT:
            os.close(self._fd)

    def _open(self) -> int:
        if self._settings.path == STANDARD_OUTPUT:
            return STANDARD_OUTPUT_FD
        with suppress(FileExistsError):  # a file is in the way: `os.open` reports it
            self._path.parent.mkdir(mode=0o700, parents=True)
        fd = os.open(self._path, _FLAGS, _MODE)
        found = os.fstat(fd)
        regular = stat.S_ISREG(found.st_mode)
        self._size = found.st_size
        self._limit = self._settings.max_bytes if regular else 0
        return fd

    def _open_again(self) -> None:
        if self._settings.path == STANDARD_OUTPUT:
            return
        try:
            fd = self._open()
        except OSError as error:
            self._say(f"{self._path} cannot be opened again: {error.strerror}; logging continues to the old file")
            return
        os.close(self._fd)
        self._fd, self._torn = fd, False

    def _rotate(self) -> None:
        """Rename the file and begin a new one; if that fails, the old one grows until a later attempt."""
        self._size = os.fstat(self._fd).st_size  # another program may have emptied it
        if not self._size:
            return
        try:
            fd = self._moved()
        except OSError as error:
            self._limit = self._size + self._settings.max_bytes
            self._say(f"{self._path} cannot be rotated: {error.strerror}; it keeps growing")
            return
        os.close(self._fd)
        self._fd, self._torn = fd, False
        self._keeper.look()

    def _moved(self) -> int:
        """Rename the old file and open a new one. Raises OSError, with the old file back in its place."""
        if not self._is_ours():
            return self._open()
        backup = backup_path(self._path, self._seconds())
        os.rename(self._path, backup)
        try:
            return self._open()
        except OSError:
            with suppress(OSError):
                os.rename(backup, self._path)
            raise

    def _is_ours(self) -> bool:
        """Report whether the path still leads to the open file."""
        try:
            return os.path.samestat(os.stat(self._path), os.fstat(self._fd))
        except FileNotFoundError:
            return False
