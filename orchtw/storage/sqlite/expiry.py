"""Expiring values: their writes, times of expiry, and those that are due.

A row of `expiry` holds the time at which the write of its revision ends. It counts while that write is its key's
last one; the row of an overtaken write goes when it is due, or with the sweep that forgets the write.
"""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Callable, Sequence
from math import inf
from zlib import crc32

import msgspec
from twisted.logger import Logger

from orchtw.storage.sqlite.errors import sentence

AT_ONCE = 64  # they go into one batch with the writes that wait, which are answered a few milliseconds later
PAUSE_S = 1.0  # between looks, while less than AT_ONCE are due: so those that end in one second share a sync
RETRY_S = 30.0  # after the disk has refused

DUE = """
SELECT e.rev, e.at, e.sum, CAST(h.key AS BLOB) FROM expiry e LEFT JOIN history h ON h.rev = e.rev
WHERE e.at <= ? ORDER BY e.at LIMIT ?
"""
NEXT = "SELECT min(at) FROM expiry WHERE at > ?"


class Due(msgspec.Struct, frozen=True):
    """Revisions that are due, and the keys of those that may still be live."""

    revisions: list[int] = msgspec.field(default_factory=list)
    keys: dict[int, str] = msgspec.field(default_factory=dict)


NOTHING = Due()


class Expiry:
    """Expiring values, in the writer thread. `now` is in seconds since the epoch: ends must hold after a restart."""

    _log = Logger()

    def __init__(self, connection: sqlite3.Connection, now: Callable[[], float] = time.time) -> None:
        self._connection = connection
        self._now = now
        self._next_ms: float = self._first_after(-1)

    def patience_s(self) -> float:
        """Return the seconds until something may be due."""
        return max(0.0, self._next_ms / 1000 - self._now())

    def end_ms(self, ttl_s: float) -> int:
        """Return the end of a value written now, in milliseconds since the epoch."""
        return int((self._now() + ttl_s) * 1000)

    def due(self) -> Due:
        """Return what is due, AT_ONCE at most."""
        now_ms = int(self._now() * 1000)
        if now_ms < self._next_ms:
            return NOTHING
        try:
            rows = self._connection.execute(DUE, (now_ms, AT_ONCE)).fetchall()
            pause_ms = PAUSE_S * 1000 if len(rows) < AT_ONCE else 0
            self._next_ms = max(now_ms + pause_ms, self._first_after(now_ms) if pause_ms else 0)
        except sqlite3.Error as exc:
            self._log.error("failed to look for expired values: {why}", why=sentence(exc))
            self.later()
            return NOTHING
        return Due([row[0] for row in rows], {row[0]: key for row in rows if (key := _key(*row))})

    def later(self) -> None:
        """Note that due values could not be removed: they are due again in a while."""
        self._next_ms = (self._now() + RETRY_S) * 1000

    def write(self, ends: Sequence[tuple[int, int]], ended: Sequence[int]) -> None:
        """Inside a transaction: note (revision, end in milliseconds) of new writes, forget revisions that ended."""
        if ends:
            insert(self._connection, ends)
        if ended:
            self._connection.executemany("DELETE FROM expiry WHERE rev = ?", [(revision,) for revision in ended])

    def written(self, ends: Sequence[tuple[int, int]]) -> None:
        """Take note of committed ends."""
        for _, end_ms in ends:
            self._next_ms = min(self._next_ms, end_ms)

    def _first_after(self, now_ms: int) -> float:
        (first,) = self._connection.execute(NEXT, (now_ms,)).fetchone()
        return inf if first is None else first


def insert(connection: sqlite3.Connection, ends: Sequence[tuple[int, int]]) -> None:
    """Insert the ends of the writes of some revisions."""
    rows = [(revision, end_ms, _sum(revision, end_ms)) for revision, end_ms in ends]
    connection.executemany("INSERT INTO expiry VALUES (?, ?, ?)", rows)


def ends_of_all(connection: sqlite3.Connection) -> dict[int, int]:
    """Return the end of each expiring write, in milliseconds, without rows that fail their checksum."""
    rows = connection.execute("SELECT rev, at, sum FROM expiry")
    return {revision: end_ms for revision, end_ms, total in rows if total == _sum(revision, end_ms)}


def _key(revision: int, end_ms: int, total: int, key: bytes | None) -> str:
    """Return the key of a due write; "" if that is not certain, for then the value stays."""
    if key is None or total != _sum(revision, end_ms):
        return ""
    try:
        return key.decode()
    except ValueError:
        return ""


def _sum(revision: int, end_ms: int) -> int:
    return crc32(f"{revision} {end_ms}".encode())
