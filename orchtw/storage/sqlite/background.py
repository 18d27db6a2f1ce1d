"""Background work of the writer thread between batches, in slices too short to delay a write noticeably.

After each slice the writers have the thread for as long as the slice took, if they need it.
"""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Callable
from typing import Any, Protocol

from twisted.internet.defer import Deferred

from orchtw.storage.sqlite.compaction import Compaction
from orchtw.storage.sqlite.measured import Measured
from orchtw.storage.sqlite.sealing import Sealing
from orchtw.storage.sqlite.shrink import Shrinking

SLICE_S = 0.002  # what a slice may take: slices grow where little is to do and shrink where much is

_OFF = 0  # SQLite's number for `PRAGMA synchronous = OFF`
PAGES_EACH = 2  # written for a revision, a row or a page of a slice: its own and one of an index


class Task(Protocol):
    """Work that can be cut into slices, each a transaction of its own."""

    least: int
    most: int
    pending: bool

    def slice(self, amount: int) -> None:
        """Do one slice, of an amount between `least` and `most`."""

    def give_up(self, exc: sqlite3.Error) -> None:
        """Give up after an error of the disk: stop being pending."""


class Background:
    """All background tasks, in order, in the writer thread. `now` in seconds, from any point on."""

    def __init__(
        self,
        connection: sqlite3.Connection,
        answer: Callable[[Deferred[Any], object], None],
        now: Callable[[], float] = time.monotonic,
        *,
        measured: Measured | None = None,
        erases: bool = False,
    ) -> None:
        self._connection = connection
        self._measured = measured or Measured()
        self._now = now
        self._pause_until = 0.0
        self._truncating = False
        self._durable = connection.execute("PRAGMA synchronous").fetchone() != (_OFF,)
        self.compaction = Compaction(connection, answer)
        self._shrinking = Shrinking(connection, whole=erases)
        self._tasks: tuple[Task, ...] = (self.compaction, Sealing(connection), self._shrinking)
        self._amounts: dict[Task, int] = {task: task.least for task in self._tasks}

    def compact(self, revision: int, waiting: Deferred[None]) -> None:
        """Begin a compaction, as `Compaction.begin`."""
        self.compaction.begin(revision, waiting)
        self._truncating = True

    def patience_s(self, idle_s: float) -> float | None:
        """Return how long the writer may wait for work: until the next slice, until idle, or for ever (None)."""
        if any(task.pending for task in self._tasks):
            return max(0.0, self._pause_until - self._now())
        return idle_s if self._truncating else None

    @property
    def tidies(self) -> bool:
        """Report whether the log is to be cut back once there is time for it."""
        return self._truncating and not any(task.pending for task in self._tasks)

    def advance(self, idle: bool) -> int:
        """Do one slice if there is one; else, if `idle`, cut the log back to nothing.

        Returns how many pages the slice has written, roughly.
        """
        task = next((task for task in self._tasks if task.pending), None)
        if task is None:
            if self._truncating and idle:
                self._truncate()
        elif (began := self._now()) >= self._pause_until:
            amount = self._amounts[task]
            self._slice(task)
            self._pace(task, began, self._now())
            return PAGES_EACH * amount
        return 0

    def _slice(self, task: Task) -> None:
        """Run a slice without waiting for the disk: one that a power cut undoes is done again.

        The next write waits for all that is before it in the log, so the order stays.
        """
        if not self._durable:
            self._try_slice(task)
            return
        self._connection.execute("PRAGMA synchronous = NORMAL")
        try:
            self._try_slice(task)
        finally:
            self._connection.execute("PRAGMA synchronous = FULL")

    def _try_slice(self, task: Task) -> None:
        try:
            task.slice(self._amounts[task])
            if not task.pending:
                self._ended(task)
        except sqlite3.Error as exc:
            if self._connection.in_transaction:
                self._connection.execute("ROLLBACK")
            task.give_up(exc)

    def _ended(self, task: Task) -> None:
        self._truncating = True
        if task is self.compaction:
            self._shrinking.look()

    def _pace(self, task: Task, began: float, ended: float) -> None:
        self._measured.slices.observe(ended - began)
        self._pause_until = 2 * ended - began
        if ended - began > SLICE_S:
            self._amounts[task] = max(task.least // 4, self._amounts[task] // 2)
        else:
            self._amounts[task] = min(task.most, self._amounts[task] * 2)

    def _truncate(self) -> None:
        """Fold the log into the file; after an error of the disk it is tried again after the next slice.

        It does not wait for readers: a backup may read for long, and writes would wait as well.
        """
        execute = self._connection.execute
        began = self._now()
        try:
            (patience_ms,) = execute("PRAGMA busy_timeout").fetchone()
            execute("PRAGMA busy_timeout = 0")
            try:
                busy, _, _ = execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
            finally:
                execute(f"PRAGMA busy_timeout = {patience_ms}")
            self._truncating = bool(busy)
            self._measured.cuts.observe(self._now() - began)
        except sqlite3.Error:
            self._truncating = False
