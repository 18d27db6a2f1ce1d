"""Return of free pages to the file system, once most of the file is free.

Pages at the file's end move into free ones before it, a few at a time; the file gets shorter when the log is folded
into it. Ordinary amounts of free pages stay: the next writes use them.
"""

from __future__ import annotations

import sqlite3

from twisted.logger import Logger

from orchtw.storage.sqlite.errors import sentence

MOST = 2  # begin when more than one page in this many is free
SPARE = 8  # leave about one in this many free, for the writes to come
WORTH_PAGES = 128  # 1 MiB


class Shrinking:
    """Task of `Background` that shrinks the file; `look` decides if there is something to give back.

    With `whole` it begins by giving back every free page: those may hold content that was deleted before deleted
    content was overwritten (reference STORE-37).
    """

    least, most = 64, 1024  # pages a slice
    pending = False
    _log = Logger()

    def __init__(self, connection: sqlite3.Connection, *, whole: bool = False) -> None:
        self._connection = connection
        self._whole = whole and self._count()[1] > 0
        if self._whole and self._ask("auto_vacuum") == 0:
            self._whole = False
            self._log.warn("the store's file may hold deleted content in free pages: run orch-store compact once")
        self.look()
        self.pending = self.pending or self._whole

    def look(self) -> None:
        """Begin if most of the file is free. A file made without room for moving pages stays as large as it is."""
        pages, free = self._count()
        self.pending = free >= WORTH_PAGES and free * MOST > pages and self._ask("auto_vacuum") != 0

    def slice(self, pages: int) -> None:
        """Give back so many pages, as a `Task`."""
        _, before = self._count()
        self._connection.execute(f"PRAGMA incremental_vacuum({pages})").fetchall()
        total, free = self._count()
        self._whole = self._whole and 0 < free < before
        self.pending = self._whole or (free < before and free * SPARE > total)

    def give_up(self, exc: sqlite3.Error) -> None:
        """Give up after an error, as `Task.give_up`; the end of the next compaction looks again."""
        self.pending = False
        self._log.error("failed to shrink the store's file: {why}", why=sentence(exc))

    def _count(self) -> tuple[int, int]:
        return self._ask("page_count"), self._ask("freelist_count")

    def _ask(self, pragma: str) -> int:
        number: int = self._connection.execute(f"PRAGMA {pragma}").fetchone()[0]
        return number
