"""Filling of an empty store in one transaction: all of it is there afterwards, or nothing."""

from __future__ import annotations

import sqlite3

from orchtw.errors import ConfigError
from orchtw.storage.sqlite.checksum import checksum
from orchtw.storage.sqlite.expiry import insert
from orchtw.storage.sqlite.schema import HEAD

MOST_REVISION = 1 << 62
"""Largest revision of a loaded store: as many writes will not be made; above 2^63 SQLite has no integers."""

INSERT = "INSERT INTO history VALUES (?, ?, ?, 0, ?, ?, ?)"


class Load:
    """Load of keys with new revisions, the first of them above `after`; all older states are compacted.

    `connection` is of a store that is ours. Raises ConfigError if it has objects.
    """

    def __init__(self, connection: sqlite3.Connection, after: int) -> None:
        self._connection = connection
        self._keys: set[str] = set()
        self._ends: list[tuple[int, int]] = []
        connection.execute("BEGIN IMMEDIATE")
        (states,) = connection.execute("SELECT count(DISTINCT key) FROM history").fetchone()
        if states:
            connection.execute("ROLLBACK")
            raise ConfigError(f"is not empty: it has or had {states} objects; import into a new one")
        _, head, _ = connection.execute(HEAD).fetchone()
        self.revision = max(head, after)
        if not 0 <= after < MOST_REVISION:
            connection.execute("ROLLBACK")
            raise ConfigError(f"{after} is not a revision that a store can continue from")

    def put(self, key: str, value: bytes, end_ms: int = 0) -> None:
        """Write one key; `end_ms`, if not 0, is when its value ends by itself. Raises ConfigError if it is there."""
        if key in self._keys:
            raise ConfigError(f"{key} exists twice")
        self._keys.add(key)
        self.revision = revision = self.revision + 1
        total = checksum(revision, key, revision, 0, value)
        self._connection.execute(INSERT, (revision, key, revision, len(value), value, total))
        if end_ms:
            self._ends.append((revision, end_ms))

    def commit(self) -> int:
        """Commit all of it to disk; returns the number of keys."""
        insert(self._connection, self._ends)
        self._connection.execute("UPDATE meta SET compacted = ?1, swept = ?1", (self.revision,))
        self._connection.execute("COMMIT")
        return len(self._keys)

    def undo(self) -> None:
        """Roll back, which leaves the store as empty as it was."""
        if self._connection.in_transaction:
            self._connection.execute("ROLLBACK")
