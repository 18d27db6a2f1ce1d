"""Members and their groups: joining, transitions, backpressure, catching up, expiry, bookmarks and deadlines."""
# covers: orchtw.watch.group, orchtw.watch.recent

from __future__ import annotations

from twisted.trial.unittest import SynchronousTestCase

from orchtw.request import Ending
from orchtw.rules.selectors import parse_labels
from orchtw.watch import group as group_module
from orchtw.watch.recent import Batch, Recent, RecentBudget
from orchtw.watch.selection import Selection
from tests.watch.watching import RecordingSink, TextWire, Watched

BIG = "x" * 40_000  # two of these are more than one write


class JoinTests(SynchronousTestCase):
    def test_present(self) -> None:
        """A watch from the present gets new events once they are flushed, in one write."""
        watched = Watched()
        watched.put("a")
        _, sink = watched.watch()
        watched.put("a", "v")
        watched.put("b")
        self.assertEqual(sink.writes, [])
        watched.flush()
        self.assertEqual(sink.lines, ["MODIFIED a@2 v", "ADDED b@3"])
        self.assertEqual(len(sink.writes), 1)

    def test_past(self) -> None:
        """A watch from a version gets everything strictly after it, at once (reference WATCH-1)."""
        watched = Watched()
        watched.put("a")
        watched.put("b")
        watched.delete("a")
        _, sink = watched.watch(since=1)
        self.assertEqual(sink.lines, ["ADDED b@2", "DELETED a@3"])

    def test_past_with_pending_events(self) -> None:
        """Joining between a change and its flush doubles nothing."""
        watched = Watched()
        _, first = watched.watch()
        watched.put("a")
        _, second = watched.watch(since=0)
        watched.flush()
        watched.put("b")
        watched.flush()
        self.assertEqual(first.lines, ["ADDED a@1", "ADDED b@2"])
        self.assertEqual(second.lines, first.lines)

    def test_future(self) -> None:
        """A watch from a future version is silent until events pass it (reference WATCH-3)."""
        watched = Watched()
        _, sink = watched.watch(since=3, bookmarks=True)
        for key in "abc":
            watched.put(key)
            watched.flush()
            watched.timers.tick(60.0)
        self.assertEqual(sink.lines, [])
        watched.put("d")
        watched.put("e")
        watched.flush()
        self.assertEqual(sink.lines, ["ADDED d@4", "ADDED e@5"])

    def test_future_within_one_flush(self) -> None:
        """Of events that are flushed together, a watch from a future version gets the later ones only."""
        watched = Watched()
        _, sink = watched.watch(since=2)
        watched.watch()
        for key in "abcd":
            watched.put(key)
        watched.flush()
        self.assertEqual(sink.lines, ["ADDED c@3", "ADDED d@4"])

    def test_state_then_changes(self) -> None:
        """A watch from the state shows it as ADDED with each object's own version, then changes
        (reference WATCH-1).
        """
        watched = Watched()
        state = [watched.put("a"), watched.put("b")]
        watched.elsewhere()
        _, sink = watched.watch(state=state)
        watched.put("a", "new")
        watched.flush()
        self.assertEqual(sink.lines, ["ADDED a@1", "ADDED b@2", "MODIFIED a@4 new"])

    def test_end_of_the_state(self) -> None:
        """One annotated bookmark is between the state and changes, also if it is empty (reference WATCH-20)."""
        watched = Watched()
        state = [watched.put("a"), watched.put("b")]
        _, sink = watched.watch(state=state, marks=True)
        watched.put("a", "new")
        watched.flush()
        self.assertEqual(sink.lines, ["ADDED a@1", "ADDED b@2", "END BOOKMARK 2", "MODIFIED a@3 new"])
        _, empty = watched.watch(state=[], marks=True)
        self.assertEqual(empty.lines, ["END BOOKMARK 3"])

    def test_end_of_the_state_waits_for_room(self) -> None:
        """A paused member gets neither the end of its state nor changes before the rest of the state."""
        watched = Watched()
        state = [watched.put("a", BIG), watched.put("b", BIG), watched.put("c")]
        member, sink = watched.watch(state=state, marks=True, room=0)
        watched.put("d")
        watched.flush()
        self.assertNotIn("END BOOKMARK 3", sink.lines)
        while len(sink.lines) < 5:
            member.resume()
        self.assertEqual([line[:7] for line in sink.lines], ["ADDED a", "ADDED b", "ADDED c", "END BOO", "ADDED d"])

    def test_state_is_selected(self) -> None:
        """Only selected objects of the state are shown."""
        watched = Watched()
        state = [watched.put("a", labels={"x": "y"}), watched.put("b")]
        _, sink = watched.watch(state=state, selection=Selection("", parse_labels("x=y")))
        self.assertEqual(sink.lines, ["ADDED a@1"])

    def test_never_started(self) -> None:
        """A member that is closed before it starts joins nothing and writes nothing."""
        watched = Watched()
        member, sink = watched.watch()
        member.close()
        other = RecordingSink()
        member.start(other)
        self.assertEqual((watched.dispatcher.groups, sink.finished, other.finished), (0, 0, 0))


class TransitionTests(SynchronousTestCase):
    def test_table(self) -> None:
        """Entering a selection is ADDED, staying MODIFIED, leaving DELETED with the old state (reference WATCH-8)."""
        table = [
            (None, "x", ["ADDED a@2 new"]),
            (None, "-", []),
            ("x", "x", ["MODIFIED a@2 new"]),
            ("-", "x", ["ADDED a@2 new"]),
            ("x", "-", ["DELETED a@2 old"]),
            ("-", "-", []),
            ("x", None, ["DELETED a@2 old"]),
            ("-", None, []),
        ]
        for before, after, expected in table:
            watched = Watched()
            if before is None:
                watched.elsewhere()
            else:
                watched.put("a", "old", labels={"l": before})
            _, sink = watched.watch(selection=Selection("", parse_labels("l in (x,z)")))
            _, indexed = watched.watch(selection=Selection("", parse_labels("l=x")))
            if after is None:
                watched.delete("a")
            else:
                watched.put("a", "new", labels={"l": after})
            watched.flush()
            self.assertEqual((sink.lines, indexed.lines), (expected, expected), f"{before} to {after}")


class BackpressureTests(SynchronousTestCase):
    def test_slow_member_costs_a_cursor(self) -> None:
        """A paused member gets no writes and delays no other; resumed, it catches up in one write."""
        watched = Watched()
        slow, slow_sink = watched.watch()
        _, quick_sink = watched.watch()
        slow.pause()
        for key in "abc":
            watched.put(key)
            watched.flush()
        self.assertEqual((slow_sink.writes, len(quick_sink.writes)), ([], 3))
        slow.resume()
        self.assertEqual(slow_sink.lines, quick_sink.lines)
        self.assertEqual(len(slow_sink.writes), 1)

    def test_paused_without_missing_anything(self) -> None:
        """A member that was paused while nothing happened just goes on, however old its last event is."""
        watched = Watched(max_events=1)
        member, sink = watched.watch(selection=Selection("ns"))
        member.pause()
        for _ in range(5):
            watched.put("other/a")
            watched.flush()
        member.resume()
        watched.put("ns/a")
        watched.flush()
        self.assertEqual(sink.lines, ["ADDED ns/a@6"])

    def test_pause_inside_write(self) -> None:
        """A flush of several batches stops for a member that pauses inside `write` (reference DESIGN-9)."""
        watched = Watched()
        member, sink = watched.watch(room=1)
        _, other = watched.watch()
        for key in "abcdef":
            watched.put(key, BIG)
        watched.flush()
        self.assertEqual((len(sink.lines), len(other.lines)), (1, 6))
        for _ in range(5):
            sink.room = 1
            member.resume()
        self.assertEqual(sink.lines, other.lines)
        self.assertTrue(all(len(write) < 2 * group_module.MAX_WRITE_BYTES for write in sink.writes))

    def test_resume_inside_anothers_write(self) -> None:
        """A member that resumes while others are being written to gets each event once."""
        watched = Watched()
        slow, slow_sink = watched.watch()
        _, quick = watched.watch()
        slow.pause()
        quick.on_write = slow.resume
        for key in "abcdef":
            watched.put(key, BIG)
        watched.flush()
        watched.put("g")
        watched.flush()
        self.assertEqual(slow_sink.lines, quick.lines)

    def test_pause_and_resume_inside_write(self) -> None:
        """A sink that pauses and resumes within one write gets each event once."""
        watched = Watched()
        member, sink = watched.watch()

        def blink() -> None:
            member.pause()
            member.resume()

        sink.on_write = blink
        for key in "abcdef":
            watched.put(key, BIG)
        watched.flush()
        late, late_sink = watched.watch(since=0, room=0)
        late_sink.on_write = late.resume
        late.resume()
        self.assertEqual([line[:9] for line in sink.lines], [f"ADDED {key}@{n}" for n, key in enumerate("abcdef", 1)])
        self.assertEqual(late_sink.lines, sink.lines)

    def test_blinking_does_not_nest(self) -> None:
        """However often a sink pauses and resumes within its writes, catching up stays one loop."""
        self.patch(group_module, "MAX_WRITE_BYTES", 1)
        watched = Watched()
        for _ in range(2000):
            watched.put("a")
        member, sink = watched.watch(since=0, room=0)
        sink.on_write = member.resume
        member.resume()
        self.assertEqual(len(sink.lines), 2000)

    def test_state_waits_for_room(self) -> None:
        """The initial state is written in pieces, each when the sink has room; later changes follow."""
        watched = Watched()
        state = [watched.put(key, BIG) for key in "abcdef"]
        member, sink = watched.watch(state=state, room=1)
        self.assertEqual(len(sink.lines), 2)
        watched.put("a", "new")
        watched.flush()
        self.assertEqual(len(sink.lines), 2)
        while not member.place or len(sink.lines) < 7:
            sink.room = 1
            member.resume()
        self.assertEqual([line[:10].strip() for line in sink.lines[-2:]], ["ADDED f@6", "MODIFIED a"])

    def test_catching_up_shares_batches(self) -> None:
        """Members that missed the same flushes catch up with the same bytes, made once."""
        watched = Watched()
        watched.watch()
        slow = [watched.watch() for _ in range(3)]
        for member, _ in slow:
            member.pause()
        for key in "abcdef":
            watched.put(key)
            watched.flush()
        for member, _ in slow:
            member.resume()
        self.assertEqual(watched.wire.made, 6)
        self.assertEqual({len(sink.lines) for _, sink in slow}, {6})
        self.assertEqual(watched.budget.used_bytes, 0)

    def test_shared_batches_are_bounded(self) -> None:
        """Shared batches kept for slow members are bounded; beyond that, members read the log."""
        watched = Watched()
        slow, sink = watched.watch()
        _, quick = watched.watch()
        slow.pause()
        for number in range(60):
            watched.put(f"k{number}", BIG)
            watched.flush()
        self.assertLessEqual(watched.budget.used_bytes, 1024 * 1024)
        slow.resume()
        self.assertEqual(sink.lines, quick.lines)
        self.assertEqual(watched.budget.used_bytes, 0)

    def test_fallen_behind_the_log(self) -> None:
        """Past the log's tail there is an ERROR 410 and the end (reference WATCH-2)."""
        watched = Watched(max_events=2)
        member, sink = watched.watch()
        member.pause()
        for _ in range(4):
            watched.put("a")
            watched.flush()
        member.resume()
        self.assertEqual(sink.lines, ["ERROR 410 too old resource version: 0 (2)"])
        self.assertEqual((sink.finished, watched.dispatcher.groups), (1, 0))

    def test_too_old_from_the_start(self) -> None:
        """A watch from before the history begins with ERROR 410 and ends (reference WATCH-2)."""
        watched = Watched(max_events=1)
        watched.put("a")
        watched.put("a")
        _, sink = watched.watch(since=0)
        self.assertEqual((sink.lines, sink.finished), (["ERROR 410 too old resource version: 0 (1)"], 1))

    def test_close_inside_write(self) -> None:
        """A connection that is lost during a write is written nothing more, and the others go on."""
        watched = Watched()
        member, sink = watched.watch()
        _, other = watched.watch()
        sink.on_write = member.close
        for key in "abc":
            watched.put(key, BIG)
        watched.flush()
        self.assertEqual((len(sink.lines), len(other.lines), sink.finished), (1, 3, 0))
        self.assertEqual(watched.dispatcher.members(), (1, 0))

    def test_failing_sink_ends_alone(self) -> None:
        """A sink that raises loses its stream; its neighbours are served."""
        watched = Watched()
        _, bad = watched.watch()
        _, good = watched.watch()

        def fail() -> None:
            raise OSError("gone")

        bad.on_write = fail
        watched.put("a")
        watched.flush()
        self.assertEqual(len(self.flushLoggedErrors(OSError)), 1)
        self.assertEqual((good.lines, bad.finished), (["ADDED a@1"], 1))


class OpeningTests(SynchronousTestCase):
    def test_first_event_is_special(self) -> None:
        """A wire that opens gives each stream's first event its own form (Table, reference WATCH-16)."""
        watched = Watched()
        wire = TextWire(opens=True)
        _, early = watched.watch(wire=wire)
        watched.put("a")
        watched.flush()
        _, late = watched.watch(wire=wire)
        watched.put("b")
        watched.put("c")
        watched.flush()
        watched.delete("c")
        watched.flush()
        self.assertEqual(early.lines, ["first ADDED a@1", "ADDED b@2", "ADDED c@3", "DELETED c@4"])
        self.assertEqual(late.lines, ["first ADDED b@2", "ADDED c@3", "DELETED c@4"])

    def test_state(self) -> None:
        """The first event of a stream that begins with the state is its first object."""
        watched = Watched()
        state = [watched.put("a"), watched.put("b")]
        _, sink = watched.watch(state=state, wire=TextWire(opens=True))
        watched.put("c")
        watched.flush()
        self.assertEqual(sink.lines, ["first ADDED a@1", "ADDED b@2", "ADDED c@3"])

    def test_waiting_costs_no_history(self) -> None:
        """A stream that waits for its first event does not expire."""
        watched = Watched(max_events=1)
        _, sink = watched.watch(wire=TextWire(opens=True), selection=Selection("ns"))
        for key in ("o/a", "o/b", "o/c", "ns/a"):
            watched.put(key)
            watched.flush()
        self.assertEqual(sink.lines, ["first ADDED ns/a@4"])

    def test_bookmark_while_waiting(self) -> None:
        """A stream that waits for its first event gets bookmarks, which keep its version fresh
        (reference WATCH-12).
        """
        watched = Watched()
        _, sink = watched.watch(wire=TextWire(opens=True), bookmarks=True)
        watched.elsewhere(7)
        watched.timers.tick(60.0)
        watched.put("a")
        watched.flush()
        self.assertEqual(sink.lines, ["BOOKMARK 7", "first ADDED a@8"])


class TimeTests(SynchronousTestCase):
    def test_bookmarks(self) -> None:
        """Bookmarks come about every 60 s to members that asked, with the server's version (reference WATCH-12)."""
        watched = Watched()
        _, sink = watched.watch(bookmarks=True)
        _, other = watched.watch()
        watched.put("a")
        watched.flush()
        watched.elsewhere(41)
        watched.timers.tick(60.0)
        watched.timers.tick(119.0)
        self.assertEqual(sink.lines, ["ADDED a@1", "BOOKMARK 42"])
        watched.timers.tick(120.0)
        self.assertEqual(sink.lines[2:], ["BOOKMARK 42"])
        self.assertEqual(other.lines, ["ADDED a@1"])

    def test_bookmark_after_pending_events(self) -> None:
        """A bookmark never overtakes an event that it covers."""
        watched = Watched()
        _, sink = watched.watch(bookmarks=True)
        watched.put("a")
        watched.timers.tick(60.0)
        watched.flush()
        self.assertEqual(sink.lines, ["ADDED a@1", "BOOKMARK 1"])

    def test_no_bookmark_while_behind(self) -> None:
        """A member that is paused or behind gets no bookmark."""
        watched = Watched()
        member, sink = watched.watch(bookmarks=True)
        member.pause()
        watched.timers.tick(60.0)
        watched.put("a")
        watched.flush()
        watched.timers.tick(120.0)
        self.assertEqual(sink.lines, [])

    def test_deadline(self) -> None:
        """A last bookmark comes 2 s before the deadline, then the stream ends normally (reference WATCH-11)."""
        watched = Watched()
        _, sink = watched.watch(bookmarks=True, deadline=10.0)
        watched.timers.tick(7.9)
        self.assertEqual(sink.lines, [])
        watched.timers.tick(8.0)
        self.assertEqual((sink.lines, sink.finished), (["BOOKMARK 0"], 0))
        watched.timers.tick(10.0)
        self.assertEqual((sink.lines, sink.finished), (["BOOKMARK 0"], 1))
        self.assertEqual((sink.ending, watched.dispatcher.groups), (Ending.DEADLINE, 0))

    def test_short_watch_without_bookmark(self) -> None:
        """A watch that is shorter than 2 s ends without a bookmark."""
        watched = Watched()
        _, sink = watched.watch(bookmarks=True, deadline=1.0)
        watched.timers.tick(1.0)
        self.assertEqual((sink.lines, sink.finished), ([], 1))

    def test_bookmarks_are_spread(self) -> None:
        """Watches that start together are not all due together."""
        watched = Watched()
        sinks = [watched.watch(bookmarks=True)[1] for _ in range(100)]
        due = []
        for quarter in range(241):
            before = sum(len(sink.writes) for sink in sinks)
            watched.timers.tick(quarter / 4)
            due.append(sum(len(sink.writes) for sink in sinks) - before)
        self.assertEqual(sum(due), 100)
        self.assertLessEqual(max(due), 4)

    def test_closed_members_are_forgotten(self) -> None:
        """A member that has left leaves nothing in the timers."""
        watched = Watched()
        member, _ = watched.watch(bookmarks=True, deadline=1000.0)
        member.close()
        self.assertEqual(watched.timers._slots, {})

    def test_a_leap_of_the_clock(self) -> None:
        """After a long gap every member that was due is woken once."""
        watched = Watched()
        _, sink = watched.watch(bookmarks=True)
        watched.timers.tick(1e7)
        self.assertEqual(sink.lines, ["BOOKMARK 0"])


class RecentTests(SynchronousTestCase):
    def test_only_without_gaps(self) -> None:
        """Batches are handed out only to a cursor that misses nothing before them."""
        recent = Recent(RecentBudget())
        first, second = Batch(4, 6, b"one"), Batch(9, 10, b"two")
        recent.add(first)
        recent.add(second)
        self.assertEqual(recent.after(4, 100), [first, second])
        self.assertEqual(recent.after(4, 1), [first])
        self.assertEqual(recent.after(3, 100), [])
        self.assertEqual(recent.after(5, 100), [])
        self.assertEqual(recent.after(6, 100), [second])
        self.assertEqual(recent.after(8, 100), [second])
        self.assertEqual(recent.after(10, 100), [])
        self.assertTrue(recent.ends_at(10))
        self.assertFalse(recent.ends_at(8))

    def test_budget(self) -> None:
        """When all groups together hold too much, the next batch costs its group the oldest ones."""
        budget = RecentBudget(limit_bytes=5)
        recent, other = Recent(budget), Recent(budget)
        recent.add(Batch(0, 1, b"four"))
        other.add(Batch(0, 1, b"four"))
        self.assertEqual((other.after(0, 9), budget.used_bytes), ([], 4))
        recent.clear()
        self.assertEqual(budget.used_bytes, 0)
