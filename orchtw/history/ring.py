"""Ring of recorded writes and faults, bounded in bytes: the oldest records make room for new ones."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Generator, Sequence
from operator import attrgetter
from typing import ClassVar, Final

import msgspec

from orchtw.errors import Expired
from orchtw.faults.struck import StruckFault
from orchtw.history.origin import WriteOrigin
from orchtw.history.resource import RecordedResource
from orchtw.memory.untracked import untrack

RECORD_BYTES: Final = 768
"""Memory of a record beside its values, key and texts, with some audit annotations (measured, rounded up)."""

STRIDE: Final = 1000
"""Records that are looked up in one step."""

_TRIM: Final = 1024  # places of dropped records that stay at the start of the list, which are cut off together

_place = attrgetter("place")


class RecordedWrite(msgspec.Struct, eq=False):
    """One write. `value` and `previous` are the stored values after and before it; None: there was no object.

    `time` is in seconds since the epoch. `unreadable` is the reason why the value cannot be read, if it cannot.
    `successor` is the next write of the object, if that shares `value` with this one as its `previous`.
    """

    revision: int
    time: float
    key: str
    resource: RecordedResource
    value: bytes | None
    previous: bytes | None
    previous_revision: int
    origin: WriteOrigin
    unreadable: str = ""
    cost: int = 0
    successor: RecordedWrite | None = None

    @property
    def place(self) -> tuple[int, bool]:
        """Return its place in the order of records: faults at a revision follow the write at it."""
        return self.revision, False

    @property
    def type(self) -> str:
        """Return `ADDED`, `MODIFIED` or `DELETED`, as a watch of everything would."""
        if self.value is None:
            return "DELETED"
        return "ADDED" if self.previous is None else "MODIFIED"

    def work_bytes(self) -> int:
        """Return the bytes to decode for the record's changes."""
        return len(self.value or b"") + len(self.previous or b"")


class RecordedFault(msgspec.Struct, eq=False):
    """One fault that struck when `revision` was the latest. `kind` is that of the object, as far as it is known."""

    revision: int
    time: float
    fault: StruckFault
    kind: str
    cost: int = 0
    type: ClassVar[str] = "FAULT"

    @property
    def place(self) -> tuple[int, bool]:
        """Return its place in the order of records, as `RecordedWrite.place`."""
        return self.revision, True

    def work_bytes(self) -> int:
        """Return 0: nothing has to be decoded."""
        return 0


Record = RecordedWrite | RecordedFault


class Ring:
    """Records in the order of their revisions, numbered from 0 on; at least the latest one is kept.

    Every write after revision `floor` is there. Bytes that two records share are counted once.
    """

    def __init__(self, limit_bytes: int, floor: int = 0) -> None:
        self.floor = floor
        self.used_bytes = 0
        self._limit_bytes = limit_bytes
        self._records: list[Record | None] = []
        self._first = 0  # index of the oldest record that is kept
        self._cut = 0  # records that are no longer in the list
        self._latest: dict[str, RecordedWrite] = {}

    def __len__(self) -> int:
        return len(self._records) - self._first

    @property
    def start(self) -> int:
        """Number of the oldest record that is kept: so many have been dropped."""
        return self._cut + self._first

    @property
    def end(self) -> int:
        """Number of the next record."""
        return self._cut + len(self._records)

    def append(self, record: RecordedWrite) -> None:
        """Add a record, which must not be older than the others, and drop the oldest ones beyond the limit."""
        untrack(record)  # a search for reference cycles would look at each
        record.cost = RECORD_BYTES + len(record.key) + record.origin.characters() + len(record.value or b"")
        before = self._latest.get(record.key)
        if record.previous is not None and before is not None and before.value == record.previous:
            record.previous, before.successor = before.value, record
        else:
            record.cost += len(record.previous or b"")
        self._latest[record.key] = record
        self._put(record)

    def append_fault(self, record: RecordedFault) -> None:
        """Add a fault, as `append`."""
        untrack(record)
        record.cost = RECORD_BYTES + record.fault.characters()
        self._put(record)

    def _put(self, record: Record) -> None:
        self._records.append(record)
        self.used_bytes += record.cost
        while self.used_bytes > self._limit_bytes and len(self) > 1:
            self._drop()

    def at(self, number: int) -> Record:
        """Return a record that is kept. Raises IndexError for one that has been dropped or is yet to come."""
        if not self.start <= number < self.end:
            raise IndexError(number)
        record = self._records[number - self._cut]
        assert record is not None
        return record

    def after(self, revision: int) -> int:
        """Return the number of the first record after the write at a revision: faults at it may be later."""
        return self._cut + bisect_right(self._records, (revision, False), self._first, key=_place)

    def between(self, start: int, end: int) -> Generator[None, None, Sequence[RecordedWrite]]:
        """Return the writes among the records from one number up to another, in steps.

        Raises Expired (410) if some have been dropped, perhaps between two steps.
        """
        found: list[RecordedWrite] = []
        for at in range(start, end, STRIDE):
            if at < self.start:
                raise Expired(f"records have been dropped before they were read, up to revision {self.floor}")
            part = self._records[at - self._cut : min(at + STRIDE, end) - self._cut]
            found += [record for record in part if type(record) is RecordedWrite]
            yield
        return found

    def _drop(self) -> None:
        record = self._records[self._first]
        assert record is not None
        self._records[self._first] = None
        self._first += 1
        self.floor = record.revision
        self.used_bytes -= record.cost
        if type(record) is RecordedWrite:
            self._let_go(record)
        if self._first >= _TRIM and self._first * 2 >= len(self._records):
            del self._records[: self._first]
            self._cut += self._first
            self._first = 0

    def _let_go(self, record: RecordedWrite) -> None:
        if self._latest.get(record.key) is record:
            del self._latest[record.key]
        if record.successor is not None:  # the value that both have is counted there from now on
            record.successor.cost += len(record.value or b"")
            self.used_bytes += len(record.value or b"")
            record.successor = None
