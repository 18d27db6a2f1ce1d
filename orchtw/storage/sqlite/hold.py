"""Lock on the store's file, and checks that it is still in place: by the file's identity, not its path.

The lock is on the file itself, so that a link to it or another mount of its folder shows it taken. SQLite's POSIX
locks are independent of it, but a process loses those when it closes *any* descriptor of the file: nothing here
opens a file that this process holds already, and the lock's descriptor is closed after SQLite's.
"""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterable

from orchtw.errors import ConfigError

Identity = tuple[int, int]

_held: set[Identity] = set()


class Hold:
    """Lock on a store file until `release`; kill -9 frees it too. Raises ConfigError if another holds it.

    Also raises OSError when the file cannot be opened for writing.
    """

    def __init__(self, path: str) -> None:
        self._path = path
        self._identity = _identity(path)
        if self._identity in _held:
            raise _in_use(path)
        self._descriptors = [_locked(os.open(path, os.O_RDWR | os.O_CLOEXEC), path)]
        try:
            self._lock_side_file()
        except BaseException:
            self._close()
            raise
        _held.add(self._identity)
        self._present = {path: self._identity}

    def watch(self, names: Iterable[str]) -> None:
        """Watch these files in `missing` too: they are in use as they are now."""
        self._present = {self._path: self._identity} | {name: _identity(name) for name in names}

    def missing(self) -> str:
        """Return which of the files is missing or has been replaced, in words; empty while all are there."""
        for name, identity in self._present.items():
            try:
                found = _identity(name)
            except (FileNotFoundError, NotADirectoryError):
                return f"{name} has been removed or moved"
            except OSError:
                continue  # without permission to look, it is not known to be gone
            if found != identity:
                return f"{name} has been replaced by another file"
        return ""

    def release(self) -> None:
        """Release the file for others; SQLite's connections must be closed."""
        _held.discard(self._identity)
        self._close()

    def _lock_side_file(self) -> None:
        """Take the lock of servers with format 1, which leave its file there."""
        try:
            descriptor = os.open(f"{self._path}.lock", os.O_RDWR | os.O_CLOEXEC)
        except FileNotFoundError:
            return
        self._descriptors.append(_locked(descriptor, self._path))

    def _close(self) -> None:
        while self._descriptors:
            os.close(self._descriptors.pop())


def _identity(path: str) -> Identity:
    status = os.stat(path)
    return status.st_dev, status.st_ino


def _locked(descriptor: int, path: str) -> int:
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(descriptor)
        raise _in_use(path) from None
    except BaseException:
        os.close(descriptor)
        raise
    return descriptor


def _in_use(path: str) -> ConfigError:
    return ConfigError(f"{path}: in use by another process; stop that one, or use another --data-dir")
