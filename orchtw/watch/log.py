"""The event log of one resource: what happened, in order of revision, for as long as it is kept."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Mapping
from typing import Final

import attrs

from orchtw.errors import Expired
from orchtw.watch.entry import Entry
from orchtw.watch.frames import Wire

HISTORY_S: Final = 300.0  # seed 1 §4.3(4): the default history of the store, which lists at a revision share
MAX_EVENTS: Final = 100_000  # 5 minutes at 333 writes/s; some 200 bytes each beyond the encodings
MIN_EVENTS: Final = 100  # supplement A5: at least 100 events per kind, however old or large
MAX_SUPERSEDED_BYTES: Final = 32 * 1024 * 1024  # encodings that only the log still holds


@attrs.define(slots=True, eq=False, weakref_slot=False)
class Head:
    """How far the whole server has seen the store: one counter for all resources."""

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

    def shared_frame(self, wire: Wire, event_type: str) -> bytes:
        """As `make_frame`, made once for all groups of one flush; the dispatcher drops it afterwards."""
        frames = self.frames
        if frames is None:
            frames = self.frames = {}
        frame = frames.get((wire, event_type))
        if frame is None:
            frame = frames[wire, event_type] = self.make_frame(wire, event_type)
        return frame


class EventLog:
    """Events of one resource in order of revision, bounded by age, count and the bytes only they hold.

    `oldest` is the oldest revision from which a watch misses nothing: that of the youngest dropped event.
    """

    def __init__(
        self,
        oldest: int,
        *,
        history_s: float = HISTORY_S,
        max_events: int = MAX_EVENTS,
        min_events: int = MIN_EVENTS,
        max_superseded_bytes: int = MAX_SUPERSEDED_BYTES,
    ) -> None:
        self.oldest = oldest
        self.superseded_bytes = 0
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
        self._events.append(event)
        self._revisions.append(revision)
        self.superseded_bytes += cost
        self.trim(now)
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
            self.superseded_bytes -= event.cost
            self.oldest = event.revision
            first += 1
            spare -= 1
            excess -= 1
        if first != self._first:
            self._release(first)

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

        Raises Expired (410) if events after `cursor` have been dropped (seed 1 §4.3).
        """
        if cursor < self.oldest:
            raise Expired.watch(cursor, self.oldest)
        return bisect_right(self._revisions, cursor, self._first)

    def since(self, cursor: int) -> list[Event]:
        """All events after revision `cursor`, oldest first; raises Expired (410) as `position` does."""
        return self._events[self.position(cursor) :]

    def from_position(self, position: int, count: int) -> list[Event]:
        """Up to `count` events from a position that `position` has just given."""
        return self._events[position : position + count]

    def overlay(self, revision: int, now: float = 0.0) -> Mapping[str, Entry | None]:
        """What differed at `revision` from now: keys with their entry then, or None where there was none.

        Raises Expired (410) if the log does not reach back to `revision`, or only by the minimum that is kept for
        watches: what was overtaken longer ago than the history lasts is the store's to know (supplement A5).
        """
        then: dict[str, Entry | None] = {}
        events = self.since(revision)
        if events and events[0].time < now - self._history_s:
            raise Expired.list()
        for event in reversed(events):
            then[event.key] = event.old
        return then


_DROPPED: Final = Event(0, "", None, None)
