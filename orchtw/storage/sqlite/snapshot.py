"""Read-only snapshot of a store's file, taken from outside, even while a server works on it.

It does not block a server's writers: their writes go into the log, which grows until the snapshot is closed.
"""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterator, Mapping
from pathlib import Path

import msgspec

from orchtw.errors import ConfigError
from orchtw.storage.sqlite import schema
from orchtw.storage.sqlite.checksum import is_written
from orchtw.storage.sqlite.connection import connect
from orchtw.storage.sqlite.definitions import foreign
from orchtw.storage.sqlite.errors import RESTORE, is_damage, sentence
from orchtw.storage.sqlite.expiry import ends_of_all
from orchtw.storage.store import Damaged, KeyValue

KEYS = "SELECT key, max(rev), created FROM history INDEXED BY history_by_key GROUP BY key ORDER BY key"
ROW = "SELECT rev, CAST(key AS BLOB), created, prev, value, sum FROM history WHERE rev = ?"
BUSY_S = 5.0


class Sizes(msgspec.Struct, frozen=True, kw_only=True):
    """Bytes of the file, of its free pages and of the log beside it; and the number of states, old ones included."""

    file: int
    free: int
    log: int
    states: int


class Snapshot:
    """State of a store at the time of opening, until `close`.

    Raises ConfigError with one line for a file that is missing, is not a store, or is of another format.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._connection = open_readable(path)
        try:
            self._connection.execute("BEGIN")
            self.compacted, self.revision, self._unsealed = self._connection.execute(schema.HEAD).fetchone()
            self.vocabulary = schema.made_for(self._connection)
        except (sqlite3.Error, TypeError) as error:
            self.close()
            why = sentence(error) if isinstance(error, sqlite3.Error) else f"damaged: it has no head; {RESTORE}"
            raise ConfigError(f"{path}: {why}") from None

    def close(self) -> None:
        """Close the snapshot, so that the log can be cut back again."""
        self._connection.close()

    @property
    def connection(self) -> sqlite3.Connection:
        """Connection for checks of the file itself."""
        return self._connection

    def live(self) -> Iterator[KeyValue | Damaged]:
        """Yield every live key in order. Raises sqlite3.Error when the keys cannot be read."""
        for key, revision, created in self._connection.execute(KEYS).fetchall():
            if created:
                yield self._read(key, revision)

    def count(self) -> int:
        """Return the number of live keys. Raises sqlite3.Error when the keys cannot be read."""
        (count,) = self._connection.execute(f"SELECT count(*) FROM ({KEYS}) WHERE created > 0").fetchone()
        return int(count)

    def ends(self) -> Mapping[int, int]:
        """Return the ends of expiring values, in milliseconds since the epoch, by the revision of their write."""
        return ends_of_all(self._connection)

    def sizes(self) -> Sizes:
        """Return the sizes of the file."""
        names = ("page_count", "freelist_count", "page_size")
        pages, free, page = (self._connection.execute(f"PRAGMA {name}").fetchone()[0] for name in names)
        (states,) = self._connection.execute("SELECT count(*) FROM history").fetchone()
        log = Path(f"{os.path.realpath(self.path)}-wal")
        return Sizes(
            file=pages * page, free=free * page, log=log.stat().st_size if log.exists() else 0, states=states
        )

    def _read(self, key: str, revision: int) -> KeyValue | Damaged:
        try:
            row = self._connection.execute(ROW, (revision,)).fetchone()
        except sqlite3.DatabaseError as error:
            if not is_damage(error):
                raise
            return Damaged(key, revision)
        try:
            found, own, created, previous, value, total = row
            sound = own.decode() == key and is_written(total, self._unsealed, found, key, created, previous, value)
        except (AttributeError, TypeError, ValueError):
            return Damaged(key, revision)
        return KeyValue(key, value, revision, created) if sound and value is not None else Damaged(key, revision)


def open_readable(path: Path) -> sqlite3.Connection:
    """Return a connection that cannot write to the store at `path`. Raises ConfigError where there is none."""
    try:
        os.stat(path)  # opening and closing it would end the locks that this process may have on it
    except OSError as error:
        raise ConfigError(f"{path}: {error.strerror}") from None
    connection = None
    try:
        connection = connect(path, timeout_s=BUSY_S, read_only=True)
        refusal = schema.unlike(connection)
        if not refusal and (why := foreign(connection)):
            refusal = f"is not an orchtw store: {why}"
    except sqlite3.Error as error:
        refusal = sentence(error)
    if refusal or connection is None:
        if connection is not None:
            connection.close()
        raise ConfigError(f"{path}: {refusal}")
    return connection
