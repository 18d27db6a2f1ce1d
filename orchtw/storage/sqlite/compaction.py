"""Compaction of old states, in slices short enough not to delay writers noticeably.

The mark (`meta.compacted`) moves first, so readers see at once that older states are gone; then the rows written up
to it are walked, by revision, and those that each replaced are deleted, as are tombstones. `meta.swept` records the
progress, in the same transaction, so that a crash only pauses it.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from typing import Any

from twisted.internet.defer import Deferred
from twisted.logger import Logger

from orchtw import errors
from orchtw.storage.sqlite.errors import sentence

# A row that contradicts its index entry, or that a damaged one names as replaced, stays: deleting it would fail, or
# delete what is live. A tombstone stays while anything older of its key does, which would come back to life.
SWEEP = """
DELETE FROM history WHERE rev IN (
    SELECT p.rev FROM history h JOIN history p ON p.rev = h.prev
    WHERE h.rev > ?1 AND h.rev <= ?2 AND h.prev > 0 AND p.key = h.key AND p.rev < h.rev AND EXISTS (
        SELECT 1 FROM history x INDEXED BY history_by_key
        WHERE x.key = p.key AND x.rev = p.rev AND x.created = p.created AND x.size = p.size
    )
)
"""
FORGET = "DELETE FROM expiry WHERE rev IN (SELECT prev FROM history WHERE rev > ?1 AND rev <= ?2)"
BURY = """
DELETE FROM history WHERE rev IN (
    SELECT h.rev FROM history h WHERE h.rev > ?1 AND h.rev <= ?2 AND h.created = 0 AND h.value IS NULL
    AND h.rev = (SELECT min(rev) FROM history x INDEXED BY history_by_key WHERE x.key = h.key)
)
"""


class Compaction:
    """State of the sweep; a task of `Background`. `answer(waiting, result)` crosses to the reactor."""

    least, most = 32, 4096  # revisions a slice: deleting 32 rows of 6 KiB takes about 2 ms
    _log = Logger()

    def __init__(self, connection: sqlite3.Connection, answer: Callable[[Deferred[Any], object], None]) -> None:
        self._connection = connection
        self._answer = answer
        self._compacted: int
        self._swept: int
        self._compacted, self._swept = connection.execute("SELECT compacted, swept FROM meta").fetchone()
        self.pending = self._swept < self._compacted
        self._waiting: list[Deferred[None]] = []

    @property
    def remaining(self) -> int:
        """Return the number of revisions that are yet to be swept."""
        return self._compacted - self._swept

    def begin(self, revision: int, waiting: Deferred[None]) -> None:
        """Begin to make `revision` the oldest readable one; `waiting` is answered when the sweep is done."""
        self._waiting.append(waiting)
        if revision > self._compacted:
            try:
                self._connection.execute("UPDATE meta SET compacted = ?", (revision,))
            except sqlite3.Error as exc:
                self.give_up(exc)
                return
            self._compacted = revision
        self._finish_if_swept()

    def slice(self, revisions: int) -> None:
        """Compact so many revisions, as a `Task`."""
        upto = min(self._swept + revisions, self._compacted)
        execute = self._connection.execute
        execute("BEGIN IMMEDIATE")
        execute(FORGET, (self._swept, upto))
        execute(SWEEP, (self._swept, upto))
        execute(BURY, (self._swept, upto))
        execute("UPDATE meta SET swept = ?", (upto,))
        execute("COMMIT")
        self._swept = upto
        self._finish_if_swept()

    def give_up(self, exc: sqlite3.Error) -> None:
        """Fail the waiting callers, as `Task.give_up`; the next compaction continues."""
        why = sentence(exc)
        self._log.error("the store could not be compacted: {why}", why=why)
        self.pending = False
        self._tell(errors.InternalError.of(f"the store could not be compacted: {why}"))

    def abandon(self) -> None:
        """Fail the waiting callers as the store closes: the sweep continues at the next start."""
        self._tell(errors.ServiceUnavailable("the store was closed"))

    def _finish_if_swept(self) -> None:
        self.pending = self._swept < self._compacted
        if not self.pending:
            self._tell(None)

    def _tell(self, result: errors.StatusError | None) -> None:
        for waiting in self._waiting:
            self._answer(waiting, result)
        self._waiting = []
