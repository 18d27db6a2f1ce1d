"""Watches whose frames need conversion first (reference CRD-43)."""

from __future__ import annotations

from twisted.trial.unittest import SynchronousTestCase

from orchtw.errors import InternalError
from tests.watch.watching import RecordingSink, SlowGate, Watched


class GateTests(SynchronousTestCase):
    """One resource behind a gate."""

    def setUp(self) -> None:
        self.watched = Watched()
        self.gate = self.watched.wire.gate = SlowGate()

    def settle(self) -> None:
        self.watched.flush()
        while self.watched.turn():
            pass

    def answer(self, error: InternalError | None = None) -> None:
        self.assertTrue(self.gate.answer(error))
        self.settle()

    def seen(self, sink: RecordingSink) -> list[str]:
        return [f"{line.split()[0]} {line.partition('@')[2]}" for line in sink.lines]

    def test_order(self) -> None:
        """Frames are sent in order, and events that arrive meanwhile are converted together."""
        _, sink = self.watched.watch()
        self.watched.put("n/a")
        self.settle()
        for _ in range(3):
            self.gate.ready.add(self.watched.put("n/a"))
            self.settle()
        self.watched.put("n/b")
        self.settle()
        self.assertEqual((self.seen(sink), len(self.gate.asked)), ([], 1))
        self.answer()
        expected = ["ADDED 1", "MODIFIED 2", "MODIFIED 3", "MODIFIED 4", "ADDED 5"]
        self.assertEqual(self.seen(sink), expected[:4])
        self.answer()
        self.assertEqual(self.seen(sink), expected)

    def test_bookmarks(self) -> None:
        """A bookmark is never ahead of an event that waits (reference WATCH-13)."""
        member, sink = self.watched.watch(bookmarks=True)
        self.watched.elsewhere(4)
        self.watched.put("n/a")
        self.settle()
        member._next_bookmark = 0.0
        member.on_time(1.0)
        self.assertEqual(sink.lines, ["BOOKMARK 4"])
        self.answer()
        member._next_bookmark = 0.0
        member.on_time(2.0)
        self.assertEqual(sink.lines[1:], ["ADDED n/a@5", "BOOKMARK 5"])

    def test_failure(self) -> None:
        """Members that cannot be shown an event get the error and end."""
        _, sink = self.watched.watch()
        _, other = self.watched.watch()
        self.watched.put("n/a")
        self.settle()
        self.answer(InternalError("no"))
        for each in (sink, other):
            self.assertEqual((each.lines, each.finished), (["ERROR 500 no"], 1))
        self.assertEqual(self.watched.dispatcher.groups, 0)

    def test_failure_behind(self) -> None:
        """A watch of the past that cannot be shown it ends alone."""
        old = self.watched.put("n/a")
        _, present = self.watched.watch()
        _, past = self.watched.watch(since=0)
        self.settle()
        self.answer(InternalError("no"))
        self.assertEqual((past.lines, present.finished), (["ERROR 500 no"], 0))
        self.gate.ready.add(old)
        _, again = self.watched.watch(since=0)
        self.settle()
        self.assertEqual(again.lines, ["ADDED n/a@1"])

    def test_state(self) -> None:
        """The state that a watch begins with is asked for in the same way."""
        state = [self.watched.put(f"n/{name}") for name in "abc"]
        self.gate.ready.add(state[1])
        member, sink = self.watched.watch(state=state)
        member.resume()
        self.settle()
        self.assertEqual(([len(entries) for entries, _ in self.gate.asked], sink.lines), ([2], []))
        self.answer()
        self.assertEqual([line.split("@")[0] for line in sink.lines], ["ADDED n/a", "ADDED n/b", "ADDED n/c"])

    def test_nothing_is_kept(self) -> None:
        """A waiting group keeps no events: one whose position has left the log ends with a 410."""
        self.watched = Watched(max_events=3)
        self.watched.wire.gate = self.gate
        _, sink = self.watched.watch()
        for _ in range(9):
            self.watched.put("n/a")
            self.settle()
        group = next(iter(self.watched.dispatcher._groups.values()))
        self.assertEqual((group.pending, len(self.gate.asked)), ([], 1))
        self.answer()
        self.assertEqual((sink.lines[0][:9], sink.finished), ("ERROR 410", 1))

    def test_left(self) -> None:
        """An answer for a group that no longer waits is ignored."""
        member, sink = self.watched.watch()
        self.watched.put("n/a")
        self.settle()
        member.close()
        self.answer()
        self.assertEqual((sink.lines, self.watched.dispatcher.groups), ([], 0))
