"""The event log of one resource: what happened, in order of revision, for as long as it is kept."""

from __future__ import annotations

from bisect import bisect_right
from typing import Final

import attrs

from orchtw.errors import Expired
from orchtw.memory.untracked import untrack
from orchtw.watch.entry import LARGE_BYTES, Entry
from orchtw.watch.frames import Wire

HISTORY_S: Final = 300.0  # reference READ-9: the default history of the store, which lists at a revision share
MAX_EVENTS: Final = 100_000  # 5 minutes at 333 writes/s; some 200 bytes each beyond the encodings
MIN_EVENTS: Final = 100  # reference WATCH-4: at least 100 events per kind, however old or large
MAX_SUPERSEDED_BYTES: Final = 32 * 1024 * 1024  # encodings that only the log still holds
TOTAL_SUPERSEDED_BYTES: Final = 256 * 1024 * 1024  # of all logs together


@attrs.define(slots=True, eq=False, weakref_slot=False)
class LogHead:
    """Latest revision that the server has seen: one counter for all resources."""

    revision: int = 0


@attrs.define(slots=True, eq=False, weakref_slot=False)
class Event:
    """One change: `old` is None for a creation, `new` for a deletion. `frames` are shared while a flush runs."""

    revision: int
    key: str
    old: Entry | None
    new: Entry | None
    time: float = 0.0
    cost: int = 0
    frames: dict[tuple[Wire, str], bytes] | None = None

    def make_frame(self, wire: Wire, event_type: str) -> bytes:
        """The frame of this event as `event_type` on `wire`; what left the selection shows its last state."""
        entry = self.old if event_type == "DELETED" else self.new
        assert entry is not None
        return wire.frame(event_type, entry, self.revision)

    def is_large(self) -> bool:
        """Report whether the object is too large for watchers to have copies of its frame."""
        entry = self.new if self.new is not None else self.old
        return entry is not None and len(entry.raw) >= LARGE_BYTES

    def pieces(self, wire: Wire, event_type: str) -> tuple[bytes, ...] | None:
        """The frame in pieces that are shared with the object; None where `wire` has none, or has to change it."""
        entry = self.old if event_type == "DELETED" else self.new
        assert entry is not None
        return wire.pieces(event_type, entry) if entry.revision == self.revision else None

    def shared_frame(self, wire: Wire, event_type: str) -> bytes:
        """As `make_frame`, made once for all groups of one flush; the dispatcher drops it afterwards."""
        frames = self.frames
        if frames is None:
            frames = self.frames = {}
        frame = frames.get((wire, event_type))
        if frame is None:
            frame = frames[wire, event_type] = self.make_frame(wire, event_type)
        return frame


class Superseded:
    """The bytes that only logs hold, of all logs together: beyond the limit the largest one gives up its oldest."""

    def __init__(self, limit_bytes: int = TOTAL_SUPERSEDED_BYTES) -> None:
        self.used_bytes = 0
        self.limit_bytes = limit_bytes
        self._logs: list[EventLog] = []

    def enter(self, log: EventLog) -> None:
        """Count a log from now on."""
        self._logs.append(log)

    def leave(self, log: EventLog) -> None:
        """A log is given up, with all it holds."""
        self._logs.remove(log)
        self.used_bytes -= log.superseded_bytes

    def bound(self) -> None:
        """Keep the limit; a little more is given up, so that it lasts for a while."""
        if self.used_bytes <= self.limit_bytes:
            return
        excess = self.used_bytes - self.limit_bytes + self.limit_bytes // 16
        while excess > 0:
            largest = max(self._logs, key=_superseded)
            given = largest.give_up(excess)
            if not given:
                return
            excess -= given


class EventLog:
    """Events of one resource in order of revision, bounded by age, count and the bytes only they hold.

    `oldest` is the oldest revision from which a watch misses nothing: that of the youngest dropped event.
    `dropped_bytes` counts what dropped events held, since the start. `total` bounds this log with others; its limit
    goes before `min_events`.
    """

    def __init__(
        self,
        oldest: int,
        *,
        history_s: float = HISTORY_S,
        max_events: int = MAX_EVENTS,
        min_events: int = MIN_EVENTS,
        max_superseded_bytes: int = MAX_SUPERSEDED_BYTES,
        total: Superseded | None = None,
    ) -> None:
        self.oldest = oldest
        self.superseded_bytes = 0
        self.dropped_bytes = 0
        self._total = Superseded() if total is None else total
        self._total.enter(self)
        self._history_s = history_s
        self._max_events = max_events
        self._min_events = min_events
        self._max_superseded_bytes = max_superseded_bytes
        self._events: list[Event] = []
        self._revisions: list[int] = []
        self._first = 0  # the lists' dead front; cut off when it is half of them

    def __len__(self) -> int:
        return len(self._events) - self._first

    def append(self, revision: int, key: str, old: Entry | None, new: Entry | None, now: float) -> Event:
        """Add what happened at `revision` (never below the last one) and drop what is beyond the bounds."""
        cost = old.size() if old is not None else 0
        event = Event(revision, key, old, new, now, cost)
        untrack(event)
        self._events.append(event)
        self._revisions.append(revision)
        self._count(cost)
        self.trim(now)
        self._total.bound()
        return event

    def trim(self, now: float) -> None:
        """Drop events that are too old, too many or too large, but keep the minimum."""
        events, first = self._events, self._first
        born = now - self._history_s
        spare = len(events) - first - self._min_events
        excess = len(events) - first - self._max_events
        while spare > 0:
            event = events[first]
            if excess <= 0 and event.time >= born and self.superseded_bytes <= self._max_superseded_bytes:
                break
            self._count(-event.cost)
            self.oldest = event.revision
            first += 1
            spare -= 1
            excess -= 1
        if first != self._first:
            self._release(first)

    def give_up(self, size: int) -> int:
        """Drop the oldest events until `size` bytes are free, but not the last one; how many bytes are."""
        events, first, freed = self._events, self._first, 0
        while freed < size and first < len(events) - 1:
            freed += events[first].cost
            self.oldest = events[first].revision
            first += 1
        self._count(-freed)
        self._release(first)
        return freed

    def _count(self, size: int) -> None:
        self.superseded_bytes += size
        self._total.used_bytes += size
        if size < 0:
            self.dropped_bytes -= size

    def _release(self, first: int) -> None:
        """Let go of the events before position `first`."""
        events = self._events
        if first * 2 > len(events):
            del events[:first], self._revisions[:first]
            first = 0
        else:
            events[self._first : first] = [_DROPPED] * (first - self._first)
        self._first = first

    def position(self, cursor: int) -> int:
        """The position of the first event after revision `cursor`.

        Raises Expired (410) if events after `cursor` have been dropped (reference WATCH-2).
        """
        if cursor < self.oldest:
            raise Expired.watch(cursor, self.oldest)
        return bisect_right(self._revisions, cursor, self._first)

    def since(self, cursor: int) -> list[Event]:
        """All events after revision `cursor`, oldest first; raises Expired (410) as `position` does."""
        return self._events[self.position(cursor) :]

    def after(self, cursor: int, count: int) -> list[Event]:
        """The next events after revision `cursor`: `count`, and the rest of the last one's revision.

        Raises Expired (410) as `position` does.
        """
        events, first = self._events, self.position(cursor)
        last = min(first + count, len(events))
        while first < last < len(events) and events[last].revision == events[last - 1].revision:
            last += 1
        return events[first:last]

    def undoing(self, revision: int, now: float = 0.0) -> list[Event]:
        """The events that led from the state at `revision` to the present one, oldest first.

        Raises Expired (410) if the log does not reach back to `revision`, or only by the minimum that is kept for
        watches: what was overtaken longer ago than the history lasts is for the store to know (reference WATCH-4).
        """
        events = self.since(revision)
        if events and events[0].time < now - self._history_s:
            raise Expired.list()
        return events


def _superseded(log: EventLog) -> int:
    return log.superseded_bytes


_DROPPED: Final = Event(0, "", None, None)
