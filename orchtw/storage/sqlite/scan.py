"""Full reads below a prefix, for the cache, with several concurrent queries.

The index is read in spans of many keys, and their values in chunks of some MiB, all at one revision. A scan of the
state at which the file was opened uses the index that the writer read then.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import deque
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from functools import partial
from itertools import accumulate, compress
from typing import Any, Final

import msgspec
from twisted.internet.defer import Deferred

from orchtw import errors
from orchtw.storage.compaction import check_revision
from orchtw.storage.sqlite import reader
from orchtw.storage.store import Damaged, Page, Wanted
from orchtw.wire.json_values import loads

SPAN_KEYS: Final = 20_000
AHEAD: Final = 2  # chunks that are being read while one is taken in: one for each thread

Ask = Callable[[Callable[[reader.Connection], Any]], Deferred[Any]]
"""Runs a query in a thread."""


class KeyIndex(msgspec.Struct, frozen=True):
    """Keys in order, as of `revision`, with the revisions of their writes and the sizes of their values."""

    revision: int
    keys: list[str]
    revisions: list[int]
    sizes: list[int]

    def below(self, prefix: str, start: str) -> range:
        """Return the positions of the keys below a prefix from `start` on."""
        end = reader.prefix_bound(prefix)
        after = bisect_left(self.keys, end) if isinstance(end, str) else len(self.keys)
        return range(bisect_left(self.keys, max(prefix, start)), after)

    def part(self, places: range) -> KeyIndex:
        """Return the entries at some positions."""
        found = slice(places.start, places.stop)
        return KeyIndex(self.revision, self.keys[found], self.revisions[found], self.sizes[found])

    def compressed(self, kept: list[bool]) -> KeyIndex:
        """Return the entries whose flag in `kept` is true."""
        keys, revisions = list(compress(self.keys, kept)), list(compress(self.revisions, kept))
        return KeyIndex(self.revision, keys, revisions, list(compress(self.sizes, kept)))

    def chunks(self) -> Iterator[KeyIndex]:
        """Yield runs of about CHUNK_BYTES and at most CHUNK_ROWS, each with at least one key."""
        ends = list(accumulate(self.sizes))
        start, before = 0, 0
        while start < len(ends):
            stop = min(bisect_right(ends, before + reader.CHUNK_BYTES, start), start + reader.CHUNK_ROWS)
            stop = max(stop, start + 1)
            yield self.part(range(start, stop))
            start, before = stop, ends[stop - 1]


class Span(msgspec.Struct, frozen=True):
    """Part of the index, cut into chunks, and the number of its keys that are not wanted.

    `after` is where the next one begins, or "".
    """

    chunks: Sequence[KeyIndex]
    revision: int
    after: str
    skipped: int


def whole(connection: reader.Connection, revision: int) -> KeyIndex:
    """Return the index of all keys as of `revision`, the latest one."""
    parts = [read(connection, "", revision, "")]
    while len(parts[-1].keys) == SPAN_KEYS:
        parts.append(read(connection, "", revision, parts[-1].keys[-1] + "\0"))
    keys, revisions, sizes = ([each for part in parts for each in getattr(part, name)] for name in _COLUMNS)
    return KeyIndex(revision, keys, revisions, sizes)


_COLUMNS: Final = ("keys", "revisions", "sizes")


def read(connection: reader.Connection, prefix: str, revision: int, start: str) -> KeyIndex:
    """Return SPAN_KEYS keys below `prefix` from `start` on, or all. Raises Expired (410) after a later compaction."""
    parameters = (max(prefix, start), reader.prefix_bound(prefix), revision, SPAN_KEYS)
    *columns, compacted = connection.execute(reader.LIST, parameters).fetchone()
    if compacted > revision:
        raise errors.Expired.list()
    revisions, sizes, keys = map(loads, columns)
    return KeyIndex(revision, keys, revisions, sizes)


def span(connection: reader.Connection, prefix: str, revision: int, start: str, wanted: Wanted) -> Span:
    """Return the keys below `prefix` from `start` on, as of `revision` (0: the latest). Raises as `Store.list`
    does.
    """
    compacted, head = reader.read_head(connection)
    check_revision(revision, compacted, head)
    return _cut(read(connection, prefix, revision or head, start), wanted)


def known_span(connection: reader.Connection, prefix: str, index: KeyIndex, start: str, wanted: Wanted) -> Span:
    """Return the same span from the known index."""
    return _cut(index.part(index.below(prefix, start)[:SPAN_KEYS]), wanted)


def _cut(part: KeyIndex, wanted: Wanted) -> Span:
    after, skipped = part.keys[-1] + "\0" if len(part.keys) == SPAN_KEYS else "", 0
    if wanted is not None:
        kept = list(map(wanted, part.keys))
        if skipped := kept.count(False):
            part = part.compressed(kept)
    return Span(list(part.chunks()), part.revision, after, skipped)


def page(connection: reader.Connection, chunk: KeyIndex) -> Page:
    """Return the values of a chunk."""
    sound = reader.read_together(connection, chunk.revisions, chunk.keys)
    if sound is not None:
        return Page(sound, chunk.revision)
    keys = dict(zip(chunk.revisions, chunk.keys, strict=True))
    rows = reader.all_rows(connection, keys, chunk.revision)
    items = [rows.sound[number] for number in keys if number in rows.sound]
    damaged = [Damaged(keys[number], number) for number in keys if number in rows.damaged]
    return Page(items, chunk.revision, damaged=damaged)


def count(connection: reader.Connection, prefix: str, revision: int) -> int:
    """Return the number of keys below `prefix`."""
    (found,) = connection.execute(reader.COUNT, (prefix, reader.prefix_bound(prefix), revision)).fetchone()
    return int(found)


async def pages(
    ask: Ask, prefix: str, revision: int, wanted: Wanted = None, index: KeyIndex | None = None
) -> AsyncIterator[Page]:
    """Yield pages, as `Store.scan`. An `index` is that of the requested revision."""
    reading = _Reading(ask, prefix, revision, wanted, index)
    try:
        found = await reading.span("")
        reading.begin(found)
        while True:
            following = reading.span(found.after) if found.after else None
            for chunk in found.chunks:
                reading.read(chunk)
                if len(reading.waiting) > AHEAD:
                    yield await reading.next()
            if following is None:
                break
            found = await following
            reading.left -= found.skipped
        while reading.waiting:
            yield await reading.next()
        if not reading.pages:
            yield Page([], reading.revision)
    finally:
        reading.leave()


class _Reading:
    """State of a scan at one revision; `left` keys follow, as far as known."""

    def __init__(self, ask: Ask, prefix: str, revision: int, wanted: Wanted, index: KeyIndex | None) -> None:
        self.revision = revision
        self.waiting: deque[tuple[int, Deferred[Page]]] = deque()
        self.pages = 0
        self.left = 0
        self._ask = ask
        self._prefix = prefix
        self._wanted = wanted
        self._index = index
        self._following: Deferred[Span] | None = None

    def span(self, start: str) -> Deferred[Span]:
        """Return a Deferred of the next part of the index."""
        prefix, index = self._prefix, self._index
        wanted = None if self._wanted is None else self._is_wanted
        if index is None:
            work = partial(span, prefix=prefix, revision=self.revision, start=start, wanted=wanted)
        else:
            work = partial(known_span, prefix=prefix, index=index, start=start, wanted=wanted)
        self._following = self._ask(work)
        return self._following

    def begin(self, first: Span) -> None:
        """Fix the revision to that of the first span, and count all keys if need be."""
        self.revision = first.revision
        self.left = -first.skipped
        if self._index is not None:
            self.left += len(self._index.below(self._prefix, ""))
        elif not first.after:
            self.left += first.skipped + sum(len(chunk.keys) for chunk in first.chunks)
        else:
            asked = self._ask(partial(count, prefix=self._prefix, revision=self.revision))
            asked.addCallbacks(self._counted, lambda _failure: None)

    def _counted(self, found: int) -> None:
        self.left += found

    def read(self, chunk: KeyIndex) -> None:
        """Begin to read the values of a chunk."""
        self.waiting.append((len(chunk.keys), self._ask(partial(page, chunk=chunk))))

    async def next(self) -> Page:
        """Return the page of the earliest chunk; `remaining` is 0 where that is not known yet."""
        size, reading = self.waiting.popleft()
        found = await reading
        self.pages += 1
        self.left -= size
        return msgspec.structs.replace(found, remaining=max(self.left, 0))

    def _is_wanted(self, key: str) -> bool:
        return self._wanted is not None and self._wanted(key)

    def leave(self) -> None:
        """Drop the results still to come, and the `wanted` test, which an idle thread would keep alive."""
        self._wanted = None
        for asked in (self._following, *(reading for _, reading in self.waiting)):
            if asked is not None:
                asked.addErrback(lambda _failure: None)
