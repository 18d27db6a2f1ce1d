"""Reading the SQLite store: the queries, and the threads that run them.

Each SQL step gives up and takes back the interpreter lock, which costs a context switch under load. So
a query answers with one row into which SQLite has packed many: numbers as JSON arrays, values as one blob.
A read runs at a fixed revision, so that a long one can be several short transactions (reference STORE-7).
"""

from __future__ import annotations

import queue
import sqlite3
import threading
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Any, TypeVar

import msgspec
import orjson
from twisted.internet.defer import Deferred
from twisted.internet.interfaces import IReactorFromThreads

from orchtw import errors
from orchtw.storage.compaction import check_revision
from orchtw.storage.counts import Counts
from orchtw.storage.keys import prefix_end
from orchtw.storage.sqlite.checksum import all_written, is_written
from orchtw.storage.sqlite.errors import RESTORE, sentence
from orchtw.storage.sqlite.file import StoreFile
from orchtw.storage.sqlite.schema import HEAD
from orchtw.storage.store import Change, Damaged, KeyValue, Page
from orchtw.wire.json_values import loads

T = TypeVar("T")
Connection = sqlite3.Connection

CHUNK_BYTES = 2 << 20  # of values read in one transaction
CHUNK_ROWS = 1000
CHUNK_KEYS = 10_000
MAX_QUEUED_READS = 10_000
LATEST = (1 << 63) - 1  # SQLite's largest integer

GET = f"""
SELECT m.compacted, m.head, m.unsealed, i.rev, h.rev, h.created, h.prev, h.value, h.sum FROM ({HEAD}) m
LEFT JOIN (
    SELECT rev FROM history INDEXED BY history_by_key WHERE key = ?1 AND rev <= ?2 ORDER BY rev DESC LIMIT 1
) i LEFT JOIN history h ON h.rev = i.rev
"""

# `created` and `size` are those of the row with max(rev): SQLite's documented rule for bare columns.
LIVE = """
SELECT * FROM (
    SELECT key, max(rev) AS rev, created, size FROM history INDEXED BY history_by_key
    WHERE key >= ?1 AND key < ?2 AND rev <= ?3 GROUP BY key
) WHERE created > 0
"""
LIST = f"""
SELECT json_group_array(rev), json_group_array(size), json_group_array(key), (SELECT compacted FROM meta)
FROM ({LIVE} LIMIT ?4)
"""
COUNT = f"SELECT count(*) FROM ({LIVE})"

ROWS = """
SELECT json_group_array(h.rev), json_group_array(h.created), json_group_array(h.prev),
    json_group_array(length(h.value)), json_group_array(h.sum), CAST(group_concat(h.value, '') AS BLOB),
    (SELECT unsealed FROM meta)
FROM json_each(?1) wanted CROSS JOIN history h ON h.rev = wanted.value
"""
ROW = """
SELECT rev, created, prev, CAST(key AS BLOB), value, sum, (SELECT unsealed FROM meta) FROM history WHERE rev = ?
"""
SINCE = """
SELECT json_group_array(rev), json_group_array(prev), json_group_array(cost), json_group_array(key),
    (SELECT compacted FROM meta)
FROM (
    SELECT h.rev, h.prev, h.key, h.size + ifnull(p.size, 0) AS cost
    FROM history h LEFT JOIN history p ON p.rev = h.prev
    WHERE h.rev > ?1 AND h.rev <= ?2 ORDER BY h.rev LIMIT ?3
)
"""


class Rows(msgspec.Struct, frozen=True):
    """Rows by revision: those that match their checksums, and those that do not. Missing ones are in neither."""

    sound: dict[int, KeyValue]
    damaged: set[int]


def read_rows(connection: sqlite3.Connection, keys: Mapping[int, str]) -> Rows:
    """Return the writes of some revisions, given with their keys; those compacted meanwhile are missing.

    A tombstone comes as an empty value with `create_revision` 0. Raises InternalError (500) for a damaged index.
    """
    if not keys:
        return Rows({}, set())
    try:
        sound = _read_at_once(connection, keys)
    except (sqlite3.Error, ValueError, TypeError):
        sound = None
    return _read_singly(connection, keys) if sound is None else Rows({item.revision: item for item in sound}, set())


def read_together(connection: sqlite3.Connection, revisions: list[int], keys: list[str]) -> list[KeyValue] | None:
    """Return the writes of some revisions, in one step; None if one of them is missing or damaged."""
    try:
        found = _read_at_once(connection, dict(zip(revisions, keys, strict=True)))
    except (sqlite3.Error, ValueError, TypeError):
        return None
    return None if found is None or len(found) != len(keys) else found


def _read_at_once(connection: sqlite3.Connection, keys: Mapping[int, str]) -> list[KeyValue] | None:
    """Return all rows that are there in one step; None: at least one is damaged."""
    row = connection.execute(ROWS, (orjson.dumps(list(keys)).decode(),)).fetchone()
    blob, unsealed = row[5] or b"", row[6]
    revisions, created, previous, sizes, sums = map(loads, row[:5])
    names = list(map(keys.__getitem__, revisions))
    values: list[bytes | None] = []
    offset = 0
    for size in sizes:
        if size is None:
            values.append(None)
        else:
            values.append(blob[offset : offset + size])
            offset += size
    if not all_written(sums, unsealed, revisions, names, created, previous, values):
        return None
    return list(map(KeyValue, names, [value or b"" for value in values], revisions, created))


def _read_singly(connection: sqlite3.Connection, keys: Mapping[int, str]) -> Rows:
    rows = Rows({}, set())
    for revision, key in keys.items():
        try:
            row = connection.execute(ROW, (revision,)).fetchone()
            item = None if row is None else _sound(row, key)
        except (sqlite3.Error, AttributeError, TypeError, ValueError):
            rows.damaged.add(revision)
            continue
        if item is not None:
            rows.sound[revision] = item
        elif row is not None:
            rows.damaged.add(revision)
    return rows


def _sound(row: tuple[Any, ...], key: str) -> KeyValue | None:
    """Return the row if it is as written under `key`; None if it is damaged.

    Raises InternalError (500) if it was written under another key.
    """
    revision, created, previous, own, value, total, unsealed = row
    if is_written(total, unsealed, revision, key, created, previous, value):
        return KeyValue(key, value or b"", revision, created)
    own_key = own.decode()
    if is_written(total, unsealed, revision, own_key, created, previous, value):
        raise errors.InternalError.of(f"the store's index is damaged: it returns {own_key} for {key}; {RESTORE}")
    return None


def read_head(connection: sqlite3.Connection) -> tuple[int, int]:
    """Return the compacted and the current revision."""
    compacted, head, _ = connection.execute(HEAD).fetchone()
    return compacted, head


def get(connection: sqlite3.Connection, key: str, revision: int) -> KeyValue | None:
    """Implement `Store.get` for this store."""
    row = connection.execute(GET, (key, min(revision, LATEST) or LATEST)).fetchone()
    compacted, head, unsealed, wanted, found, created, previous, value, total = row
    check_revision(revision, compacted, head)
    if wanted is None:
        return None
    try:
        sound = found is not None and is_written(total, unsealed, found, key, created, previous, value)
    except (TypeError, ValueError):
        sound = False
    if not sound:
        raise errors.InternalError.damaged(key)
    return KeyValue(key, value, found, created) if created else None


def list_page(
    connection: sqlite3.Connection, prefix: str, revision: int, limit: int, start: str, counts: Counts
) -> Page:
    """Return a page, as `Store.list`. A list of the latest state begins again if a compaction overtakes it."""
    while True:
        compacted, head = read_head(connection)
        check_revision(revision, compacted, head)
        try:
            return _list_at(connection, prefix, revision or head, limit, start, counts)
        except errors.Expired:
            if revision:
                raise


def _list_at(
    connection: sqlite3.Connection, prefix: str, revision: int, limit: int, start: str, counts: Counts
) -> Page:
    first, after = max(prefix, start), prefix_bound(prefix)
    items: list[KeyValue] = []
    damaged: list[Damaged] = []
    known = counts.find((prefix, revision, first))
    while True:
        count = min(CHUNK_KEYS, limit - len(items)) if limit else CHUNK_KEYS
        *columns, compacted = connection.execute(LIST, (first, after, revision, count)).fetchone()
        if compacted > revision:
            raise errors.Expired.list()
        revisions, sizes, keys = map(loads, columns)
        key_of = dict(zip(revisions, keys, strict=True))
        for chunk in chunks(revisions, sizes):
            rows = all_rows(connection, {number: key_of[number] for number in chunk}, revision)
            items += [rows.sound[number] for number in chunk if number in rows.sound]
            damaged += [Damaged(key_of[number], number) for number in chunk if number in rows.damaged]
        if len(revisions) < count:
            return Page(items, revision, damaged=damaged)
        first = keys[-1] + "\0"
        if len(items) == limit:
            if known is None:
                (remaining,) = connection.execute(COUNT, (first, after, revision)).fetchone()
            else:
                remaining = known - len(items) - len(damaged)
            counts.keep(prefix, revision, keys, remaining)
            return Page(items, revision, remaining > 0, remaining, damaged)


def changes_since(connection: sqlite3.Connection, after: int, upto: int) -> list[Change]:
    """Return the first changes after `after` up to `upto`, as many as one chunk holds.

    Raises Expired (410) when `after` is compacted.
    """
    *columns, compacted = connection.execute(SINCE, (after, upto, CHUNK_ROWS)).fetchone()
    if compacted > after:
        raise errors.Expired.watch(after, compacted)
    revisions, previous, costs, keys = map(loads, columns)
    if not revisions:
        return []
    revisions = chunks(revisions, costs)[0]
    key_of = {number: key for number, key in zip(previous, keys, strict=True) if number}
    key_of |= zip(revisions, keys, strict=False)
    wanted = sorted({*revisions, *filter(None, previous[: len(revisions)])})
    try:
        rows = all_rows(connection, {number: key_of[number] for number in wanted}, after)
    except errors.Expired as exc:
        raise errors.Expired.watch(after, read_head(connection)[0]) from exc
    return [_change(rows, number, prev, key_of[number]) for number, prev in zip(revisions, previous, strict=False)]


def _change(rows: Rows, revision: int, previous: int, key: str) -> Change:
    """Return one write of the history. Raises InternalError (500) if it is damaged; what it replaced may be."""
    if revision not in rows.sound:
        raise errors.InternalError.damaged(key)
    item = rows.sound[revision]
    replaced = rows.sound.get(previous) or unreadable(key, previous) if previous else None
    return Change(revision, item.key, item.value if item.create_revision else None, replaced)


def unreadable(key: str, revision: int) -> KeyValue:
    """Return the stand-in for a damaged row."""
    return KeyValue(key, b"", revision, revision)


def all_rows(connection: sqlite3.Connection, keys: Mapping[int, str], revision: int) -> Rows:
    """Return the rows of a read at `revision`, as `read_rows`; a row missing then counts as damaged.

    Raises Expired (410) when a compaction has overtaken the read.
    """
    rows = read_rows(connection, keys)
    if len(rows.sound) + len(rows.damaged) != len(keys):
        if read_head(connection)[0] > revision:
            raise errors.Expired.list()
        rows.damaged.update(keys.keys() - rows.sound.keys())
    return rows


def chunks(revisions: list[int], costs: list[int]) -> list[list[int]]:
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


def prefix_bound(prefix: str) -> str | bytes:
    """Return the smallest bound above every key that begins with `prefix`.

    The empty prefix has none among texts; an empty blob does, as SQLite orders every blob after every text.
    """
    return prefix_end(prefix) or b""


def answer(work: Callable[[sqlite3.Connection], T], connection: sqlite3.Connection) -> T:
    """Return the result of `work`. Raises InternalError (500) for SQLite errors."""
    try:
        return work(connection)
    except sqlite3.Error as exc:
        raise errors.InternalError.of(f"the store could not be read: {sentence(exc)}") from exc


class Readers:
    """Threads, each with its own connection, that answer reads in turn; a long list occupies one of them."""

    def __init__(self, file: StoreFile, reactor: IReactorFromThreads, count: int) -> None:
        self._file = file
        self._reactor = reactor
        self._queue: queue.SimpleQueue[Callable[[sqlite3.Connection], None] | None] = queue.SimpleQueue()
        self._count = count
        self._threads: list[threading.Thread] = []

    def start(self) -> None:
        """Create and start the threads: those made before `twistd` forks would count as ended after it."""
        for number in range(self._count):
            thread = threading.Thread(target=self._run, name=f"store-read-{number}", daemon=True)
            self._threads.append(thread)
            thread.start()

    def stop(self) -> None:
        """Answer what is queued, then end; returns when the connections are closed."""
        for _ in self._threads:
            self._queue.put(None)
        for thread in self._threads:
            thread.join()

    def ask(self, work: Callable[[sqlite3.Connection], T]) -> Deferred[T]:
        """Return the result of `work`, run in one of the threads.

        Fails with TooManyRequests (429) when too much is queued and InternalError (500) on a disk error.
        """
        if self._queue.qsize() >= MAX_QUEUED_READS:
            raise errors.TooManyRequests("too many reads are waiting for the store", {"retryAfterSeconds": 1})
        waiting: Deferred[T] = Deferred()

        def run(connection: sqlite3.Connection) -> None:
            try:
                self._reactor.callFromThread(waiting.callback, answer(work, connection))
            except Exception as exc:  # noqa: BLE001 - the waiter must hear, and the thread goes on
                self._reactor.callFromThread(waiting.errback, exc)

        self._queue.put(run)
        return waiting

    def _run(self) -> None:
        connection = self._file.reader()
        with suppress(sqlite3.Error):  # the next reader hears of it
            read_head(connection)  # opens the log, which cannot be done any more once the file has been removed
        try:
            while (work := self._queue.get()) is not None:
                work(connection)
        finally:
            connection.close()
