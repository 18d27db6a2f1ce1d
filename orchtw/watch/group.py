"""Watchers of one selection and wire format: each frame is made, joined and framed once for all."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from math import inf
from typing import Final, Protocol

from twisted.logger import Logger

from orchtw.errors import InternalError, StatusError
from orchtw.request import chunk, chunks
from orchtw.watch.entry import Entry
from orchtw.watch.event_log import Event, EventLog, HeadRevision
from orchtw.watch.frames import ADDED, DELETED, MODIFIED, Wire
from orchtw.watch.gate import Gate
from orchtw.watch.recent import Batch, Recent, RecentBudget
from orchtw.watch.selection import Selection
from orchtw.watch.turns import ReactorTurns

MAX_WRITE_BYTES: Final = 64 * 1024  # a transport's buffer before it pauses us; more would be held for each member
SCAN_EVENTS: Final = 256  # events examined at once when catching up from the log
STRIDE: Final = 64  # members written to between two readings of the clock

Places = dict["GroupMember", None]  # a set in order of arrival, with removal in constant time


Due = bytes | Sequence[bytes]
"""Next output of a member: framed bytes, or the shared pieces of one large frame, not framed yet."""


class GroupMember(Protocol):
    """Member of a group, as the group sees a `watcher.Watcher`."""

    write: Callable[[bytes], None]
    paused: bool  # also once it has ended
    fresh: bool  # has not received an event
    cursor: int  # of a member that is not ready: the revision up to which it has everything
    place: Places | None  # belongs to the group

    def wake(self) -> None:
        """Catch up: there are events to write."""

    def fail(self, error: StatusError) -> None:
        """Send the error and end."""

    def end(self) -> None:
        """End the stream of the member."""


class Group:
    """Watch group, with members in three places: ready, behind and apart.

    The *ready* have everything up to the last flush; a flush writes the same bytes to each that is not paused. The
    ones *behind* (paused when something came, or replaying the past) have a cursor and catch up on their own with
    `next_for`. The ones *apart* are up to date, but may not take the common bytes: their start revision is in the
    future, or their first event has a form of its own.

    Where the wire has a gate, a flush goes no further than the events that it lets through. Until the next ones are
    ready the group holds nothing but the revision that it has reached, and then reads on in the log.
    """

    log_failures = Logger()

    def __init__(
        self,
        selection: Selection,
        wire: Wire,
        log: EventLog,
        head: HeadRevision,
        budget: RecentBudget,
        turns: ReactorTurns,
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
        self._turns = turns
        self._on_empty = on_empty
        self._bookmark = (-1, b"")
        self._state_end = (-1, b"")
        self._opening: tuple[Event | None, bytes] = (None, b"")
        self._held: int | None = None  # the revision that has been flushed, while what follows is made ready
        self._awaiting: set[GroupMember] = set()  # members that are behind while their events are prepared

    def __len__(self) -> int:
        return len(self.ready) + len(self.behind) + len(self.apart)

    def members(self) -> list[GroupMember]:
        """Return the members in all places."""
        return [*self.ready, *self.behind, *self.apart]

    def join(self, member: GroupMember) -> None:
        """Add a member, which catches up from its cursor before it counts as ready."""
        self._put(member, self.behind)

    def leave(self, member: GroupMember) -> None:
        """Remove a member; the last one ends the group."""
        if member.place is None:
            return
        self._put(member, None)
        if not self.behind:
            self._recent.clear()
        if not len(self):
            self.pending = []
            self._held = None
            self._on_empty(self)

    def _put(self, member: GroupMember, place: Places | None) -> None:
        if member.place is not None:
            del member.place[member]
        member.place = place
        if place is not None:
            place[member] = None

    def flush(self, end: float = inf) -> bool:
        """Write the events since the last flush to the ready members; once per reactor turn.

        After `end`, by the turns' clock, only the first batch is made, and members not yet written to have to catch
        up. Reports whether events are left. If the frames cannot be made, every member gets a 500 and its end.
        """
        events, self.pending = self.pending, []
        if not events or self._held is not None:
            return False
        if self.wire.gate is not None:
            self._let_through(self.wire.gate, events, end)
            return False
        return self._flush(events, end)

    def _flush(self, events: list[Event], end: float) -> bool:
        """Write these events to the ready members; those beyond `end` become pending again."""
        # 1. The members before the frames: making frames runs no code of members, but writing does.
        members = list(self.ready)
        # 2. Frames are made once for all members; a failure here is the group's.
        try:
            batches, done = self._batches(events, end) if members or self.behind else ([], len(events))
        except Exception:  # noqa: BLE001 - any error; the other groups continue
            self.log_failures.failure("a watch group could not be served")
            self.fail(InternalError.of("the watch could not be continued"))
            return False
        self.pending = events[done:]
        # 3. Batches are kept before anything is written: members that resume meanwhile find all of them.
        for batch in batches:
            self._recent.add(batch)
        # 4. Writing; a failure here is one member's. Members that are paused or too late fall behind.
        for batch in batches:
            members = self._fan_out(batch, members, end)
        # 5. The batches are only needed while members are behind.
        if not self.behind or len(self) == 1:
            self._recent.clear()
        # 6. Members apart catch up last: they read the log, which holds these events by now.
        if self.apart:
            self._call_in(events[0].revision - 1)
        return bool(self.pending)

    def _let_through(self, gate: Gate, events: list[Event], end: float, *, more: bool = False) -> None:
        """Flush the events that the gate lets through, and prepare the next ones.

        `more`: the log has others after these.
        """
        # 1. Events go in order: the first one that has to be prepared holds up all after it.
        lacking = self._lacking(gate, events)
        ready = events
        if lacking:
            first = next(event.revision for event in events if event.old in lacking or event.new in lacking)
            ready = [event for event in events if event.revision < first]
            self._held = first - 1
        elif more:
            self._held = events[-1].revision
        # 2. Those before it are written now; if time runs out among them, the group continues there.
        if ready:
            self._flush(ready, end)
            if self.pending:  # the rest is for later, with all later events
                self._held, lacking = self.pending[0].revision - 1, {}
        for event in ready:
            event.frames = None
        self.pending = []
        # 3. Later events are in the log; `_go_on` reads them from the revision in `_held`.
        if lacking:
            gate.prepare(list(lacking), self._passed)
        elif self._held is not None:
            self._turns.later(self._go_on)

    def _lacking(self, gate: Gate, events: Sequence[Event]) -> dict[Entry, None]:
        """Return the entries of these events that have to be prepared first."""
        lacking: dict[Entry, None] = {}
        for event in events:
            event_type = self.event_type(event)
            if event_type is not None:
                entry = event.old if event_type == DELETED else event.new
                if entry is not None and gate.lacks(entry):
                    lacking[entry] = None
        return lacking

    def _passed(self, error: StatusError | None) -> None:
        """Go on once events have been prepared; an error goes to every member and ends it."""
        if self._held is None:
            return
        if error is None:
            self._turns.later(self._go_on)
        else:
            self.fail(error)

    def _go_on(self) -> None:
        """Flush the events of the log after the flushed revision."""
        if self._held is None:
            return
        try:
            events = self._log.after(self._held, SCAN_EVENTS)
        except StatusError as error:
            self.fail(error)
            return
        after, self._held, self.pending = self._held, None, []
        gate = self.wire.gate
        if events and gate is not None:
            self._let_through(gate, events, self._turns.end(), more=len(events) >= SCAN_EVENTS)
        if self._held is None and self.apart:
            self._call_in(after)

    def _call_in(self, revision: int) -> None:
        """Let the members apart catch up with events after `revision`."""
        apart = list(self.apart)
        for member in apart:
            member.cursor = max(member.cursor, revision)
            self._put(member, self.behind)
        self._wake(apart, 0)

    def _fan_out(self, batch: Batch, members: list[GroupMember], end: float) -> list[GroupMember]:
        """Write one batch to `members`; return those that may get the next one at once."""
        seconds = self._turns.seconds
        served: list[GroupMember] = []
        for start in range(0, len(members), STRIDE):
            if seconds() >= end:
                self._postpone(batch, members[start:])
                break
            served += self._write(batch, members[start : start + STRIDE])
        return served

    def _write(self, batch: Batch, members: list[GroupMember]) -> list[GroupMember]:
        framed = batch.framed
        lost: set[GroupMember] = set()
        for member in members:
            if member.paused:
                lost.add(member)
                self._fall_behind(member, batch)
                continue
            try:
                member.write(framed)
            except Exception:  # noqa: BLE001 - any error; the other members continue
                self.log_failures.failure("a watch could not be written to")
                member.end()
        served = [member for member in members if member not in lost] if lost else members
        self.wire.sent.observe_all(batch.sizes, len(served))
        return served

    def _postpone(self, batch: Batch, members: list[GroupMember]) -> None:
        """Give these members the batch in the next turns, with later events."""
        for member in members:
            self._fall_behind(member, batch)
        self._turns.later(partial(self._wake, members, 0))

    def _fall_behind(self, member: GroupMember, batch: Batch) -> None:
        if member.place is self.ready:
            member.cursor = batch.after
            self._put(member, self.behind)

    def _wake(self, members: list[GroupMember], start: int) -> None:
        """Let the members from position `start` on catch up, as many as a slice allows."""
        end = self._turns.end()
        for position in range(start, len(members)):
            members[position].wake()
            if self._turns.seconds() >= end and position + 1 < len(members):
                self._turns.later(partial(self._wake, members, position + 1))
                return

    def _batches(self, events: list[Event], end: float) -> tuple[list[Batch], int]:
        """Return batches of the selected events' frames, of about MAX_WRITE_BYTES, and the number of events used.

        After `end` there is at most one batch; a revision is never split.
        """
        batches: list[Batch] = []
        frames: list[bytes] = []
        size = 0
        after = until = 0
        wire, seconds = self.wire, self._turns.seconds
        for done, event in enumerate(events):
            if done and seconds() >= end and event.revision != events[done - 1].revision:
                break
            event_type = self.event_type(event)
            if event_type is None:
                continue
            frame = event.shared_frame(wire, event_type)
            if frames and size + len(frame) > MAX_WRITE_BYTES and event.revision != until:
                batches.append(_batch(after, until, frames))
                frames = []
                size = 0
            if not frames:
                after = event.revision - 1
            frames.append(frame)
            size += len(frame)
            until = event.revision
        else:
            done = len(events)
        if frames:
            batches.append(_batch(after, until, frames))
        return batches, done

    def event_type(self, event: Event) -> str | None:
        """Return the event's type for the selection: leaving it is DELETED, entering it ADDED (reference WATCH-8)."""
        old, new = event.old, event.new
        if self.selection.everything:
            was, now = old is not None, new is not None
        else:
            matches = self.selection.matches
            was, now = old is not None and matches(old), new is not None and matches(new)
        if now:
            return MODIFIED if was else ADDED
        return DELETED if was else None

    def next_for(self, member: GroupMember) -> Due | None:
        """Return the next frames for a member that is behind, and move its cursor; None once it is up to date.

        Returns about MAX_WRITE_BYTES, at least one frame; or empty bytes if the events examined are not for it.
        Raises Expired (410) if the cursor is older than the log and than the recent batches (reference WATCH-2).
        """
        if self.pending:
            self.flush(self._turns.end())
            if member.place is None:  # the flush failed
                return None
        fresh = member.fresh and self.wire.opens
        batches = [] if fresh else self._recent.after(member.cursor, MAX_WRITE_BYTES)
        if batches:
            member.cursor = batches[-1].until
            member.fresh = False
            for batch in batches:
                self.wire.sent.observe_all(batch.sizes)
            return batches[0].framed if len(batches) == 1 else b"".join([batch.framed for batch in batches])
        flushed = self._flushed_revision()
        if (fresh or not self._recent.ends_at(member.cursor)) and member.cursor < flushed:
            if self.wire.gate is not None and not self._is_through(self.wire.gate, member):
                return None
            large = None if fresh else self._large(member)
            return self._from_log(member, fresh, flushed) if large is None else large
        self._settle(member)
        return None

    def _is_through(self, gate: Gate, member: GroupMember) -> bool:
        """Report whether the gate lets the next events through for a member; if not, it is woken when it does."""
        if member in self._awaiting:
            return False
        lacking = self._lacking(gate, self._log.after(member.cursor, SCAN_EVENTS))
        if lacking:
            self.prepare(gate, list(lacking), member)
        return not lacking

    def prepare(self, gate: Gate, entries: list[Entry], member: GroupMember) -> None:
        """Prepare entries for a member, which is woken then; a second call meanwhile does nothing."""
        if member in self._awaiting:
            return
        self._awaiting.add(member)

        def done(error: StatusError | None) -> None:
            self._awaiting.discard(member)
            if member.place is None:
                return
            if error is None:
                self._turns.later(member.wake)
            else:
                member.fail(error)

        gate.prepare(entries, done)

    def _flushed_revision(self) -> int:
        """Return the revision up to which everything has been flushed."""
        if self._held is not None:
            return self._held
        return self.pending[0].revision - 1 if self.pending else self._head.revision

    def _settle(self, member: GroupMember) -> None:
        """Move a member that has everything to the ready ones, or to those apart."""
        unlike = member.cursor > self._flushed_revision() or (member.fresh and self.wire.opens)
        self._put(member, self.apart if unlike else self.ready)
        if not self.behind:
            self._recent.clear()

    def _from_log(self, member: GroupMember, opening: bool, flushed: int) -> Due:
        """Return frames of the log after the member's cursor; if `opening`, only the first event in its own form."""
        frames: list[bytes] = []
        size = 0
        until = member.cursor
        events = self._log.after(until, SCAN_EVENTS)
        for event in events:
            ends = event.revision != until  # a cursor never splits a revision
            if event.revision > flushed:
                until = max(until, flushed)
                break
            if ends and size >= MAX_WRITE_BYTES:
                break
            event_type = self.event_type(event)
            if event_type is not None:
                if ends and frames and event.is_large():
                    break
                if opening:
                    frames.append(self._opened(event, event_type))
                    until = event.revision
                    break
                frames.append(event.make_frame(self.wire, event_type))
                size += len(frames[-1])
            until = event.revision
        else:
            if len(events) < SCAN_EVENTS:
                until = max(until, flushed)
        member.cursor = until
        if not frames:
            return b""
        member.fresh = False
        self.wire.sent.observe_all(map(len, frames))
        return chunks(frames)

    def _large(self, member: GroupMember) -> Due | None:
        """Return the next event in pieces of its own bytes, if it is large and for the member."""
        events = self._log.after(member.cursor, 1)
        if len(events) != 1 or not events[0].is_large():
            return None
        event = events[0]
        event_type = self.event_type(event)
        pieces = None if event_type is None else event.pieces(self.wire, event_type)
        if pieces is not None:
            member.cursor, member.fresh = event.revision, False
            self.wire.sent.observe(sum(map(len, pieces)))
        return pieces

    def _opened(self, event: Event, event_type: str) -> bytes:
        """Return the first frame of a stream, made once for members that get it together."""
        if self._opening[0] is not event:
            entry = event.old if event_type == DELETED else event.new
            assert entry is not None
            if self._opening[0] is None:
                self._turns.later(self._forget_opening)
            self._opening = event, self.wire.opening(event_type, entry, event.revision)
        return self._opening[1]

    def _forget_opening(self) -> None:
        self._opening = None, b""

    def up_to_date(self, member: GroupMember) -> bool:
        """Report whether a member has every event, or waits for its first one; False for a cursor in the future."""
        if member.place is self.apart:
            return member.cursor <= self._flushed_revision()
        return member.place is self.ready

    def bookmark(self) -> bytes:
        """Return a framed BOOKMARK for the flushed revision, made once for all members."""
        revision = self._flushed_revision()
        if self._bookmark[0] != revision:
            self._bookmark = (revision, chunk(self.wire.bookmark(revision)))
        return self._bookmark[1]

    def state_end(self, revision: int) -> bytes:
        """Return the framed BOOKMARK after the initial state of `revision`, made once for all that begin there."""
        if self._state_end[0] != revision:
            self._state_end = (revision, chunk(self.wire.bookmark(revision, ends_state=True)))
        return self._state_end[1]

    def fail(self, error: StatusError) -> None:
        """Send every member the error and end their streams."""
        self.pending = []
        self._held = None
        for member in self.members():
            member.fail(error)

    def close(self) -> None:
        """End the streams of all members."""
        self.pending = []
        self._held = None
        for member in self.members():
            member.end()


def _batch(after: int, until: int, frames: list[bytes]) -> Batch:
    return Batch(after, until, chunks(frames), tuple(map(len, frames)))
