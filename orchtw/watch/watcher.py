"""One watcher: a cursor, a paused flag and a sink. Its bytes come from its group."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import inf
from typing import Final, Protocol

from twisted.logger import Logger

from orchtw.errors import Expired, InternalError, StatusError
from orchtw.request import Ending, chunk, chunks
from orchtw.watch.bookmarks import TimerWheel, next_bookmark
from orchtw.watch.dispatcher import Dispatcher
from orchtw.watch.entry import LARGE_BYTES, Entry
from orchtw.watch.frames import ADDED, Wire
from orchtw.watch.gate import Gate
from orchtw.watch.group import MAX_WRITE_BYTES, Due, Group, Places
from orchtw.watch.selection import Selection

SCAN_ENTRIES: Final = 64  # entries examined at once when the state is replayed: each may have to be read first


class WatchSink(Protocol):
    """Destination of a member's bytes: the body of a response."""

    def write(self, framed: bytes) -> None:
        """Send HTTP chunks; may call the member's `pause`, `resume` or `close` before it returns."""

    def write_pieces(self, pieces: Sequence[bytes]) -> None:
        """Send one HTTP chunk of these contents without copying them; otherwise as `write`."""

    def finish(self, ending: Ending = Ending.COMPLETE) -> None:
        """End the stream for the given reason."""


def _unwritable(framed: bytes) -> None:
    """Discard frames: `write` before the start and after the end."""


class Watcher:
    """Watch from a revision, or from a snapshot of the state, on (reference WATCH-1).

    With `state`, an ADDED for each selected entry of it comes first; then everything after revision `cursor`, in
    order, each event once; a cursor in the future is silent until events pass it. With `marks`, an annotated BOOKMARK
    comes between the two (reference WATCH-20). A paused member gets no bytes and costs only its cursor; one whose
    cursor has left the history gets an ERROR 410 and its end. At `deadline` (seconds on the timers' clock) the stream
    ends normally.
    """

    log_failures = Logger()

    __slots__ = (
        "__weakref__",
        "_bookmarks",
        "_deadline",
        "_dispatcher",
        "_draining",
        "_ended",
        "_group",
        "_marks",
        "_next_bookmark",
        "_position",
        "_selection",
        "_sink",
        "_state",
        "_timers",
        "_wire",
        "cursor",
        "fresh",
        "paused",
        "place",
        "slot",
        "write",
    )

    def __init__(
        self,
        dispatcher: Dispatcher,
        timers: TimerWheel,
        selection: Selection,
        wire: Wire,
        cursor: int,
        *,
        state: Sequence[Entry] | None = None,
        bookmarks: bool = False,
        marks: bool = False,
        deadline: float = inf,
    ) -> None:
        self.cursor = cursor
        self.paused = False
        self.fresh = True
        self.place: Places | None = None
        self.slot = -1
        self.write: Callable[[bytes], None] = _unwritable
        self._dispatcher = dispatcher
        self._timers = timers
        self._selection = selection
        self._wire = wire
        self._state = state
        self._position = 0
        self._bookmarks = bookmarks
        self._marks = marks
        self._next_bookmark = inf
        self._deadline = deadline
        self._draining = False
        self._ended = False
        self._group: Group | None = None
        self._sink: WatchSink | None = None

    def start(self, sink: WatchSink) -> None:
        """Join the group and write what is due; everything goes to `sink` from now on."""
        if self._ended:
            return
        self._sink = sink
        self.write = sink.write
        if self._dispatcher.closed:
            self.end()
            return
        self._group = self._dispatcher.group(self._selection, self._wire)
        self._selection = self._group.selection  # an equal one: one object is enough
        self._group.join(self)
        if self._bookmarks:
            self._next_bookmark = self._timers.first_bookmark(self._deadline)
        self._timers.arm(self, min(self._next_bookmark, self._deadline))
        self.wake()

    def begin_at(self, state: Sequence[Entry], revision: int) -> None:
        """Begin with a past state, which is that of `revision`, and what came after it. Only before the start."""
        self._state, self.cursor = state, revision

    def pause(self) -> None:
        """Write nothing until `resume`."""
        self.paused = True

    def resume(self) -> None:
        """Resume writing, beginning with the missed events."""
        if self._ended:
            return
        self.paused = False
        self.wake()

    def wake(self) -> None:
        """Catch up if the member is behind; stop when the sink pauses it."""
        group = self._group
        if group is None or self._draining or self.place is not group.behind:
            return
        self._draining = True
        turns = self._dispatcher.turns
        end = turns.end()
        try:
            while not self.paused:
                due = self._next(group)
                if due is None:
                    break
                if isinstance(due, bytes):
                    if due:
                        self.write(due)
                elif self._sink is not None:
                    self._sink.write_pieces(due)
                if turns.seconds() >= end:
                    turns.later(self.wake)
                    break
        except StatusError as error:
            self.fail(error)
        finally:
            self._draining = False

    def _next(self, group: Group) -> Due | None:
        """Return the next frames, or None. Raises Expired (410), InternalError (500)."""
        try:
            if self._state is not None:
                return self._next_of_state(self._state)
            if self._marks:
                self._marks = False
                return group.state_end(self.cursor)
            return group.next_for(self)
        except StatusError:
            raise
        except Exception:
            self.log_failures.failure("a watch could not be served")
            raise InternalError.of("the watch could not be continued") from None

    def _is_through(self, gate: Gate, entries: Sequence[Entry]) -> bool:
        """Report whether the gate lets the selected entries through; if not, the watcher is woken when it does."""
        matches = self._selection.matches
        lacking = [entry for entry in entries if matches(entry) and gate.lacks(entry)]
        if lacking and self._group is not None:
            self._group.prepare(gate, lacking, self)
        return not lacking

    def _next_of_state(self, state: Sequence[Entry]) -> Due | None:
        """Return synthetic ADDED events of up to SCAN_ENTRIES entries, or of a large one."""
        frames: list[bytes] = []
        size = 0
        matches, wire = self._selection.matches, self._wire
        first = self._position
        if wire.gate is not None and not self._is_through(wire.gate, state[first : first + SCAN_ENTRIES]):
            return None
        for entry in state[first : first + SCAN_ENTRIES]:
            if size >= MAX_WRITE_BYTES:
                break
            if matches(entry):
                opens = self.fresh and wire.opens
                if not opens and len(entry.raw) >= LARGE_BYTES:
                    if frames:
                        break
                    pieces = wire.pieces(ADDED, entry)
                    if pieces is not None:
                        self.fresh = False
                        self._go_to(first + 1)
                        wire.sent.observe(sum(map(len, pieces)))
                        return pieces
                frames.append((wire.opening if opens else wire.frame)(ADDED, entry, entry.revision))
                self.fresh = False
                size += len(frames[-1])
            first += 1
        self._go_to(first)
        wire.sent.observe_all(map(len, frames))
        return chunks(frames) if frames else b""

    def _go_to(self, position: int) -> None:
        self._position = position
        if self._state is not None and position >= len(self._state):
            self._state = None

    def expire(self) -> None:
        """End the watch with an ERROR 410: its initial state can no longer be kept for it."""
        if self._state is not None:
            self.fail(Expired.watch(self.cursor, self.cursor + 1))

    def on_time(self, now: float) -> None:
        """Write a bookmark, or end, when due (reference WATCH-12)."""
        if self._ended:
            return
        if now >= self._deadline:
            self.end(Ending.DEADLINE)
            return
        if now >= self._next_bookmark:
            self._next_bookmark = next_bookmark(now, now, self._deadline)
            self.write_bookmark()
        if not self._ended:
            self._timers.arm(self, min(self._next_bookmark, self._deadline))

    def write_bookmark(self) -> None:
        """Write a bookmark if the member has everything up to its revision and is not paused."""
        group = self._group
        if group is None:
            return
        if group.pending:
            group.flush(self._dispatcher.turns.end())
        if not self.paused and group.up_to_date(self):
            self.write(group.bookmark())

    def fail(self, error: StatusError) -> None:
        """Send an ERROR event with the error's Status, then end the stream."""
        if not self._ended:
            self._dispatcher.expired += isinstance(error, Expired)
            self.write(chunk(self._wire.error(error)))
            self.end()

    def end(self, ending: Ending = Ending.COMPLETE) -> None:
        """End the stream normally: pending bytes are sent, then the body is complete."""
        sink = self._sink
        if not self._ended:
            self.close()
            if sink is not None:
                sink.finish(ending)

    def close(self) -> None:
        """Leave the group and the timers, and write nothing more: the client is gone, or the stream is over."""
        self._ended = True
        self.paused = True
        self.write = _unwritable
        self._sink = None
        self._state = None
        self._timers.disarm(self)
        group, self._group = self._group, None
        if group is not None:
            group.leave(self)
