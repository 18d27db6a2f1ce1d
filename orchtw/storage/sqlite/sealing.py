"""Checksums for the rows of a store from before they existed (format 1), newest first.

`meta.unsealed` goes down in the transaction that seals the rows above it, so that a crash only pauses it.
"""

from __future__ import annotations

import sqlite3

from twisted.logger import Logger

from orchtw.storage.sqlite.checksum import checksum
from orchtw.storage.sqlite.errors import sentence

ROWS = """
SELECT rev, CAST(key AS BLOB), created, prev, value FROM history
WHERE rev <= ? AND sum IS NULL ORDER BY rev DESC LIMIT ?
"""


class Sealing:
    """Task of `Background` that adds the checksums."""

    least, most = 8, 256  # rows a slice
    _log = Logger()

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection
        (self._unsealed,) = connection.execute("SELECT unsealed FROM meta").fetchone()
        self.pending = self._unsealed > 0

    def slice(self, count: int) -> None:
        """Seal so many rows, as a `Task`."""
        rows = self._connection.execute(ROWS, (self._unsealed, count)).fetchall()
        unsealed = rows[-1][0] - 1 if len(rows) == count else 0
        seals = [(total, row[0]) for row in rows if (total := _total(*row)) is not None]
        execute = self._connection.execute
        execute("BEGIN IMMEDIATE")
        self._connection.executemany("UPDATE history SET sum = ? WHERE rev = ?", seals)
        execute("UPDATE meta SET unsealed = ?", (unsealed,))
        execute("COMMIT")
        self._unsealed = unsealed
        self.pending = unsealed > 0

    def give_up(self, exc: sqlite3.Error) -> None:
        """Give up after an error, as `Task.give_up`; the next start continues."""
        self.pending = False
        self._log.error("failed to add checksums to the store's older values: {why}", why=sentence(exc))


def _total(revision: int, key: bytes, created: int, previous: int, value: bytes | None) -> int | None:
    """Return the row's checksum; None for a row that the store cannot have written."""
    try:
        return checksum(revision, key.decode(), created, previous, value)
    except (AttributeError, TypeError, ValueError):
        return None
