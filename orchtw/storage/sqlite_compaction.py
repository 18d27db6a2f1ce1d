"""Forgetting old states: in slices short enough that writers wait for none of them noticeably.

The mark (`meta.compacted`) moves first, so readers see at once that older states are gone; then the rows
written up to it are walked, by revision, and what each replaced is deleted, as are tombstones. `meta.swept`
says how far the walk came, in the same transaction, so that a crash only pauses it.
"""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Callable
from typing import Any

from twisted.internet.defer import Deferred
from twisted.logger import Logger

from orchtw import errors

SLICE_REVISIONS = 32  # to begin with: deleting that many rows of 6 KiB takes about 2 ms
MAX_SLICE_REVISIONS = 4096
SLICE_S = 0.002  # what a slice may take: slices grow where little is to delete and shrink where much is

SWEEP = """
DELETE FROM history WHERE rev IN (
    SELECT prev FROM history WHERE rev > ?1 AND rev <= ?2 AND prev > 0
    UNION ALL SELECT rev FROM history WHERE rev > ?1 AND rev <= ?2 AND created = 0
)
"""


class Compaction:
    """The sweep's state; lives in the writer thread. `answer(waiting, result)` crosses to the reactor.

    After each slice the writers have the thread for as long as the slice took (`now`, seconds), if they need it.
    """

    _log = Logger()

    def __init__(
        self,
        connection: sqlite3.Connection,
        answer: Callable[[Deferred[Any], object], None],
        now: Callable[[], float] = time.monotonic,
    ) -> None:
        self._connection = connection
        self._now = now
        self._pause_until = 0.0
        self._revisions = SLICE_REVISIONS
        self._answer = answer
        self._compacted, self._swept = connection.execute("SELECT compacted, swept FROM meta").fetchone()
        self._sweeping = self._swept < self._compacted
        self._truncating = False
        self._waiting: list[Deferred[None]] = []

    def begin(self, revision: int, waiting: Deferred[None]) -> None:
        """Make `revision` the oldest readable one; `waiting` hears when the sweep is done."""
        self._waiting.append(waiting)
        if revision > self._compacted:
            try:
                self._connection.execute("UPDATE meta SET compacted = ?", (revision,))
            except sqlite3.Error as exc:
                self._give_up(exc)
                return
            self._compacted = revision
        self._sweeping = self._swept < self._compacted
        self._finish_if_swept()

    def patience_s(self, idle_s: float) -> float | None:
        """How long the writer may wait for work: until the next slice, until idle, or for ever (None)."""
        if self._sweeping:
            return max(0.0, self._pause_until - self._now())
        return idle_s if self._truncating else None

    def advance(self, idle: bool) -> None:
        """Do one slice if there is one; else, if `idle` and swept, cut the log back to nothing."""
        try:
            if self._sweeping:
                began = self._now()
                if began >= self._pause_until:
                    self._slice()
                    self._pace(began, self._now())
            elif self._truncating and idle:
                busy, _, _ = self._connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
                self._truncating = bool(busy)
        except sqlite3.Error as exc:
            self._give_up(exc)

    def _pace(self, began: float, ended: float) -> None:
        self._pause_until = 2 * ended - began
        if ended - began > SLICE_S:
            self._revisions = max(SLICE_REVISIONS // 4, self._revisions // 2)
        else:
            self._revisions = min(MAX_SLICE_REVISIONS, self._revisions * 2)

    def abandon(self) -> None:
        """The store closes: the sweep goes on at the next start, those who wait are told so."""
        for waiting in self._waiting:
            self._answer(waiting, errors.ServiceUnavailable("the store was closed"))
        self._waiting = []

    def _slice(self) -> None:
        upto = min(self._swept + self._revisions, self._compacted)
        execute = self._connection.execute
        execute("BEGIN IMMEDIATE")
        execute(SWEEP, (self._swept, upto))
        execute("UPDATE meta SET swept = ?", (upto,))
        execute("COMMIT")
        self._swept = upto
        self._finish_if_swept()

    def _finish_if_swept(self) -> None:
        self._sweeping = self._swept < self._compacted
        if not self._sweeping:
            self._truncating = True
            for waiting in self._waiting:
                self._answer(waiting, None)
            self._waiting = []

    def _give_up(self, exc: sqlite3.Error) -> None:
        """The disk refuses: leave it to the next compaction."""
        self._log.error("the store could not be compacted: {why}", why=exc)
        if self._connection.in_transaction:
            self._connection.execute("ROLLBACK")
        self._sweeping = self._truncating = False
        for waiting in self._waiting:
            self._answer(waiting, errors.InternalError.of(f"the store could not be compacted: {exc}"))
        self._waiting = []
