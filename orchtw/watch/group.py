"""Watchers of the same selection in the same wire format: each frame is made, joined and framed once for all."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Final, Protocol

from twisted.logger import Logger

from orchtw.errors import InternalError, StatusError
from orchtw.request import chunk, chunks
from orchtw.watch.frames import ADDED, DELETED, MODIFIED, Wire
from orchtw.watch.log import Event, EventLog, Head
from orchtw.watch.recent import Batch, Budget, Recent
from orchtw.watch.selection import Selection

MAX_WRITE_BYTES: Final = 64 * 1024  # what a transport buffers before it pauses us; more would lie there per member
SCAN_EVENTS: Final = 512  # events looked at in one go when catching up from the log

Places = dict["Watcher", None]  # a set in order of arrival, with removal in constant time


class Watcher(Protocol):
    """What a group knows of its members (`member.Member`)."""

    write: Callable[[bytes], None]
    paused: bool  # also once it has ended
    fresh: bool  # has not had an event
    cursor: int  # of a member that is not ready: the revision up to which it has everything
    place: Places | None  # belongs to the group

    def wake(self) -> None:
        """There is something to catch up with."""

    def fail(self, error: StatusError) -> None:
        """Send the error and end."""

    def end(self) -> None:
        """End the stream."""


class Group:
    """Members in three places: ready, behind and apart.

    The *ready* have everything up to the last flush; a flush writes the same bytes to each that is not
    paused. The ones *behind* (paused when something came, or replaying the past) have a cursor and catch up
    on their own with `next_for`. The ones *apart* are up to date, but may not take the common bytes: their
    start revision is in the future, or their first event has a form of its own.
    """

    log_failures = Logger()

    def __init__(
        self,
        selection: Selection,
        wire: Wire,
        log: EventLog,
        head: Head,
        budget: Budget,
        on_empty: Callable[[Group], None],
    ) -> None:
        self.selection = selection
        self.wire = wire
        self.pending: list[Event] = []  # filled by the dispatcher
        self.ready: Places = {}
        self.behind: Places = {}
        self.apart: Places = {}
        self._log = log
        self._head = head
        self._recent = Recent(budget)
        self._on_empty = on_empty
        self._bookmark = (-1, b"")

    def __len__(self) -> int:
        return len(self.ready) + len(self.behind) + len(self.apart)

    def members(self) -> list[Watcher]:
        """Everybody, wherever they are."""
        return [*self.ready, *self.behind, *self.apart]

    def join(self, member: Watcher) -> None:
        """Take in a member, which is to catch up from its cursor before it counts as ready."""
        self._put(member, self.behind)

    def leave(self, member: Watcher) -> None:
        """Let a member go; the last one ends the group."""
        if member.place is None:
            return
        self._put(member, None)
        if not self.behind:
            self._recent.clear()
        if not len(self):
            self.pending = []
            self._on_empty(self)

    def _put(self, member: Watcher, place: Places | None) -> None:
        if member.place is not None:
            del member.place[member]
        member.place = place
        if place is not None:
            place[member] = None

    def flush(self) -> None:
        """Write what came since the last flush to the ready members; once per reactor turn.

        When the frames cannot be made, everybody gets a 500 and the end.
        """
        events, self.pending = self.pending, []
        if not events:
            return
        members = list(self.ready)
        try:
            batches = self._batches(events) if members or self.behind else []
        except Exception:  # noqa: BLE001 - whatever it is, the other groups go on
            self.log_failures.failure("a watch group could not be served")
            self.fail(InternalError.of("the watch could not be continued"))
            return
        for batch in batches:  # before anything is written: whoever resumes meanwhile finds all of them
            self._recent.add(batch)
        for batch in batches:
            members = self._fan_out(batch, members)
        if not self.behind or len(self) == 1:
            self._recent.clear()
        for member in list(self.apart):
            member.cursor = max(member.cursor, events[0].revision - 1)
            self._put(member, self.behind)
            member.wake()

    def _fan_out(self, batch: Batch, members: list[Watcher]) -> list[Watcher]:
        """Write one batch to `members`; returns those that may get the next one with it."""
        framed = batch.framed
        lost: set[Watcher] = set()
        for member in members:
            if member.paused:
                lost.add(member)
                if member.place is self.ready:
                    member.cursor = batch.after
                    self._put(member, self.behind)
                continue
            try:
                member.write(framed)
            except Exception:  # noqa: BLE001 - whatever it is, the other members go on
                self.log_failures.failure("a watch could not be written to")
                member.end()
        return [member for member in members if member not in lost] if lost else members

    def _batches(self, events: list[Event]) -> list[Batch]:
        """The selected events' frames, joined to batches of about MAX_WRITE_BYTES."""
        batches: list[Batch] = []
        frames: list[bytes] = []
        size = 0
        after = until = 0
        wire = self.wire
        for event in events:
            event_type = self.event_type(event)
            if event_type is None:
                continue
            frame = event.shared_frame(wire, event_type)
            if frames and size + len(frame) > MAX_WRITE_BYTES and event.revision != until:
                batches.append(Batch(after, until, chunks(frames)))
                frames = []
                size = 0
            if not frames:
                after = event.revision - 1
            frames.append(frame)
            size += len(frame)
            until = event.revision
        if frames:
            batches.append(Batch(after, until, chunks(frames)))
        return batches

    def event_type(self, event: Event) -> str | None:
        """What the event is to this selection: leaving it is DELETED, entering it ADDED (supplement A9)."""
        old, new = event.old, event.new
        if self.selection.everything:
            was, now = old is not None, new is not None
        else:
            matches = self.selection.matches
            was, now = old is not None and matches(old), new is not None and matches(new)
        if now:
            return MODIFIED if was else ADDED
        return DELETED if was else None

    def next_for(self, member: Watcher) -> bytes:
        """The next chunk for a member that is behind, its cursor moved on; empty once it is up to date and settled.

        About MAX_WRITE_BYTES, at least one frame. Raises Expired (410) if the cursor is older than the log
        and than the recent batches (seed 1 §4.3).
        """
        if self.pending:
            self.flush()
            if member.place is None:  # the flush failed
                return b""
        fresh = member.fresh and self.wire.opens
        batches = [] if fresh else self._recent.after(member.cursor, MAX_WRITE_BYTES)
        if batches:
            member.cursor = batches[-1].until
            member.fresh = False
            return batches[0].framed if len(batches) == 1 else b"".join([batch.framed for batch in batches])
        if fresh or not self._recent.ends_at(member.cursor):
            framed = self._from_log(member, fresh)
            if framed:
                member.fresh = False
                return framed
        self._settle(member)
        return b""

    def _settle(self, member: Watcher) -> None:
        """The member has everything that there is."""
        unlike = member.cursor > self._head.revision or (member.fresh and self.wire.opens)
        self._put(member, self.apart if unlike else self.ready)
        if not self.behind:
            self._recent.clear()

    def _from_log(self, member: Watcher, opening: bool) -> bytes:
        """Frames of the log after the member's cursor; if `opening`, the first event only, in its special form."""
        frames: list[bytes] = []
        size = 0
        until = member.cursor
        for event in self._scan(until):
            if size >= MAX_WRITE_BYTES and event.revision != until:
                break
            until = event.revision
            event_type = self.event_type(event)
            if event_type is None:
                continue
            if opening:
                entry = event.old if event_type == DELETED else event.new
                assert entry is not None
                frames.append(self.wire.opening(event_type, entry, event.revision))
                break
            frames.append(event.make_frame(self.wire, event_type))
            size += len(frames[-1])
        else:
            until = max(until, self._head.revision)
        member.cursor = until
        return chunks(frames) if frames else b""

    def _scan(self, cursor: int) -> Iterator[Event]:
        position = self._log.position(cursor)
        while events := self._log.from_position(position, SCAN_EVENTS):
            yield from events
            position += len(events)

    def up_to_date(self, member: Watcher) -> bool:
        """Whether a member has everything there is: one that waits for its first event too, not one of the future."""
        return member.place is self.ready or (member.place is self.apart and member.cursor <= self._head.revision)

    def bookmark(self) -> bytes:
        """A framed BOOKMARK for the present revision, made once for everybody who is due at it."""
        revision = self._head.revision
        if self._bookmark[0] != revision:
            self._bookmark = (revision, chunk(self.wire.bookmark(revision)))
        return self._bookmark[1]

    def fail(self, error: StatusError) -> None:
        """Send everybody the error and end their streams."""
        self.pending = []
        for member in self.members():
            member.fail(error)

    def close(self) -> None:
        """End everybody's stream."""
        self.pending = []
        for member in self.members():
            member.end()
