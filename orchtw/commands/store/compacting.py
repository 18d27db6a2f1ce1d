"""`orch-store compact`: drops a store's history and returns its free pages (STORE-19)."""

from __future__ import annotations

import sqlite3
from pathlib import Path

from twisted.internet.defer import Deferred

from orchtw.errors import ConfigError
from orchtw.storage.sqlite.compaction import Compaction
from orchtw.storage.sqlite.errors import sentence
from orchtw.storage.sqlite.file import StoreFile
from orchtw.storage.sqlite.schema import HEAD


def compact(path: Path, vocabulary: str) -> tuple[int, int]:
    """Compact the file; returns its size in bytes before and after. Raises ConfigError."""
    before = path.stat().st_size
    file = StoreFile(path=str(path), vocabulary=vocabulary)
    connection = file.open()
    try:
        _forget(connection)
        connection.execute("PRAGMA auto_vacuum = INCREMENTAL")
        connection.execute("VACUUM")
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    except sqlite3.Error as error:
        if connection.in_transaction:
            connection.execute("ROLLBACK")
        raise ConfigError(f"{path}: not completely compacted, nothing is lost: {sentence(error)}") from None
    finally:
        connection.close()
        file.release()
    return before, path.stat().st_size


def _forget(connection: sqlite3.Connection) -> None:
    """Compact all revisions before the current one, resuming an interrupted compaction."""
    _, head, _ = connection.execute(HEAD).fetchone()
    swept: Deferred[None] = Deferred()
    compaction = Compaction(connection, lambda _waiting, _result: None)
    compaction.begin(head, swept)
    while compaction.pending:
        compaction.slice(Compaction.most)
