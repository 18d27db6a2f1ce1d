"""Reading of records: positions in the ring, which cost nothing however slow their reader is."""

from __future__ import annotations

from collections.abc import Generator, Sequence
from typing import Final

from orchtw.errors import Expired
from orchtw.history.query import RecordQuery
from orchtw.history.recorder import Recorder
from orchtw.history.rendering import record_line
from orchtw.history.ring import Record
from orchtw.registry.offload import Offload
from orchtw.responses.slices import in_turns

STRIDE: Final = 100
"""Records that are looked at in one step of a search."""

PART_RECORDS: Final = 16
PART_BYTES: Final = 32 * 1024
"""Limits of the records whose lines are made in one go: of their number, and of their values together."""


class RecordLines:
    """Lines of the records that a query wants, in order; a `TextParts`.

    A reader is a position in the ring. If the ring drops records before they have been read, the reader gets an
    error.
    """

    def __init__(self, recorder: Recorder, query: RecordQuery, offload: Offload) -> None:
        self._recorder = recorder
        self._query = query
        self._offload = offload
        self._position: int | None = None
        self._end: int | None = None  # None: records that are yet to come are wanted too

    async def next(self) -> bytes:
        """Return the next lines, empty at the end. Raises Expired (410) for a reader that is too slow."""
        turns = self._recorder.turns
        if self._position is None:
            self._position = await in_turns(turns, self._first())
        while True:
            records = await in_turns(turns, self._some())
            if records:
                size = sum(record.work_bytes() for record in records)
                lines = await self._offload.run(size, lambda found=records: self._text(found))  # type: ignore[misc]
                if lines:
                    return lines
            elif self._end is not None:
                return b""
            else:
                await self._recorder.more()

    def _first(self) -> Generator[None, None, int]:
        """Return the position to begin at. A revision before the record begins at its first write."""
        ring, query = self._recorder.ring, self._query
        self._end = None if query.follow else ring.end
        after = query.span.after
        if query.follow and after is None and query.span.from_s is None and query.limit is None:
            return ring.end
        start = ring.start if after is None else ring.after(after)
        if query.limit is None:
            return start
        position, left = ring.end, query.limit
        while left and position > max(start, ring.start):
            position -= 1
            left -= self._wants(ring.at(position))
            if position % STRIDE == 0:
                yield
        return max(position, ring.start)

    def _some(self) -> Generator[None, None, Sequence[Record]]:
        """Return the next wanted records, as many as make a part; empty: there are no further ones now."""
        ring, size = self._recorder.ring, 0
        found: list[Record] = []
        end = ring.end if self._end is None else self._end
        assert self._position is not None
        while self._position < end and len(found) < PART_RECORDS and size < PART_BYTES:
            if self._position < ring.start:
                raise Expired(
                    "the reader is too slow: records have been dropped before they were read, "
                    f"up to revision {ring.floor}"
                )
            record = ring.at(self._position)
            if self._query.span.past(record):
                self._position = end
                break
            self._position += 1
            if self._wants(record):
                found.append(record)
                size += record.work_bytes()
            if self._position % STRIDE == 0:
                yield
        return found

    def _wants(self, record: Record) -> bool:
        return self._query.filters.wants(record) and self._query.span.includes(record)

    def _text(self, records: Sequence[Record]) -> bytes:
        return b"".join(record_line(record, self._query) for record in records)
