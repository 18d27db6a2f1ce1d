"""Reading the SQLite store: the queries, and the threads that run them.

Each SQL step gives up and takes back the interpreter lock, which costs a context switch under load. So
a query answers with one row into which SQLite has packed many: numbers as JSON arrays, values as one blob.
A read runs at a fixed revision, so that a long one can be several short transactions (PITFALLS 24).
"""

from __future__ import annotations

import queue
import sqlite3
import threading
from collections.abc import Callable, Sequence
from typing import TypeVar

import orjson
from twisted.internet.defer import Deferred
from twisted.internet.interfaces import IReactorFromThreads

from orchtw import errors
from orchtw.storage.interface import Change, KeyValue, Page
from orchtw.storage.sqlite_file import HEAD, StoreFile

T = TypeVar("T")
Connection = sqlite3.Connection
Revisions = Sequence[int]

CHUNK_BYTES = 2 << 20  # of values read in one transaction
CHUNK_ROWS = 1000
CHUNK_KEYS = 10_000
MAX_QUEUED_READS = 10_000
LATEST = (1 << 63) - 1  # SQLite's largest integer

GET = f"""
SELECT m.compacted, m.head, h.rev, h.created, h.value FROM ({HEAD}) m LEFT JOIN history h
ON h.rev = (SELECT rev FROM history WHERE key = ?1 AND rev <= ?2 ORDER BY rev DESC LIMIT 1)
"""

# `created` and `size` are those of the row with max(rev): SQLite's documented rule for bare columns.
LIVE = """
SELECT * FROM (
    SELECT key, max(rev) AS rev, created, size FROM history INDEXED BY history_by_key
    WHERE key >= ?1 AND key < ?2 AND rev <= ?3 GROUP BY key
) WHERE created > 0
"""
LIST = f"""
SELECT json_group_array(rev), json_group_array(size), (SELECT compacted FROM meta), max(key)
FROM ({LIVE} LIMIT ?4)
"""
COUNT = f"SELECT count(*) FROM ({LIVE})"

ROWS = """
SELECT json_group_array(h.rev), json_group_array(h.key), json_group_array(h.created), json_group_array(h.size),
    CAST(group_concat(h.value, '') AS BLOB)
FROM json_each(?1) wanted CROSS JOIN history h ON h.rev = wanted.value
"""
SINCE = """
SELECT json_group_array(rev), json_group_array(prev), json_group_array(cost), (SELECT compacted FROM meta) FROM (
    SELECT h.rev, h.prev, h.size + ifnull(p.size, 0) AS cost FROM history h LEFT JOIN history p ON p.rev = h.prev
    WHERE h.rev > ?1 AND h.rev <= ?2 ORDER BY h.rev LIMIT ?3
)
"""


def read_rows(connection: sqlite3.Connection, revisions: Revisions) -> list[KeyValue]:
    """The writes of `revisions`, in that order; those compacted meanwhile are missing.

    A tombstone comes as an empty value with `create_revision` 0.
    """
    if not revisions:
        return []
    row = connection.execute(ROWS, (orjson.dumps(revisions).decode(),)).fetchone()
    found, keys, created, sizes = map(orjson.loads, row[:4])
    blob = row[4] or b""
    items = []
    offset = 0
    for revision, key, create_revision, size in zip(found, keys, created, sizes, strict=True):
        items.append(KeyValue(key, blob[offset : offset + size], revision, create_revision))
        offset += size
    return items


def read_head(connection: sqlite3.Connection) -> tuple[int, int]:
    """(compacted, current) revision."""
    compacted, head = connection.execute(HEAD).fetchone()
    return compacted, head


def get(connection: sqlite3.Connection, key: str, revision: int) -> KeyValue | None:
    """See `Store.get`."""
    row = connection.execute(GET, (key, min(revision, LATEST) or LATEST)).fetchone()
    compacted, head, found, created, value = row
    check_revision(revision, compacted, head)
    return KeyValue(key, value, found, created) if created else None


def check_revision(revision: int, compacted: int, head: int) -> None:
    """Raise unless the state of `revision` (0: the latest) is known."""
    if revision > head:
        raise errors.Timeout.future_version(revision, head)
    if revision and revision < compacted:
        raise errors.Expired.list()


def list_page(connection: sqlite3.Connection, prefix: str, revision: int, limit: int, start: str) -> Page:
    """See `Store.list`. A list of the latest state begins again if a compaction overtakes it."""
    while True:
        compacted, head = read_head(connection)
        check_revision(revision, compacted, head)
        try:
            return _list_at(connection, prefix, revision or head, limit, start)
        except errors.Expired:
            if revision:
                raise


def _list_at(connection: sqlite3.Connection, prefix: str, revision: int, limit: int, start: str) -> Page:
    first, after = max(prefix, start), prefix_end(prefix)
    items: list[KeyValue] = []
    while True:
        count = min(CHUNK_KEYS, limit - len(items)) if limit else CHUNK_KEYS
        row = connection.execute(LIST, (first, after, revision, count)).fetchone()
        if row[2] > revision:
            raise errors.Expired.list()
        revisions = orjson.loads(row[0])
        for chunk in _chunks(revisions, orjson.loads(row[1])):
            items += _all_rows(connection, chunk)
        if len(revisions) < count:
            return Page(items, revision)
        first = row[3] + "\0"
        if len(items) == limit:
            (remaining,) = connection.execute(COUNT, (first, after, revision)).fetchone()
            return Page(items, revision, remaining > 0, remaining)


def changes_since(connection: sqlite3.Connection, after: int, upto: int) -> list[Change]:
    """The first changes of those after `after` up to `upto`, as many as one chunk holds.

    Raises Expired (410) when `after` is compacted.
    """
    row = connection.execute(SINCE, (after, upto, CHUNK_ROWS)).fetchone()
    if row[3] > after:
        raise errors.Expired.watch(after, row[3])
    revisions, previous, costs = map(orjson.loads, row[:3])
    if not revisions:
        return []
    revisions = _chunks(revisions, costs)[0]
    replaced = [number for number in previous[: len(revisions)] if number]
    try:
        rows = {item.revision: item for item in _all_rows(connection, sorted({*revisions, *replaced}))}
    except errors.Expired as exc:
        raise errors.Expired.watch(after, read_head(connection)[0]) from exc
    return [
        Change(number, item.key, item.value if item.create_revision else None, rows[prev] if prev else None)
        for number, prev in zip(revisions, previous, strict=False)
        for item in (rows[number],)
    ]


def _all_rows(connection: sqlite3.Connection, revisions: Revisions) -> list[KeyValue]:
    """`read_rows`, but all or Expired: a compaction has overtaken this read."""
    rows = read_rows(connection, revisions)
    if len(rows) != len(revisions):
        raise errors.Expired.list()
    return rows


def _chunks(revisions: list[int], costs: list[int]) -> list[list[int]]:
    """Cut `revisions` into runs of about CHUNK_BYTES and at most CHUNK_ROWS, each with at least one."""
    out: list[list[int]] = []
    total = 0
    for revision, cost in zip(revisions, costs, strict=True):
        if not out or total + cost > CHUNK_BYTES or len(out[-1]) == CHUNK_ROWS:
            out.append([])
            total = 0
        out[-1].append(revision)
        total += cost
    return out


def prefix_end(prefix: str) -> str | bytes:
    """The smallest bound above every key that begins with `prefix`.

    The empty prefix has none among texts; an empty blob does, as SQLite orders every blob after every text.
    """
    while prefix:
        last = ord(prefix[-1]) + 1
        prefix = prefix[:-1]
        if last <= 0x10FFFF:
            return prefix + chr(0xE000 if last == 0xD800 else last)
    return b""


class Readers:
    """Threads, each with its own connection, that answer reads in turn; a long list holds up one of them."""

    def __init__(self, file: StoreFile, reactor: IReactorFromThreads, count: int) -> None:
        self._file = file
        self._reactor = reactor
        self._queue: queue.SimpleQueue[Callable[[sqlite3.Connection], None] | None] = queue.SimpleQueue()
        self._threads = [
            threading.Thread(target=self._run, name=f"store-read-{n}", daemon=True) for n in range(count)
        ]

    def start(self) -> None:
        """Begin the threads."""
        for thread in self._threads:
            thread.start()

    def stop(self) -> None:
        """Answer what is queued, then end; returns when the connections are closed."""
        for _ in self._threads:
            self._queue.put(None)
        for thread in self._threads:
            thread.join()

    def ask(self, work: Callable[[sqlite3.Connection], T]) -> Deferred[T]:
        """The answer of `work`, run in one of the threads.

        Fails with TooManyRequests (429) when too much is queued and InternalError (500) on a disk error.
        """
        if self._queue.qsize() >= MAX_QUEUED_READS:
            raise errors.TooManyRequests("too many reads are waiting for the store", {"retryAfterSeconds": 1})
        waiting: Deferred[T] = Deferred()

        def run(connection: sqlite3.Connection) -> None:
            try:
                self._reactor.callFromThread(waiting.callback, work(connection))
            except sqlite3.Error as exc:
                failure = errors.InternalError.of(f"the store could not be read: {exc}")
                self._reactor.callFromThread(waiting.errback, failure)
            except Exception as exc:  # noqa: BLE001 - whoever waits must hear, and the thread goes on
                self._reactor.callFromThread(waiting.errback, exc)

        self._queue.put(run)
        return waiting

    def _run(self) -> None:
        connection = self._file.reader()
        try:
            while (work := self._queue.get()) is not None:
                work(connection)
        finally:
            connection.close()
