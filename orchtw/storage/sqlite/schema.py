"""Tables of the store: definitions, recognition, and upgrade to the present format.

One `history` row per committed write, by revision; `history_by_key` finds a key's rows without touching values. A
row names the one it replaced (`prev`), so compaction looks at rows written since the last one only. A tombstone is
a row with `created` 0. `sum` is the row's checksum; rows up to `meta.unsealed` may still lack it (format 1 had
none). `expiry` has a row for each write of an expiring value, with its end in milliseconds since the epoch (from
format 3 on). `meta` has one row: the vocabulary, and how far the file is compacted, swept, sealed.
"""

from __future__ import annotations

import sqlite3
from typing import Final

from orchtw.naming.naming import VOCABULARIES
from orchtw.storage.sqlite.errors import RESTORE

APPLICATION_ID: Final = 0x6F726368  # "orch" in the file's header: tells our files from other programs'
FORMAT: Final = 3
PAGE_BYTES: Final = 8192
"""Bytes of a page: a 6 KiB value fits in one; 16 KiB reads no faster, and scattered index writes cost a page each."""

META: Final = """
CREATE TABLE meta (
    id INTEGER PRIMARY KEY CHECK (id = 1), vocabulary TEXT NOT NULL,
    compacted INTEGER NOT NULL, swept INTEGER NOT NULL, probe BLOB, unsealed INTEGER NOT NULL DEFAULT 0
);
"""
HISTORY: Final = """
CREATE TABLE history (
    rev INTEGER PRIMARY KEY, key TEXT NOT NULL, created INTEGER NOT NULL, prev INTEGER NOT NULL,
    size INTEGER NOT NULL, value BLOB, sum INTEGER
);
"""
INDEX: Final = "CREATE INDEX history_by_key ON history (key, rev, created, size);\n"
EXPIRY: Final = """
CREATE TABLE expiry (rev INTEGER PRIMARY KEY, at INTEGER NOT NULL, sum INTEGER NOT NULL);
CREATE INDEX expiry_by_time ON expiry (at);
"""
FROM_1: Final = """
ALTER TABLE history ADD COLUMN sum INTEGER;
ALTER TABLE meta ADD COLUMN unsealed INTEGER NOT NULL DEFAULT 0;
UPDATE meta SET unsealed = ifnull((SELECT max(rev) FROM history), 0);
"""
_STEPS: Final = {1: FROM_1 + EXPIRY, 2: EXPIRY}

MARKS: Final = ("application_id", "user_version")
"""Fields of a file's header for its program and format."""

HEAD: Final = (
    "SELECT compacted, max(1, compacted, ifnull((SELECT max(rev) FROM history), 0)) AS head, unsealed FROM meta"
)


def prepare(connection: sqlite3.Connection, vocabulary: str, *, any_vocabulary: bool = False) -> str:
    """Create the tables in an empty file, or upgrade older ones; returns the reason against it, or "".

    A file of another program or (unless any will do) of another `vocabulary` is left as it is.
    """
    (application,) = connection.execute("PRAGMA application_id").fetchone()
    if application == APPLICATION_ID:
        return _recognise(connection, "" if any_vocabulary else vocabulary)
    if application or connection.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]:
        return "is another program's database; use another --data-dir"
    _create(connection, vocabulary)
    return ""


def is_known(connection: sqlite3.Connection) -> bool:
    """Report whether the header says that the file is a store, of a format that this version reads."""
    application, version = (connection.execute(f"PRAGMA {name}").fetchone()[0] for name in MARKS)
    return application == APPLICATION_ID and (version == FORMAT or version in _STEPS)


def unlike(connection: sqlite3.Connection) -> str:
    """Return why a file is not a store of the present format, or ""; changes nothing."""
    application, version = (connection.execute(f"PRAGMA {name}").fetchone()[0] for name in MARKS)
    if application != APPLICATION_ID:
        return "is not an orchtw store"
    if version in _STEPS:
        return f"has format {version}, this version reads {FORMAT}; a server's start brings it up to date"
    return "" if version == FORMAT else f"has format {version}, this version reads {FORMAT}"


def made_for(connection: sqlite3.Connection) -> str:
    """Return the vocabulary of a prepared file."""
    return str(connection.execute("SELECT vocabulary FROM meta").fetchone()[0])


def _recognise(connection: sqlite3.Connection, vocabulary: str) -> str:
    (version,) = connection.execute("PRAGMA user_version").fetchone()
    if version != FORMAT and version not in _STEPS:
        return f"has format {version}, this version reads {FORMAT}; use another --data-dir"
    own, *marks = connection.execute("SELECT vocabulary, compacted, swept FROM meta").fetchone() or ("",)
    if own not in VOCABULARIES or not all(isinstance(mark, int) for mark in marks):
        return f"damaged: it does not record its vocabulary and revisions; {RESTORE}"
    if vocabulary and own != vocabulary:
        return f"was made with --vocabulary {own}; start with that, or use another --data-dir"
    if version != FORMAT:
        _all_or_nothing(connection, _STEPS[version])
    return ""


def _create(connection: sqlite3.Connection, vocabulary: str) -> None:
    connection.execute(f"PRAGMA page_size = {PAGE_BYTES}")
    connection.execute("PRAGMA auto_vacuum = INCREMENTAL")
    connection.execute("PRAGMA journal_mode = WAL")
    script = f"{META}{HISTORY}{INDEX}{EXPIRY}PRAGMA application_id = {APPLICATION_ID};\n"
    _all_or_nothing(connection, script, ("INSERT INTO meta VALUES (1, ?, 0, 0, NULL, 0)", vocabulary))


def _all_or_nothing(connection: sqlite3.Connection, script: str, *rows: tuple[str, object]) -> None:
    """Run `script`, insert `rows` and set the format in one transaction: the header's marks are part of it.

    Each of `rows` is a statement and the value of its one parameter: no value may become part of a script.
    """
    connection.execute("BEGIN IMMEDIATE")
    for statement in script.strip().split(";\n"):
        connection.execute(statement.rstrip(";"))
    for statement, value in rows:
        connection.execute(statement, (value,))
    connection.execute(f"PRAGMA user_version = {FORMAT}")
    connection.execute("COMMIT")
