"""The event log: order, bounds, expiry and going back in time."""

from __future__ import annotations

from twisted.trial.unittest import SynchronousTestCase

from orchtw.errors import Expired
from orchtw.watch.entry import NO_LABELS, Entry
from orchtw.watch.event_log import MIN_EVENTS, EventLog
from orchtw.watch.frames import Wire
from tests.watch.watching import TextWire


def entry(key: str, revision: int, size: int = 0) -> Entry:
    """A cluster-scoped entry with an encoding of `size` bytes."""
    return Entry(key, "", key, revision, NO_LABELS, (), b"x" * size)


def undone(log: EventLog, revision: int, now: float = 0.0) -> dict[str, Entry | None]:
    """Return each changed key's entry at `revision`."""
    return {event.key: event.old for event in reversed(log.undoing(revision, now))}


def filled(log: EventLog, count: int, now: float = 0.0, size: int = 0) -> EventLog:
    """`log` with `count` updates of one object at revisions 1, 2, …"""
    old: Entry | None = None
    for revision in range(1, count + 1):
        new = entry("a", revision, size)
        log.append(revision, "a", old, new, now)
        old = new
    return log


class EventLogTests(SynchronousTestCase):
    def test_since_is_strictly_after(self) -> None:
        """`since` gives the events after a revision, not the one at it (reference WATCH-1)."""
        log = filled(EventLog(0), 5)
        self.assertEqual([event.revision for event in log.since(3)], [4, 5])

    def test_since_a_revision_of_another_resource(self) -> None:
        """A cursor need not be a revision that this log has."""
        log = EventLog(0)
        log.append(5, "a", None, entry("a", 5), 0.0)
        log.append(9, "b", None, entry("b", 9), 0.0)
        self.assertEqual([event.revision for event in log.since(7)], [9])
        self.assertEqual(log.since(100), [])

    def test_forgotten(self) -> None:
        """A log that is told to forget has no events, holds no bytes, and expires watches from before."""
        log = filled(EventLog(0), 5, size=100)
        held = log.superseded_bytes
        log.forget(7)
        self.assertEqual((len(log), log.superseded_bytes, log.dropped_bytes, log.oldest), (0, 0, held, 7))
        self.assertRaises(Expired, log.since, 6)
        self.assertEqual(log.since(7), [])
        log.append(8, "a", None, entry("a", 8), 0.0)
        self.assertEqual([event.revision for event in log.since(7)], [8])

    def test_before_the_oldest_is_gone(self) -> None:
        """A cursor older than the kept history raises Expired with both revisions (reference WATCH-2, ERR-22)."""
        log = filled(EventLog(0, max_events=2, min_events=0), 5)
        self.assertEqual(len(log.since(3)), 2)
        error = self.assertRaises(Expired, log.since, 2)
        self.assertEqual(error.message, "too old resource version: 2 (3)")

    def test_revision_at(self) -> None:
        """The state at a time is that before the first event after it, never one older than the log."""
        log = EventLog(10)
        self.assertIsNone(log.revision_at(0.0))
        for revision, time in ((15, 1.0), (20, 2.0), (20, 2.0), (30, 3.0)):
            log.append(revision, "a", None, entry("a", revision), time)
        found = [log.revision_at(time) for time in (0.0, 1.0, 1.5, 2.0, 2.9, 3.0, 9.0)]
        self.assertEqual(found, [14, 19, 19, 29, 29, None, None])

    def test_reach(self) -> None:
        """States are known from the oldest revision on, or since the last event that the history has forgotten."""
        log = EventLog(10, history_s=5.0)
        self.assertEqual(log.reach(100.0), 10)
        for revision in (15, 20, 30):
            log.append(revision, "a", None, entry("a", revision), revision / 10)
        for now, reach in ((0.0, 10), (6.6, 15), (6.9, 15), (7.5, 20), (100.0, 30)):
            self.assertEqual(log.reach(now), reach)
            self.assertRaises(Expired, log.undoing, reach - 1, now) if reach > 10 else None
            log.undoing(reach, now)

    def test_start_revision_is_the_oldest(self) -> None:
        """A cursor before the revision at which a log began raises Expired."""
        log = EventLog(40)
        self.assertRaises(Expired, log.since, 39)
        self.assertEqual(log.since(40), [])

    def test_age(self) -> None:
        """Events older than the history go when something new comes, or on trim."""
        log = filled(EventLog(0, history_s=300, min_events=0), 10, now=0.0)
        log.trim(300.0)
        self.assertEqual(len(log), 10)
        log.append(11, "b", None, entry("b", 11), 301.0)
        self.assertEqual((len(log), log.oldest), (1, 10))

    def test_hundred_are_kept(self) -> None:
        """At least 100 events are kept however old and large they are (reference WATCH-4)."""
        log = filled(EventLog(0, max_superseded_bytes=10), 1000, size=100)
        log.trim(1e9)
        self.assertEqual(len(log), MIN_EVENTS)
        self.assertEqual(len(log.since(log.oldest)), MIN_EVENTS)

    def test_superseded_bytes(self) -> None:
        """The encodings that only the log holds are bounded."""
        log = filled(EventLog(0, max_superseded_bytes=1000, min_events=0), 100, size=100)
        self.assertEqual(log.superseded_bytes, 1000)
        self.assertEqual(len(log), 10)

    def test_dropped_entries_are_let_go(self) -> None:
        """Dropped events are not referenced from the dead front of the log."""
        log = filled(EventLog(0, max_events=70, min_events=0), 100)
        held = [event for event in log._events if event.new is not None]
        self.assertEqual(len(held), 70)

    def test_undoing(self) -> None:
        """The events after a revision tell, per changed key, the state it had then."""
        log = EventLog(0)
        first, second, other = entry("a", 1), entry("a", 3), entry("b", 2)
        log.append(1, "a", None, first, 0.0)
        log.append(2, "b", None, other, 0.0)
        log.append(3, "a", first, second, 0.0)
        log.append(4, "a", second, None, 0.0)
        self.assertEqual(undone(log, 2), {"a": first})
        self.assertEqual(undone(log, 1), {"a": first, "b": None})
        self.assertEqual(undone(log, 3), {"a": second})
        self.assertEqual(undone(log, 4), {})


    def test_undoing_beyond_the_history(self) -> None:
        """A revision kept for watches only is not a state to list: the store knows what is compacted (WATCH-4)."""
        log = EventLog(0, history_s=10)
        log.append(1, "a", None, entry("a", 1), 0.0)
        log.append(2, "b", None, entry("b", 2), 5.0)
        self.assertEqual(undone(log, 0, 10.0), {"a": None, "b": None})
        self.assertRaises(Expired, log.undoing, 0, 10.1)
        self.assertEqual(undone(log, 1, 10.1), {"b": None})
        self.assertEqual(undone(log, 2, 100.0), {})
        self.assertEqual(len(log.since(0)), 2)


class EventTests(SynchronousTestCase):
    def test_frames_are_shared(self) -> None:
        """A frame is encoded once for each wire and type, however many watchers send it."""
        event = EventLog(0).append(1, "a", None, entry("a", 1), 0.0)
        wire, other = TextWire(), TextWire()
        wires: list[Wire] = [wire, wire, other]
        frames = [event.shared_frame(each, "ADDED") for each in wires]
        self.assertIs(frames[0], frames[1])
        self.assertEqual((wire.made, other.made), (1, 1))
