"""Is a store's file sound? Its structure, its rows, and its index against its rows.

A damaged row costs one object, which is reported when it is read. What damage to the structure costs is unknown.
The index holds nothing that the rows do not, so it can be made anew, but only from rows that are sound themselves.
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
"""How SQLite's check names what a row's own checksum finds: no reason to refuse all the others."""

MISPLACED = """
SELECT rev FROM history h NOT INDEXED WHERE NOT EXISTS (
    SELECT 1 FROM history x INDEXED BY history_by_key
    WHERE x.key = h.key AND x.rev = h.rev AND x.created = h.created AND x.size = h.size
)
"""


def structure(connection: sqlite3.Connection) -> str:
    """The first thing that is wrong with pages and trees, with the page's number where SQLite knows it, or "".

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
    """Make the index anew where sound rows are missing in it; what is wrong if that cannot be told, or "".

    Rows that are missing because they are damaged stay as they are: the index still knows their keys.
    """
    verdicts = [_verdict(connection, revision) for revision in misplaced(connection)]
    if verdicts and all(verdicts):
        connection.execute("REINDEX history_by_key")
        _log.warn("the store's index did not have {count} of its rows: made anew", count=len(verdicts))
    elif any(verdict is not False for verdict in verdicts):
        return f"its index and {len(verdicts)} of its rows disagree"
    return ""


def misplaced(connection: sqlite3.Connection) -> list[int]:
    """The revisions of the rows that the index does not have as they are."""
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
    """(revision, key as far as it can be read) of each row that is not what was written; reads the whole file."""
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
