"""`orch-store compact`: drops a store's history and returns its free pages (STORE-19)."""

from __future__ import annotations

import sqlite3
from pathlib import Path
from typing import Final

from twisted.internet.defer import Deferred

from orchtw.errors import ConfigError
from orchtw.logs.progress import Progress
from orchtw.storage.sqlite.compaction import Compaction
from orchtw.storage.sqlite.errors import sentence
from orchtw.storage.sqlite.file import StoreFile
from orchtw.storage.sqlite.schema import HEAD

INSTRUCTIONS: Final = 100_000
"""Instructions of SQLite's virtual machine between two refreshes: some milliseconds."""


def compact(path: Path, vocabulary: str) -> tuple[int, int]:
    """Compact the file; returns its size in bytes before and after. Raises ConfigError."""
    before = path.stat().st_size
    file = StoreFile(path=str(path), vocabulary=vocabulary)
    connection = file.open()
    try:
        _forget(connection)
        connection.execute("PRAGMA auto_vacuum = INCREMENTAL")
        _vacuum(connection)
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
    total = compaction.remaining
    with Progress("dropping the history", total, unit="revisions") as progress:
        while compaction.pending:
            compaction.slice(Compaction.most)
            progress.reach(total - compaction.remaining)


def _vacuum(connection: sqlite3.Connection) -> None:
    """Return the free pages; SQLite does not tell how much is left, and nothing of its last and longest step."""
    with Progress("returning free space") as progress:
        connection.set_progress_handler(lambda: progress.advance(0), INSTRUCTIONS)
        try:
            connection.execute("VACUUM")
        finally:
            connection.set_progress_handler(None, 0)
