"""Copies of a store's file: one consistent state, whole or not at all, never over another file.

The source may be in use: it is read in one transaction, which blocks no one.
"""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Callable
from contextlib import closing, suppress
from pathlib import Path

from orchtw.errors import ConfigError
from orchtw.logs.progress import Progress
from orchtw.naming.naming import VOCABULARIES
from orchtw.storage.sqlite import schema
from orchtw.storage.sqlite.connection import connect
from orchtw.storage.sqlite.errors import sentence
from orchtw.storage.sqlite.snapshot import open_readable

OWNERS = 0o600
ROWS_AT_ONCE = 500
PAGES_AT_ONCE = 1024
TABLES = {
    "meta": "id, vocabulary, compacted, swept, probe, unsealed",
    "history": "rev, key, created, prev, size, value, sum",
    "expiry": "rev, at, sum",
}
"""Columns of each table: all that a restored store takes over."""


def copy_store(source: Path, target: Path) -> int:
    """Copy the pages of the store at `source`, made by this program, to `target`; returns the size in bytes.

    The copy is for the owner's eyes only. Raises ConfigError with one line: for a source that is not a store, an
    existing target, a full disk.
    """
    return _copied(source, target, _write_pages)


def copy_rows(source: Path, target: Path) -> int:
    """Write the rows of the store at `source`, which need not be trusted, into a new store; as `copy_store`.

    Nothing of the source but values gets into the new file: its tables are made by this program (reference STORE-38).
    """
    return _copied(source, target, _write_rows)


def _copied(source: Path, target: Path, write: Callable[[sqlite3.Connection, sqlite3.Connection], None]) -> int:
    refuse_existing(target)
    partial = target.with_name(f".{target.name}.{os.getpid()}.partial")
    with closing(open_readable(source)) as connection:
        try:
            _write(connection, partial, write)
            os.close(_create(target))  # a renaming would not tell whether there is something by now
            os.replace(partial, target)
            _sync(target.parent)
            return target.stat().st_size
        except FileExistsError:
            raise ConfigError(f"{target}: already exists") from None
        except OSError as error:
            raise ConfigError(f"{target}: {error.strerror}") from None
        except sqlite3.Error as error:
            raise ConfigError(f"{source}: could not be copied to {target}: {sentence(error)}") from None
        finally:
            with suppress(OSError):
                partial.unlink(missing_ok=True)


def refuse_existing(target: Path) -> None:
    """Check that there is no file at `target`, and no side file of one. Raises ConfigError."""
    for suffix in ("", "-wal", "-shm"):
        path = target.with_name(target.name + suffix)
        if os.path.lexists(path):
            raise ConfigError(f"{path}: already exists; move it away first")


def _write_pages(source: sqlite3.Connection, copy: sqlite3.Connection) -> None:
    with Progress("copying", unit="bytes") as progress:

        def show(_status: int, remaining: int, pages: int) -> None:
            progress.total = pages * schema.PAGE_BYTES
            progress.reach((pages - remaining) * schema.PAGE_BYTES)

        source.execute("BEGIN")
        source.execute("SELECT id FROM meta").fetchone()  # from here on all parts are of one state
        source.backup(copy, pages=PAGES_AT_ONCE, progress=show)


def _write_rows(source: sqlite3.Connection, copy: sqlite3.Connection) -> None:
    source.execute("BEGIN")
    schema.prepare(copy, VOCABULARIES[0])
    copy.execute("BEGIN IMMEDIATE")
    copy.execute("DELETE FROM meta")  # the source's row takes its place, as a value like all others
    (total,) = source.execute("SELECT count(*) FROM history").fetchone()
    with Progress("copying", total, unit="states") as progress:
        for table, columns in TABLES.items():
            rows = source.execute(f"SELECT {columns} FROM {table}")
            places = ", ".join("?" * (columns.count(",") + 1))
            while part := rows.fetchmany(ROWS_AT_ONCE):
                copy.executemany(f"INSERT INTO {table} ({columns}) VALUES ({places})", part)
                progress.advance(len(part) if table == "history" else 0)
    copy.execute("COMMIT")
    copy.execute("PRAGMA wal_checkpoint(TRUNCATE)")


def _write(
    source: sqlite3.Connection, partial: Path, write: Callable[[sqlite3.Connection, sqlite3.Connection], None]
) -> None:
    os.close(_create(partial))
    with closing(connect(partial)) as copy:
        copy.execute("PRAGMA synchronous = OFF")  # it is on disk before it gets its name
        write(source, copy)
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
