"""Checkpoints beside the writer: a thread copies the pages of the log into the file and waits for the disk.

A log can restart once all of it has been copied. While writes go on there is always a rest: the writer copies it
itself, after a pass that left little. So the log stays bounded, and no write waits for the bulk. Durability is the
log's: a checkpoint changes where a committed page lies, not whether it is there.
"""

from __future__ import annotations

import queue
import sqlite3
import threading
import time
from collections.abc import Callable

from twisted.logger import Logger

from orchtw.metrics.series import Histogram
from orchtw.storage.sqlite.errors import sentence
from orchtw.storage.sqlite.measured import Measured

PASS_PAGES = 2000  # written, at most, before a pass begins: 16 MiB, typically half of that
REST_PAGES = 250  # what the writer copies itself: about 2 ms
ROUNDS = 4  # of a pass, before the writer takes over the rest, however large: writers as fast as the disk leave much
PASS_S = 10.0  # what nobody waits longer for


class Checkpoints:
    """Thread of checkpoints, and the writer's count of written pages.

    `open_connection` is called in the thread; `took` measures its passes. Without a connection there is no thread
    after all: then the writer's own checkpoints bound the log.
    """

    _log = Logger()

    def __init__(self, open_connection: Callable[[], sqlite3.Connection], took: Histogram | None = None) -> None:
        self._took = took or Measured().checkpoints
        self._open = open_connection
        self._asked: queue.SimpleQueue[bool] = queue.SimpleQueue()
        self._thread = threading.Thread(target=self._run, name="store-checkpoint", daemon=True)
        self._written = 0
        self._idle = threading.Event()
        self._rest = False

    # In the writer thread

    def start(self) -> None:
        """Start the thread of checkpoints."""
        self._thread.start()

    def stop(self) -> None:
        """End the thread, which closes its connection; a pass that is under way ends first."""
        if self._thread.ident is not None:
            self._asked.put(False)
            self._thread.join()

    def wait(self) -> None:
        """Wait until no pass is under way."""
        if self._thread.is_alive():
            self._idle.wait(PASS_S)

    def settled(self) -> bool:
        """Report whether little is left to copy, which the writer does; else ask for a pass."""
        if self._thread.is_alive() and (self._written > REST_PAGES or not self._idle.is_set()):
            self._ask()
            return False
        self._written = 0
        return True

    def wrote(self, connection: sqlite3.Connection, pages: int) -> None:
        """Count pages, at most so many, written to the log; copy the rest of a pass, if there is one."""
        self._written += pages
        if self._rest:
            self._rest = False
            try:
                copy(connection)
            except sqlite3.Error as exc:
                self._failed(exc)
        elif self._written >= PASS_PAGES:
            self._ask()

    def _ask(self) -> None:
        if self._idle.is_set():
            self._idle.clear()
            self._written = 0
            self._asked.put(True)

    # In its own thread

    def _run(self) -> None:
        try:
            connection = self._open()
        except sqlite3.Error as exc:
            self._failed(exc)
            return
        try:
            self._idle.set()
            while self._asked.get():
                self._pass(connection)
        finally:
            connection.close()

    def _pass(self, connection: sqlite3.Connection) -> None:
        """Copy pages until those that came meanwhile are few."""
        behind, began = 0, time.perf_counter()
        try:
            for _ in range(ROUNDS):
                log, copied = copy(connection)
                if log - behind <= REST_PAGES:
                    break
                behind = copied
            self._rest = True
        except sqlite3.Error as exc:
            self._failed(exc)
        finally:
            self._took.observe(time.perf_counter() - began)
            self._idle.set()

    def _failed(self, exc: sqlite3.Error) -> None:
        self._log.error("failed to checkpoint the store's write-ahead log: {why}", why=sentence(exc))


def copy(connection: sqlite3.Connection) -> tuple[int, int]:
    """Copy the pages of the log that no reader needs; returns the numbers of its pages and of copied ones."""
    _, log, copied = connection.execute("PRAGMA wal_checkpoint(PASSIVE)").fetchone()
    return log, copied
