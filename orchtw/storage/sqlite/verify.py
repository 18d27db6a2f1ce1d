"""Integrity checks of a store's file: its structure, its rows, and its index against its rows.

A damaged row costs one object, reported when it is read. The cost of damage to the structure is unknown. The index
can be rebuilt from the rows, but only if these are sound.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator

from twisted.logger import Logger

from orchtw.storage.sqlite.checksum import checksum
from orchtw.storage.sqlite.errors import is_damage

_log = Logger()

FINDINGS = 100
PREAMBLE = "*** in database main ***"
ROWS_AT_ONCE = 500
ROW_FINDING = "NULL value in history."
"""Prefix of SQLite's findings on rows that their own checksums cover: no reason to refuse all the others."""

MISPLACED = """
SELECT rev FROM history h NOT INDEXED WHERE NOT EXISTS (
    SELECT 1 FROM history x INDEXED BY history_by_key
    WHERE x.key = h.key AND x.rev = h.rev AND x.created = h.created AND x.size = h.size
)
"""


def structure(connection: sqlite3.Connection) -> str:
    """Return the first fault of pages and trees, with the page's number where SQLite knows it, or "".

    Raises sqlite3.Error when that cannot be found out.
    """
    try:
        findings = [str(text) for (text,) in connection.execute(f"PRAGMA quick_check({FINDINGS})")]
    except sqlite3.Error as error:
        if not is_damage(error):
            raise
        return str(error)
    for finding in findings:
        if finding != "ok" and not finding.startswith(ROW_FINDING):
            return " ".join(finding.removeprefix(PREAMBLE).split())
    return ""


def mend_index(connection: sqlite3.Connection) -> str:
    """Rebuild the index if sound rows are missing in it; returns the fault if that is not certain, or "".

    Rows that are missing because they are damaged stay as they are: the index still knows their keys.
    """
    verdicts = [_verdict(connection, revision) for revision in misplaced(connection)]
    if verdicts and all(verdicts):
        connection.execute("REINDEX history_by_key")
        _log.warn("the store's index lacked {count} rows and was rebuilt", count=len(verdicts))
    elif any(verdict is not False for verdict in verdicts):
        return f"its index and {len(verdicts)} of its rows disagree"
    return ""


def misplaced(connection: sqlite3.Connection) -> list[int]:
    """Return the revisions of the rows that are not in the index as they are."""
    return [revision for (revision,) in connection.execute(MISPLACED)]


def is_sound(connection: sqlite3.Connection, revision: int) -> bool:
    """Report whether a row exists, has a checksum and matches it."""
    return _verdict(connection, revision) is True


def _verdict(connection: sqlite3.Connection, revision: int) -> bool | None:
    """Report whether a row matches its checksum; None if it has none."""
    query = "SELECT rev, CAST(key AS BLOB), created, prev, value, sum FROM history WHERE rev = ?"
    try:
        row = connection.execute(query, (revision,)).fetchone()
        return None if row[5] is None else bool(row[5] == checksum(row[0], row[1].decode(), *row[2:5]))
    except (sqlite3.Error, AttributeError, TypeError, ValueError):
        return False


def damaged_rows(connection: sqlite3.Connection) -> Iterator[tuple[int, str]]:
    """Yield (revision, key as far as readable) of each row that fails its checksum; reads the whole file."""
    (unsealed,) = connection.execute("SELECT unsealed FROM meta").fetchone()
    after = -1
    while True:
        query = "SELECT rev, CAST(key AS BLOB), sum IS NULL FROM history WHERE rev > ? ORDER BY rev LIMIT ?"
        rows = connection.execute(query, (after, ROWS_AT_ONCE)).fetchall()
        for revision, key, lacks in rows:
            if not (lacks and revision <= unsealed) and not is_sound(connection, revision):
                yield revision, bytes(key or b"").decode(errors="replace")
        if len(rows) < ROWS_AT_ONCE:
            return
        after = rows[-1][0]
