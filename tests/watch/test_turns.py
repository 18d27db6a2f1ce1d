"""Long work in slices: turns, fan-out to many members, replays and catching up that find nothing."""

from __future__ import annotations

from collections.abc import Callable

from twisted.trial.unittest import SynchronousTestCase

from orchtw.rules.selectors import parse_labels
from orchtw.watch.entry import Entry
from orchtw.watch.group import SCAN_EVENTS, STRIDE
from orchtw.watch.selection import Selection
from orchtw.watch.turns import SLICE_S, WORK_S, ReactorTurns
from orchtw.watch.watcher import SCAN_ENTRIES
from tests.watch.watching import RecordingSink, Stepping, Watched

NONE = Selection("", parse_labels("no=such"))


class TurnsTests(SynchronousTestCase):
    def setUp(self) -> None:
        self.soon: list[Callable[[], None]] = []
        self.clock = Stepping(WORK_S / 4)
        self.turns = ReactorTurns(self.clock, self.soon.append)
        self.done: list[str] = []

    def turn(self) -> None:
        soon, self.soon[:] = list(self.soon), []
        for call in soon:
            call()

    def work(self, name: str, pieces: int) -> Callable[[], None]:
        """Work that does a piece each time and comes back for the next."""

        def go_on() -> None:
            nonlocal pieces
            self.done.append(name)
            pieces -= 1
            if pieces:
                self.turns.later(go_on)

        return go_on

    def test_round_robin(self) -> None:
        """A turn does one slice of the waiting work, in order of arrival, and asks for the next turn once."""
        for name in "abcdef":
            self.turns.later(self.work(name, 2))
        self.assertEqual((self.done, len(self.soon)), ([], 1))
        self.turn()
        self.assertEqual((self.done, len(self.soon)), (list("abcd"), 1))
        while self.soon:
            self.turn()
        self.assertEqual("".join(self.done), "abcdefabcdef")

    def test_alone(self) -> None:
        """Work that is alone does one piece a turn: it looks at the end itself."""
        self.turns.later(self.work("a", 3))
        self.turn()
        self.assertEqual(self.done, ["a"])

    def test_newcomers_are_short(self) -> None:
        """A watch that begins while others wait, or after a used slice, gets a shorter slice."""
        full = self.turns.end() - self.clock.now
        self.turns.spent()
        self.assertLess(self.turns.end() - self.clock.now, full / 4)
        self.turn()
        self.assertEqual(round(self.turns.end() - self.clock.now, 9), round(full, 9))


class FanOutTests(SynchronousTestCase):
    def test_members_are_written_to_in_slices(self) -> None:
        """A flush writes to as many as a slice allows; the others follow in the next turns, each event once."""
        watched = Watched()
        sinks = [watched.watch()[1] for _ in range(20 * STRIDE)]
        watched.seconds = Stepping(SLICE_S / 2)
        watched.put("a")
        watched.flush()
        served = sum(bool(sink.writes) for sink in sinks)
        self.assertTrue(STRIDE <= served <= 4 * STRIDE, served)
        turns = self.until_done(watched)
        self.assertGreater(turns, 10)
        self.assertTrue(all(sink.lines == ["ADDED a@1"] for sink in sinks))

    def test_events_that_come_meanwhile(self) -> None:
        """Changes between the slices come in order, without a gap and once; so do bookmarks."""
        watched = Watched()
        sinks = [watched.watch(bookmarks=True)[1] for _ in range(6 * STRIDE)]
        watched.seconds = Stepping(SLICE_S / 2)
        for i in range(5):
            watched.put(f"k{i}")
            watched.flush()
            watched.turn()
        watched.timers.tick(70.0)
        self.until_done(watched)
        expected = [f"ADDED k{i}@{i + 1}" for i in range(5)]
        for sink in sinks:
            self.assertEqual([line for line in sink.lines if "BOOKMARK" not in line], expected)
            if "BOOKMARK 5" in sink.lines:
                self.assertEqual(sink.lines[-1], "BOOKMARK 5")

    def test_groups_are_flushed_in_slices(self) -> None:
        """So are many groups; frames are shared until the last of them has been served."""
        watched = Watched()
        selections = [Selection("", parse_labels(f"x!=v{i}")) for i in range(50)]
        sinks = [watched.watch(selection=selection)[1] for selection in selections]
        watched.seconds = Stepping(SLICE_S / 2)
        watched.put("a")
        watched.flush()
        self.assertLess(sum(bool(sink.writes) for sink in sinks), 10)
        self.assertGreater(self.until_done(watched), 10)
        self.assertTrue(all(sink.lines == ["ADDED a@1"] for sink in sinks))
        self.assertEqual(watched.wire.made, 1)
        self.assertIsNone(watched.log.since(0)[0].frames)

    def test_many_events_of_one_group(self) -> None:
        """A group's own frames are made in slices; a member that joins between them misses and repeats nothing."""
        watched = Watched()
        _, first = watched.watch()
        watched.seconds = Stepping(SLICE_S / 4)
        for i in range(40):
            watched.put(f"k{i}")
        watched.flush()
        self.assertLess(watched.wire.made, 10)
        _, second = watched.watch(since=0)
        self.until_done(watched)
        expected = [f"ADDED k{i}@{i + 1}" for i in range(40)]
        self.assertEqual((first.lines, second.lines), (expected, expected))

    def until_done(self, watched: Watched) -> int:
        """Turns until nothing is left."""
        turns = 0
        while watched.turn():
            turns += 1
            self.assertLess(turns, 10_000)
        return turns


class ScanTests(SynchronousTestCase):
    def test_state_without_a_match(self) -> None:
        """A replay that finds nothing looks at some entries a turn, and then goes on with changes."""
        watched = Watched()
        watched.seconds = Stepping(SLICE_S)
        state = [Entry(f"k{i}", "", f"k{i}", 1, {}, (), b"") for i in range(20 * SCAN_ENTRIES)]
        _, sink = watched.watch(state=state, selection=NONE)
        turns = 0
        while watched.turn():
            turns += 1
        self.assertTrue(19 <= turns <= 22, turns)
        watched.put("a", labels={"no": "such"})
        watched.flush()
        while watched.turn():
            pass
        self.assertEqual(sink.lines, ["ADDED a@1"])

    def test_log_without_a_match(self) -> None:
        """So does one that catches up from the log."""
        watched = Watched()
        for i in range(20 * SCAN_EVENTS):
            watched.put(f"k{i % 7}")
        watched.flush()
        watched.seconds = Stepping(SLICE_S)
        _, sink = watched.watch(since=0, selection=NONE)
        turns = 0
        while watched.turn():
            turns += 1
        self.assertTrue(19 <= turns <= 23, turns)
        watched.put("a", labels={"no": "such"})
        watched.flush()
        while watched.turn():
            pass
        self.assertEqual(sink.lines, [f"ADDED a@{20 * SCAN_EVENTS + 1}"])

    def test_fast_reader(self) -> None:
        """A reader that is never paused gets a long state in slices too."""
        watched = Watched()
        watched.seconds = Stepping(SLICE_S)
        state = [Entry(f"k{i}", "", f"k{i}", 1, {}, (), b"x" * 1000) for i in range(2000)]
        _, sink = watched.watch(state=state)
        self.assertLess(len(sink.writes), 3)
        while watched.turn():
            pass
        self.assertEqual(len(sink.lines), 2000)


class LargeTests(SynchronousTestCase):
    def test_state(self) -> None:
        """A large object is written out of its own bytes: members that do not read hold no copies."""
        watched = Watched()
        big = watched.put("big", "x" * 900_000)
        small = watched.put("small", "y")
        _, sink = watched.watch(state=[big, small])
        self.assertTrue(any(piece is big.raw for piece in sink.pieces))
        self.assertEqual([line[:11] for line in sink.lines], ["ADDED big@1", "ADDED small"])

    def test_log(self) -> None:
        """So is a large change that a member catches up with, between others."""
        watched = Watched()
        watched.put("a")
        big = watched.put("big", "x" * 900_000)
        watched.put("b")
        watched.flush()
        _, sink = watched.watch(since=0)
        self.assertTrue(any(piece is big.raw for piece in sink.pieces))
        self.assertEqual([line[:8] for line in sink.lines], ["ADDED a@", "ADDED bi", "ADDED b@"])

    def test_unshared_form(self) -> None:
        """A form that has to be made is made."""
        watched = Watched()
        watched.wire.shares = False
        big = watched.put("big", "x" * 900_000)
        _, sink = watched.watch(state=[big])
        self.assertEqual((sink.pieces, [line[:11] for line in sink.lines]), ([], ["ADDED big@1"]))

    def test_expired_state(self) -> None:
        """A member whose snapshot is taken away gets an ERROR 410; one that has read it all goes on."""
        watched = Watched()
        state = [watched.put(f"k{i}", "x" * 70_000) for i in range(3)]
        slow, sink = watched.watch(state=state, room=1)
        fast, other = watched.watch(state=state)
        slow.expire()
        fast.expire()
        self.assertIn("ERROR 410", sink.lines[-1])
        self.assertEqual((sink.finished, other.finished, len(other.lines)), (1, 0, 3))


class OpeningTests(SynchronousTestCase):
    def test_first_events_are_shared(self) -> None:
        """Members that wait for their first event get it made once for all of them."""
        watched = Watched()
        watched.wire.opens = True
        sinks: list[RecordingSink] = [watched.watch()[1] for _ in range(20)]
        watched.put("a")
        watched.flush()
        self.assertTrue(all(sink.lines == ["first ADDED a@1"] for sink in sinks))
        self.assertLessEqual(watched.wire.made, 2)
