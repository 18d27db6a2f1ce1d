"""A resource with readable frames, and sinks that record their writes."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from math import inf

from orchtw.errors import StatusError
from orchtw.metrics.series import Histogram
from orchtw.request import Ending, chunks
from orchtw.watch.bookmarks import TimerWheel
from orchtw.watch.dispatcher import Dispatcher
from orchtw.watch.entry import NO_LABELS, Entry
from orchtw.watch.event_log import EventLog, HeadRevision
from orchtw.watch.frames import FRAME_BYTES, Wire
from orchtw.watch.gate import Done, Gate
from orchtw.watch.recent import RecentBudget
from orchtw.watch.selection import Selection
from orchtw.watch.turns import ReactorTurns
from orchtw.watch.watcher import Watcher


def unchunk(data: bytes) -> bytes:
    """The payload of HTTP chunks."""
    out = b""
    while data:
        size, rest = data.split(b"\r\n", 1)
        length = int(size, 16)
        assert rest[length : length + 2] == b"\r\n"
        out += rest[:length]
        data = rest[length + 2 :]
    return out


class Stepping:
    """Clock that advances by `step` seconds whenever it is read."""

    def __init__(self, step: float) -> None:
        self.step = step
        self.now = 0.0

    def __call__(self) -> float:
        self.now += self.step
        return self.now


class TextWire:
    """Frames such as `ADDED ns/name@7 value`, one a line; counts how many were made."""

    def __init__(self, opens: bool = False, shares: bool = True) -> None:
        self.opens = opens
        self.gate: Gate | None = None
        self.sent = Histogram(FRAME_BYTES)
        self.shares = shares
        self.made = 0

    def frame(self, event_type: str, entry: Entry, revision: int) -> bytes:
        self.made += 1
        return b"%b %b@%d %b\n" % (event_type.encode(), entry.key.encode(), revision, entry.raw)

    def opening(self, event_type: str, entry: Entry, revision: int) -> bytes:
        return b"first " + self.frame(event_type, entry, revision)

    def pieces(self, event_type: str, entry: Entry) -> tuple[bytes, ...] | None:
        head = b"%b %b@%d " % (event_type.encode(), entry.key.encode(), entry.revision)
        return (head, entry.raw, b"\n") if self.shares else None

    def bookmark(self, revision: int, *, ends_state: bool = False) -> bytes:
        return b"%bBOOKMARK %d\n" % (b"END " if ends_state else b"", revision)

    def error(self, error: StatusError) -> bytes:
        return b"ERROR %d %b\n" % (error.code, error.message.encode())


class SlowGate:
    """Makes entries ready when it is told to `answer`; `asked` are those that it was asked for, once each."""

    def __init__(self) -> None:
        self.ready: set[Entry] = set()
        self.asked: list[tuple[list[Entry], Done]] = []

    def lacks(self, entry: Entry) -> bool:
        return entry not in self.ready

    def prepare(self, entries: Sequence[Entry], done: Done) -> None:
        self.asked.append((list(entries), done))

    def answer(self, error: StatusError | None = None) -> bool:
        """Answer the oldest question; returns whether there was one."""
        if not self.asked:
            return False
        entries, done = self.asked.pop(0)
        if error is None:
            self.ready.update(entries)
        done(error)
        return True


class RecordingSink:
    """Sink that records its writes.

    After `room` writes it pauses its member, as a full transport does.
    """

    def __init__(self) -> None:
        self.writes: list[bytes] = []
        self.pieces: list[bytes] = []
        self.finished = 0
        self.ending: Ending | None = None
        self.room: int | None = None
        self.member: Watcher | None = None
        self.on_write: Callable[[], None] = lambda: None

    def write(self, framed: bytes) -> None:
        assert self.finished == 0, "written after the end"
        self.writes.append(framed)
        if self.room is not None:
            self.room -= 1
            if self.room <= 0 and self.member is not None:
                self.member.pause()
        self.on_write()

    def write_pieces(self, pieces: Sequence[bytes]) -> None:
        self.pieces += pieces
        self.write(chunks(pieces))

    def finish(self, ending: Ending = Ending.COMPLETE) -> None:
        self.finished += 1
        self.ending = ending

    @property
    def lines(self) -> list[str]:
        """All frames so far."""
        return [line.strip() for line in unchunk(b"".join(self.writes)).decode().splitlines()]


class Watched:
    """One resource: its state, log and dispatcher, without a store."""

    def __init__(self, max_events: int = 100_000, min_events: int = 0) -> None:
        self.head = HeadRevision()
        self.log = EventLog(0, max_events=max_events, min_events=min_events)
        self.timers = TimerWheel(0.0)
        self.budget = RecentBudget()
        self.soon: list[Callable[[], None]] = []
        self.seconds: Callable[[], float] = lambda: 0.0
        self.turns = ReactorTurns(lambda: self.seconds(), self.soon.append)
        self.dispatcher = Dispatcher(self.log, self.head, self.budget, self.turns)
        self.entries: dict[str, Entry] = {}
        self.wire = TextWire()

    def put(
        self,
        key: str,
        value: str = "",
        labels: Mapping[str, str] = NO_LABELS,
        fields: tuple[str, ...] = (),
        now: float = 0.0,
    ) -> Entry:
        """Create or update an object; dispatched, not flushed."""
        revision = self.head.revision + 1
        namespace, _, name = key.rpartition("/")
        new = Entry(key, namespace, name, revision, labels, fields, value.encode())
        self._happen(revision, key, new, now)
        return new

    def delete(self, key: str, now: float = 0.0) -> None:
        """Delete an object; dispatched, not flushed."""
        self._happen(self.head.revision + 1, key, None, now)

    def elsewhere(self, revisions: int = 1) -> None:
        """Advance the store's revision, as writes of other resources do."""
        self.head.revision += revisions

    def _happen(self, revision: int, key: str, new: Entry | None, now: float) -> None:
        old = self.entries.pop(key, None)
        if new is not None:
            self.entries[key] = new
        self.dispatcher.dispatch(self.log.append(revision, key, old, new, now))
        self.head.revision = revision

    def flush(self) -> None:
        """The end of a reactor turn."""
        self.dispatcher.flush()

    def turn(self) -> bool:
        """Run the calls deferred to the next reactor turn; return whether there were any."""
        soon, self.soon[:] = list(self.soon), []
        for call in soon:
            call()
        return bool(soon)

    def watch(
        self,
        since: int | None = None,
        selection: Selection | None = None,
        *,
        wire: Wire | None = None,
        state: Sequence[Entry] | None = None,
        bookmarks: bool = False,
        marks: bool = False,
        deadline: float = inf,
        room: int | None = None,
    ) -> tuple[Watcher, RecordingSink]:
        """Return a started member and its sink; `since` None is the present revision."""
        cursor = self.head.revision if since is None else since
        member = Watcher(
            self.dispatcher,
            self.timers,
            selection or Selection(),
            wire or self.wire,
            cursor,
            state=state,
            bookmarks=bookmarks,
            marks=marks,
            deadline=deadline,
        )
        sink = RecordingSink()
        sink.member, sink.room = member, room
        member.start(sink)
        return member, sink
