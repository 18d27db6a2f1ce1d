"""Check of all values of a store against their checksums: the whole file and its history, in use or not."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator

from orchtw.storage.sqlite import schema, verify
from orchtw.storage.sqlite.connection import connect
from orchtw.storage.sqlite.definitions import foreign, odd_rows
from orchtw.storage.sqlite.errors import sentence


def findings(path: str) -> Iterator[str]:
    """Yield the faults of the store in the file at `path`, a line each."""
    try:
        connection = connect(path, read_only=True)
        try:
            yield from _findings(connection)
        finally:
            connection.close()
    except sqlite3.Error as error:
        yield sentence(error)


def _findings(connection: sqlite3.Connection) -> Iterator[str]:
    marks = [connection.execute(f"PRAGMA {name}").fetchone()[0] for name in ("application_id", "user_version")]
    if marks != [schema.APPLICATION_ID, schema.FORMAT]:
        yield f"is not an orchtw store of format {schema.FORMAT}; a server converts a store of format 1 at startup"
        return
    if why := foreign(connection):
        yield f"is not an orchtw store: {why}"
        return
    damage = verify.structure(connection)
    if damage:
        yield f"damaged: {damage}"
    yield from (f"damaged: {each}" for each in odd_rows(connection))
    if connection.execute("SELECT count(*) FROM meta").fetchone() != (1,):
        return
    for revision, key in verify.damaged_rows(connection):
        yield f"{key} at {revision}: the stored value is damaged"
    for revision in verify.misplaced(connection):
        yield f"revision {revision}: differs between the index and the table"
    (unsealed,) = connection.execute("SELECT unsealed FROM meta").fetchone()
    if unsealed:
        yield f"values up to revision {unsealed} have no checksums yet; they get them while a server runs"
