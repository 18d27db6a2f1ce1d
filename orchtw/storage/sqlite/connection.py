"""Connections to a store's file, with their common settings."""

from __future__ import annotations

import os
import sqlite3
from contextlib import closing, suppress
from pathlib import Path


def connect(path: str | Path, *, timeout_s: float = 5.0, read_only: bool = False) -> sqlite3.Connection:
    """Return a connection for the calling thread, without implicit transactions.

    Functions in the file's own definitions do not run, and a damaged page is reported, not read as if it were sound.
    A `read_only` connection leaves no file behind. Raises sqlite3.Error.
    """
    if read_only:
        connection: sqlite3.Connection = _Visit(path, timeout_s)
    else:
        connection = sqlite3.connect(path, timeout=timeout_s, isolation_level=None, cached_statements=256)
    try:
        connection.execute("PRAGMA trusted_schema = OFF")
        connection.execute("PRAGMA cell_size_check = 1")
    except sqlite3.Error:
        connection.close()
        raise
    return connection


class _Visit(sqlite3.Connection):
    """Reader that removes the side files it has made: SQLite leaves that to connections that may write."""

    def __init__(self, path: str | Path, timeout_s: float) -> None:
        self._path = Path(path).resolve()
        self._were_there = self._side_files()
        super().__init__(f"{self._path.as_uri()}?mode=ro", uri=True, timeout=timeout_s, isolation_level=None)

    def close(self) -> None:
        """Close the connection; repeated calls do nothing."""
        super().close()
        if self._side_files() - self._were_there:
            self._were_there = self._side_files()
            # The last connection to close takes them away, if it may write; one of a server is not the last.
            with suppress(sqlite3.Error), closing(sqlite3.connect(self._path, isolation_level=None)) as last:
                last.execute("SELECT count(*) FROM sqlite_master").fetchone()

    def _side_files(self) -> frozenset[str]:
        names = (f"{self._path}{suffix}" for suffix in ("-wal", "-shm"))
        return frozenset(name for name in names if os.path.exists(name))
