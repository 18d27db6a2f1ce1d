"""Random histories, selections, pauses and joins against a plain model of each watcher's expected events."""

from __future__ import annotations

from unittest.mock import patch

from hypothesis import given
from hypothesis import strategies as st
from twisted.trial.unittest import SynchronousTestCase

from orchtw.rules.selectors import parse_fields, parse_labels
from orchtw.watch import group as group_module
from orchtw.watch import watcher as watcher_module
from orchtw.watch.entry import Entry
from orchtw.watch.selection import Selection
from orchtw.watch.turns import SLICE_S
from orchtw.watch.watcher import Watcher
from tests.properties import examples
from tests.watch.watching import RecordingSink, SlowGate, Stepping, TextWire, Watched

NAMES = ("spec.nodeName",)
SELECTIONS = [
    Selection(),
    Selection("n1"),
    Selection("", parse_labels("l=x")),
    Selection("n1", parse_labels("l=x")),
    Selection("", parse_labels("l!=x")),
    Selection("", None, parse_fields("spec.nodeName=p", NAMES), NAMES),
    Selection("n2", parse_labels("l"), parse_fields("spec.nodeName!=p", NAMES), NAMES),
    Selection("n1", None, parse_fields("metadata.name=a", ()), NAMES),
]
KEYS = [f"{namespace}/{name}" for namespace in ("n1", "n2") for name in "ab"]
puts = st.tuples(st.just("put"), st.sampled_from(KEYS), st.sampled_from("xy-"), st.sampled_from("pq"))
actions = st.one_of(
    puts,
    puts,
    st.tuples(st.just("delete"), st.sampled_from(KEYS)),
    st.tuples(st.just("flush")),
    st.tuples(st.just("turn")),
    st.tuples(st.just("answer")),
    st.tuples(st.just("elsewhere")),
    st.tuples(st.just("tick")),
    st.tuples(st.just("join"), st.integers(0, 7), st.sampled_from(["state", "past", "future", "now"]), st.booleans()),
    st.tuples(st.just("pause"), st.integers(0, 5)),
    st.tuples(st.just("resume"), st.integers(0, 5), st.integers(1, 3)),
    st.tuples(st.just("room"), st.integers(0, 5), st.integers(1, 3)),
)


def line(kind: str, entry: Entry, revision: int) -> str:
    """Return the line that `TextWire` shows, without trailing white space."""
    return f"{kind} {entry.key}@{revision} {entry.raw.decode()}".strip()


class Model:
    """The resource, its watchers, and the events that each of them should have received in the end."""

    def __init__(self, slice_steps: int, gated: bool) -> None:
        self.watched = Watched()
        if slice_steps:
            self.watched.seconds = Stepping(SLICE_S / slice_steps)
        self.opening = TextWire(opens=True)
        self.gate = SlowGate()
        if gated:
            self.opening.gate = self.watched.wire.gate = self.gate
        self.members: list[tuple[Watcher, RecordingSink, int, Selection, list[str]]] = []
        self.now = 0.0

    def act(self, action: tuple[object, ...]) -> None:
        """Perform one action of the history."""
        name, *arguments = action
        getattr(self, str(name))(*arguments)

    def put(self, key: str, label: str, node: str) -> None:
        self.watched.put(key, f"v{label}{node}", {} if label == "-" else {"l": label}, (node,))

    def delete(self, key: str) -> None:
        if key in self.watched.entries:
            self.watched.delete(key)

    def flush(self) -> None:
        self.watched.flush()

    def turn(self) -> None:
        self.watched.turn()

    def answer(self) -> None:
        self.gate.answer()

    def elsewhere(self) -> None:
        self.watched.elsewhere()

    def tick(self) -> None:
        self.now += 61.0
        self.watched.timers.tick(self.now)

    def join(self, number: int, how: str, opens: bool) -> None:
        if len(self.members) == 6:
            return
        head, selection = self.watched.head.revision, SELECTIONS[number]
        since = {"past": head // 2, "future": head + 3}.get(how, head)
        state = [entry for _, entry in sorted(self.watched.entries.items())] if how == "state" else None
        shown = [line("ADDED", entry, entry.revision) for entry in state or () if selection.matches(entry)]
        wire = self.opening if opens else self.watched.wire
        member, sink = self.watched.watch(since, selection, wire=wire, state=state, bookmarks=True)
        self.members.append((member, sink, since, selection, shown))

    def pause(self, number: int) -> None:
        if number < len(self.members):
            self.members[number][0].pause()

    def room(self, number: int, writes: int) -> None:
        if number < len(self.members):
            self.members[number][1].room = writes

    def resume(self, number: int, writes: int) -> None:
        self.room(number, writes)
        if number < len(self.members):
            self.members[number][0].resume()

    def settle(self) -> None:
        """Everything is flushed and everybody reads."""
        self.watched.flush()
        for member, sink, *_ in self.members:
            sink.room = None
            member.resume()
        while self.watched.turn() or self.gate.answer():
            pass

    def expected(self, since: int, selection: Selection, shown: list[str]) -> list[str]:
        """The state shown first, then every event after `since` as it concerns the selection."""
        seen = list(shown)
        for event in self.watched.log.since(0):
            was = event.old is not None and selection.matches(event.old)
            now = event.new is not None and selection.matches(event.new)
            if event.revision <= since or not (was or now):
                continue
            entry = event.new if now else event.old
            assert entry is not None
            seen.append(line("MODIFIED" if was and now else "ADDED" if now else "DELETED", entry, event.revision))
        return seen


class ModelTests(SynchronousTestCase):
    @examples(300)
    @given(
        st.lists(actions, max_size=60),
        st.sampled_from([1, 30, 100, 65536]),
        st.sampled_from([0, 1, 2, 7]),
        st.booleans(),
    )
    def test_each_event_once_in_order(
        self, history: list[tuple[object, ...]], write_bytes: int, slice_steps: int, gated: bool
    ) -> None:
        """Whatever the pauses, slices and conversions, each watcher sees the filtered events, once, in order
        (reference WATCH-9, CRD-43).
        """
        with (
            patch.object(group_module, "MAX_WRITE_BYTES", write_bytes),
            patch.object(watcher_module, "MAX_WRITE_BYTES", write_bytes),
            patch.object(group_module, "STRIDE", 1),
            patch.object(group_module, "SCAN_EVENTS", 3),
            patch.object(watcher_module, "SCAN_ENTRIES", 2),
        ):
            model = Model(slice_steps, gated)
            for action in history:
                model.act(action)
            model.settle()
        for _, sink, since, selection, shown in model.members:
            lines = [text.removeprefix("first ") for text in sink.lines]
            events = [text for text in lines if not text.startswith("BOOKMARK")]
            self.assertEqual(events, model.expected(since, selection, shown))
            self.check_bookmarks(lines, since, len(shown))
        self.assertEqual(model.watched.budget.used_bytes, 0)

    def check_bookmarks(self, lines: list[str], since: int, shown: int) -> None:
        """No event after a bookmark is older than it, and no bookmark is older than what was sent
        (reference WATCH-13).
        """
        highest = since
        for text in lines[shown:]:
            mark = text.startswith("BOOKMARK")
            revision = int(text.split()[1].rpartition("@")[2])
            self.assertTrue(revision >= highest if mark else revision > highest, lines)
            highest = revision
