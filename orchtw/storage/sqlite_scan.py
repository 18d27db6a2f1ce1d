"""Reading everything below a prefix, for those who keep all of it: several reads are under way at a time.

The index is read in spans of many keys, and their values in chunks of some MiB, all at one revision.
"""

from __future__ import annotations

from collections import deque
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from functools import partial
from typing import Any, Final

import attrs
import orjson
from twisted.internet.defer import Deferred

from orchtw import errors
from orchtw.storage import sqlite_reader as reader
from orchtw.storage.interface import Damaged, Page

SPAN_KEYS: Final = 20_000
AHEAD: Final = 2  # chunks that are being read while one is taken in: one for each thread

Ask = Callable[[Callable[[reader.Connection], Any]], Deferred[Any]]
"""Runs a query in a thread."""


@attrs.frozen(slots=True)
class Span:
    """A part of the index: revisions with their keys, cut to chunks; `after` is where the next one begins, or ""."""

    chunks: Sequence[Mapping[int, str]]
    revision: int
    after: str


def span(connection: reader.Connection, prefix: str, revision: int, start: str) -> Span:
    """The keys below `prefix` from `start` on, as of `revision` (0: the latest). Raises as `Store.list` does."""
    compacted, head = reader.read_head(connection)
    reader.check_revision(revision, compacted, head)
    revision = revision or head
    parameters = (max(prefix, start), reader.prefix_end(prefix), revision, SPAN_KEYS)
    *columns, compacted = connection.execute(reader.LIST, parameters).fetchone()
    if compacted > revision:
        raise errors.Expired.list()
    revisions, sizes, keys = map(orjson.loads, columns)
    key_of = dict(zip(revisions, keys, strict=True))
    found = [{number: key_of[number] for number in chunk} for chunk in reader.chunks(revisions, sizes)]
    return Span(found, revision, keys[-1] + "\0" if len(keys) == SPAN_KEYS else "")


def page(connection: reader.Connection, keys: Mapping[int, str], revision: int) -> Page:
    """The values of a chunk."""
    rows = reader.all_rows(connection, keys, revision)
    items = [rows.sound[number] for number in keys if number in rows.sound]
    damaged = [Damaged(keys[number], number) for number in keys if number in rows.damaged]
    return Page(items, revision, damaged=damaged)


def count(connection: reader.Connection, prefix: str, revision: int) -> int:
    """How many keys there are below `prefix`."""
    (found,) = connection.execute(reader.COUNT, (prefix, reader.prefix_end(prefix), revision)).fetchone()
    return int(found)


async def pages(ask: Ask, prefix: str, revision: int) -> AsyncIterator[Page]:
    """See `Store.scan`."""
    found: Span = await ask(partial(span, prefix=prefix, revision=revision, start=""))
    reading = _Reading(ask, prefix, found.revision)
    if not found.after:
        reading.left = sum(map(len, found.chunks))
    try:
        while True:
            following = reading.span(found.after) if found.after else None
            for keys in found.chunks:
                reading.begin(keys)
                if len(reading.waiting) > AHEAD:
                    yield await reading.next()
            if following is None:
                break
            found = await following
        while reading.waiting:
            yield await reading.next()
        if not reading.pages:
            yield Page([], reading.revision)
    finally:
        reading.leave()


class _Reading:
    """What is being read at one revision."""

    def __init__(self, ask: Ask, prefix: str, revision: int) -> None:
        self.revision = revision
        self.waiting: deque[tuple[int, Deferred[Page]]] = deque()
        self.pages = 0
        self._ask = ask
        self._prefix = prefix
        self.left = 0
        self._following: Deferred[Span] | None = None
        self._counting: Deferred[None] | None = None

    def span(self, start: str) -> Deferred[Span]:
        """The next part of the index. How much there is in all is asked for as well, unless that is known."""
        if self._counting is None:
            self._counting = self._ask(partial(count, prefix=self._prefix, revision=self.revision))
            self._counting.addCallbacks(self._counted, lambda _failure: None)
        self._following = self._ask(partial(span, prefix=self._prefix, revision=self.revision, start=start))
        return self._following

    def _counted(self, found: int) -> None:
        self.left += found

    def begin(self, keys: Mapping[int, str]) -> None:
        """Have the values of a chunk read."""
        self.waiting.append((len(keys), self._ask(partial(page, keys=keys, revision=self.revision))))

    async def next(self) -> Page:
        """The chunk that was begun first; `remaining` is 0 where that is not known yet."""
        size, reading = self.waiting.popleft()
        found = await reading
        self.pages += 1
        self.left -= size
        return attrs.evolve(found, remaining=max(self.left, 0))

    def leave(self) -> None:
        """Nobody waits any more."""
        for asked in (self._following, *(reading for _, reading in self.waiting)):
            if asked is not None:
                asked.addErrback(lambda _failure: None)
