"""Event log of one resource: its changes in order of revision, for a limited time."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from typing import Final

import msgspec

from orchtw.errors import Expired
from orchtw.memory.untracked import untrack
from orchtw.watch.entry import LARGE_BYTES, Entry
from orchtw.watch.frames import Wire

HISTORY_S: Final = 300.0  # reference READ-9: the default history of the store, which lists at a revision share
MAX_EVENTS: Final = 100_000  # 5 minutes at 333 writes/s; some 200 bytes each beyond the encodings
MIN_EVENTS: Final = 100  # reference WATCH-4: at least 100 events per kind, however old or large
MAX_SUPERSEDED_BYTES: Final = 32 * 1024 * 1024  # encodings that only the log still holds
TOTAL_SUPERSEDED_BYTES: Final = 256 * 1024 * 1024  # of all logs together


class HeadRevision(msgspec.Struct, eq=False):
    """Latest revision that the server has seen: one counter for all resources."""

    revision: int = 0


class Event(msgspec.Struct, eq=False):
    """One change: `old` is None for a creation, `new` for a deletion. `frames` are shared during a flush."""

    revision: int
    key: str
    old: Entry | None
    new: Entry | None
    time: float = 0.0
    cost: int = 0
    frames: dict[tuple[Wire, str], bytes] | None = None

    def make_frame(self, wire: Wire, event_type: str) -> bytes:
        """Return the frame of this event as `event_type` on `wire`; DELETED shows the last state."""
        entry = self.old if event_type == "DELETED" else self.new
        assert entry is not None
        return wire.frame(event_type, entry, self.revision)

    def is_large(self) -> bool:
        """Report whether the object is too large to copy its frame for each watcher."""
        entry = self.new if self.new is not None else self.old
        return entry is not None and len(entry.raw) >= LARGE_BYTES

    def pieces(self, wire: Wire, event_type: str) -> tuple[bytes, ...] | None:
        """Return the frame in pieces shared with the object; None if `wire` has none, or has to change it."""
        entry = self.old if event_type == "DELETED" else self.new
        assert entry is not None
        return wire.pieces(event_type, entry) if entry.revision == self.revision else None

    def shared_frame(self, wire: Wire, event_type: str) -> bytes:
        """Return the frame, as `make_frame`, made once for all groups of one flush; the dispatcher drops it later."""
        frames = self.frames
        if frames is None:
            frames = self.frames = {}
        frame = frames.get((wire, event_type))
        if frame is None:
            frame = frames[wire, event_type] = self.make_frame(wire, event_type)
        return frame


class Superseded:
    """Bytes that only logs hold, over all logs: beyond the limit the largest one drops its oldest events."""

    def __init__(self, limit_bytes: int = TOTAL_SUPERSEDED_BYTES) -> None:
        self.used_bytes = 0
        self.limit_bytes = limit_bytes
        self._logs: list[EventLog] = []

    def enter(self, log: EventLog) -> None:
        """Count a log from now on."""
        self._logs.append(log)

    def leave(self, log: EventLog) -> None:
        """Stop counting a log, with all it holds."""
        self._logs.remove(log)
        self.used_bytes -= log.superseded_bytes

    def bound(self) -> None:
        """Enforce the limit, with some slack so that it holds for a while."""
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

    `oldest` is the oldest revision from which a watch misses nothing: that of the latest dropped event.
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
        self._first = 0  # number of dropped items at the lists' front; removed when they are half

    def __len__(self) -> int:
        return len(self._events) - self._first

    def append(self, revision: int, key: str, old: Entry | None, new: Entry | None, now: float) -> Event:
        """Append the change at `revision` (never below the last one) and drop events beyond the bounds."""
        cost = old.size() if old is not None else 0
        event = Event(revision, key, old, new, now, cost)
        untrack(event)
        self._events.append(event)
        self._revisions.append(revision)
        self._count(cost)
        self.trim(now)
        self._total.bound()
        return event

    def extend(self, events: Sequence[Event], now: float) -> None:
        """Append many changes at once, as `append`; their cost is set here."""
        cost = 0
        for event in events:
            if event.old is not None:
                event.cost = event.old.size()
                cost += event.cost
            untrack(event)
        self._events += events
        self._revisions += [event.revision for event in events]
        self._count(cost)
        self.trim(now)
        self._total.bound()

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
        """Drop the oldest events, except the last one, until `size` bytes are free; return the bytes freed."""
        events, first, freed = self._events, self._first, 0
        while freed < size and first < len(events) - 1:
            freed += events[first].cost
            self.oldest = events[first].revision
            first += 1
        self._count(-freed)
        self._release(first)
        return freed

    def forget(self, revision: int) -> None:
        """Drop all events up to now, of `revision` at the latest: watches from before it have missed something."""
        self._count(-self.superseded_bytes)
        self._release(len(self._events))
        self.oldest = revision

    def _count(self, size: int) -> None:
        self.superseded_bytes += size
        self._total.used_bytes += size
        if size < 0:
            self.dropped_bytes -= size

    def _release(self, first: int) -> None:
        """Drop the events before position `first`."""
        events = self._events
        if first * 2 > len(events):
            del events[:first], self._revisions[:first]
            first = 0
        else:
            events[self._first : first] = [_DROPPED] * (first - self._first)
        self._first = first

    def position(self, cursor: int) -> int:
        """Return the position of the first event after revision `cursor`.

        Raises Expired (410) if events after `cursor` have been dropped (reference WATCH-2).
        """
        if cursor < self.oldest:
            raise Expired.watch(cursor, self.oldest)
        return bisect_right(self._revisions, cursor, self._first)

    def since(self, cursor: int) -> list[Event]:
        """Return all events after revision `cursor`, oldest first. Raises Expired (410) as `position` does."""
        return self._events[self.position(cursor) :]

    def after(self, cursor: int, count: int) -> list[Event]:
        """Return the next `count` events after revision `cursor`, and the rest of the last one's revision.

        Raises Expired (410) as `position` does.
        """
        events, first = self._events, self.position(cursor)
        last = min(first + count, len(events))
        while first < last < len(events) and events[last].revision == events[last - 1].revision:
            last += 1
        return events[first:last]

    def time_after(self, cursor: int) -> float | None:
        """Return the time of the first kept event after revision `cursor`; None if nothing has changed since."""
        first = bisect_right(self._revisions, cursor, self._first)
        return self._events[first].time if first < len(self._events) else None

    def revision_at(self, moment: float) -> int | None:
        """Return the revision of the state at a time, at least `oldest`; None if nothing has changed since."""
        first = bisect_right(self._events, moment, self._first, key=_time)
        return self._events[first].revision - 1 if first < len(self._events) else None

    def reach(self, now: float) -> int:
        """Return the oldest revision whose state `undoing` leads to."""
        first = bisect_right(self._events, now - self._history_s, self._first, key=_time)
        return self.oldest if first == self._first else self._events[first - 1].revision

    def undoing(self, revision: int, now: float = 0.0) -> list[Event]:
        """Return the events that led from the state at `revision` to the present one, oldest first.

        Raises Expired (410) if the log does not reach back to `revision`, or only by the minimum kept for watches:
        states older than the history come from the store (reference WATCH-4).
        """
        events = self.since(revision)
        if events and events[0].time < now - self._history_s:
            raise Expired.list()
        return events


def _superseded(log: EventLog) -> int:
    return log.superseded_bytes


def _time(event: Event) -> float:
    return event.time


_DROPPED: Final = Event(0, "", None, None)
