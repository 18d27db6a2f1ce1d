"""Rewrite of a store of another vocabulary: one transaction, so all of it or nothing.

Every live object gets a new revision, in the order of the old ones, and a new checksum. A resourceVersion stands
for one content for ever: under its old one a client could put back what it read before, and an informer would not
notice that anything changed. What came before is compacted away, so that watches and lists at older revisions
expire (410).
"""

from __future__ import annotations

import sqlite3

from orchtw.errors import ConfigError, StatusError
from orchtw.logs.progress import Progress
from orchtw.storage.sqlite.checksum import checksum, is_written
from orchtw.storage.sqlite.errors import is_damage
from orchtw.storage.sqlite.expiry import ends_of_all, insert
from orchtw.storage.sqlite.schema import HEAD, HISTORY, INDEX
from orchtw.storage.store import Translation

LIVE = """
SELECT rev, key FROM (
    SELECT key, max(rev) AS rev, created FROM history INDEXED BY history_by_key GROUP BY key
) WHERE created > 0 ORDER BY rev
"""
ROW = "SELECT rev, CAST(key AS BLOB), created, prev, value, sum FROM old_history WHERE rev = ?"
INSERT = "INSERT INTO history VALUES (?, ?, ?, 0, ?, ?, ?)"


def rewrite(connection: sqlite3.Connection, vocabulary: str, translation: Translation) -> tuple[int, int]:
    """Rewrite the store for `vocabulary`; returns the numbers of objects and of unreadable ones.

    The latter are carried over as damaged as they were. Raises ConfigError when two objects would get one key, and
    sqlite3.Error; the store is then unchanged.
    """
    connection.execute("BEGIN IMMEDIATE")
    try:
        counts = _rewrite(connection, vocabulary, translation)
        connection.execute("COMMIT")
    except BaseException:
        if connection.in_transaction:
            connection.execute("ROLLBACK")
        raise
    return counts


def _rewrite(connection: sqlite3.Connection, vocabulary: str, translation: Translation) -> tuple[int, int]:
    execute = connection.execute
    _, head, unsealed = execute(HEAD).fetchone()
    live: list[tuple[int, str]] = execute(LIVE).fetchall()
    keys = _new_keys(live, translation)
    # A new table, not changed rows: SQLite fails to delete a row that contradicts its index, as a damaged one may.
    execute("ALTER TABLE history RENAME TO old_history")
    execute(HISTORY)
    ends, new_ends = ends_of_all(connection), []
    revision, unreadable = head + 1, 0  # the first stays unused: a watch that has seen all of the old must expire
    with Progress("rewriting the store", len(live)) as progress:
        for old, key in live:
            revision += 1
            value = _value(connection, old, key, unsealed)
            new = None if value is None else _translated(translation, key, value)
            unreadable += new is None
            kept = (value or b"") if new is None else new
            total = checksum(revision, keys[key], revision, 0, kept)
            if old in ends:
                new_ends.append((revision, ends[old]))
            execute(INSERT, (revision, keys[key], revision, len(kept), kept, total ^ 1 if value is None else total))
            progress.advance()
    execute("DROP TABLE old_history")
    execute(INDEX)
    execute("DELETE FROM expiry")
    insert(connection, new_ends)
    execute("UPDATE meta SET vocabulary = ?1, compacted = ?2, swept = ?2, unsealed = 0", (vocabulary, revision))
    return len(live), unreadable


def _new_keys(live: list[tuple[int, str]], translation: Translation) -> dict[str, str]:
    keys: dict[str, str] = {}
    taken: dict[str, str] = {}
    for _, key in live:
        new = keys[key] = translation.key(key)
        if new in taken:
            raise ConfigError(f"{taken[new]} and {key} would both become {new}; delete one of them")
        taken[new] = key
    return keys


def _value(connection: sqlite3.Connection, revision: int, key: str, unsealed: int) -> bytes | None:
    """Return the value of a row, or None if the row fails its checksum."""
    try:
        row = connection.execute(ROW, (revision,)).fetchone()
    except sqlite3.DatabaseError as error:
        if not is_damage(error):
            raise
        return None
    if row is None:
        return None
    try:
        found, own, created, previous, value, total = row
        sound = own.decode() == key and is_written(total, unsealed, found, key, created, previous, value)
    except (AttributeError, TypeError, ValueError):
        return None
    return value if sound and isinstance(value, bytes) else None


def _translated(translation: Translation, key: str, value: bytes) -> bytes | None:
    """Return the new value; None for one that cannot be decoded."""
    try:
        return translation.value(key, value)
    except (StatusError, ValueError):
        return None
