"""A store's file as a copy: one consistent state of it, whole or not at all, and never in the place of another file.

The source may be in use: it is read in one transaction, which holds up nobody.
"""

from __future__ import annotations

import os
import sqlite3
from contextlib import closing, suppress
from pathlib import Path

from orchtw.errors import ConfigError
from orchtw.storage.sqlite_errors import sentence
from orchtw.storage.sqlite_snapshot import open_readable

OWNERS = 0o600


def copy_store(source: Path, target: Path) -> int:
    """Copy the store at `source` to `target`, for the owner's eyes only; the copy's size in bytes.

    Raises ConfigError with one line: for a source that is no store, a target that is there already, a full disk.
    """
    refuse_existing(target)
    partial = target.with_name(f".{target.name}.{os.getpid()}.partial")
    with closing(open_readable(source)) as connection:
        try:
            _write(connection, partial)
            os.close(_create(target))  # a renaming would not tell whether there is something by now
            os.replace(partial, target)
            _sync(target.parent)
            return target.stat().st_size
        except FileExistsError:
            raise ConfigError(f"{target}: is there already") from None
        except OSError as error:
            raise ConfigError(f"{target}: {error.strerror}") from None
        except sqlite3.Error as error:
            raise ConfigError(f"{source}: could not be copied to {target}: {sentence(error)}") from None
        finally:
            with suppress(OSError):
                partial.unlink(missing_ok=True)


def refuse_existing(target: Path) -> None:
    """Raises ConfigError if there is a file at `target`, or what belongs to one."""
    for suffix in ("", "-wal", "-shm"):
        path = target.with_name(target.name + suffix)
        if os.path.lexists(path):
            raise ConfigError(f"{path}: is there already; move it away first")


def _write(source: sqlite3.Connection, partial: Path) -> None:
    os.close(_create(partial))
    with closing(sqlite3.connect(partial, isolation_level=None)) as copy:
        copy.execute("PRAGMA synchronous = OFF")  # it is on disk before it gets its name
        source.backup(copy)
    for suffix in ("-wal", "-shm"):
        partial.with_name(partial.name + suffix).unlink(missing_ok=True)
    descriptor = os.open(partial, os.O_RDONLY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _create(path: Path) -> int:
    return os.open(path, os.O_CREAT | os.O_EXCL | os.O_RDWR | os.O_CLOEXEC, OWNERS)


def _sync(folder: Path) -> None:
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
