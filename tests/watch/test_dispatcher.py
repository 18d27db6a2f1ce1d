"""The dispatch index: the groups that an event reaches, and the cost of that."""
# covers: orchtw.watch.bookmarks

from __future__ import annotations

from twisted.trial.unittest import SynchronousTestCase

from orchtw.rules.selectors import parse_fields, parse_labels
from orchtw.watch.entry import Entry
from orchtw.watch.group import Group
from orchtw.watch.selection import Selection
from tests.watch.watching import TextWire, Watched

NAMES = ("spec.nodeName",)


def on_node(node: str, namespace: str = "") -> Selection:
    """Pods of one node."""
    return Selection(namespace, None, parse_fields(f"spec.nodeName={node}", NAMES), NAMES)


class BrokenWire(TextWire):
    """Wire whose frames cannot be encoded."""

    def frame(self, event_type: str, entry: Entry, revision: int) -> bytes:
        raise ValueError("no frame")


class DispatcherTests(SynchronousTestCase):
    def touched(self, watched: Watched, groups: dict[str, Group]) -> set[str]:
        """The names of the groups that have something pending."""
        names = {name for name, group in groups.items() if group.pending}
        watched.flush()
        return names

    def test_index(self) -> None:
        """An event reaches the groups of its old and its new terms and no others."""
        watched = Watched()
        selections = {
            "all": Selection(),
            "ns": Selection("ns"),
            "other": Selection("other"),
            "a": Selection("ns", None, parse_fields("metadata.name=a", ())),
            "n1": on_node("n1"),
            "n2 in ns": on_node("n2", "ns"),
            "n2 in other": on_node("n2", "other"),
            "web": Selection("", parse_labels("app=web")),
            "api in ns": Selection("ns", parse_labels("app=api")),
        }
        groups = {}
        for name, selection in selections.items():
            watched.watch(selection=selection)
            groups[name] = watched.dispatcher.group(selection, watched.wire)
        watched.put("ns/a", labels={"app": "web"}, fields=("n1",))
        self.assertEqual(self.touched(watched, groups), {"all", "ns", "a", "n1", "web"})
        watched.put("ns/a", labels={"app": "api", "x": "y"}, fields=("n2",))
        self.assertEqual(self.touched(watched, groups), {"all", "ns", "a", "n1", "n2 in ns", "web", "api in ns"})
        watched.delete("ns/a")
        self.assertEqual(self.touched(watched, groups), {"all", "ns", "a", "n2 in ns", "api in ns"})

    def test_cost_is_flat(self) -> None:
        """With 1,000 different node selectors an event touches the one group that it concerns."""
        watched = Watched()
        sinks = [watched.watch(selection=on_node(f"n{number}"))[1] for number in range(1000)]
        watched.put("ns/a", fields=("n7",))
        self.assertEqual(len(watched.dispatcher._dirty), 1)
        watched.flush()
        self.assertEqual([len(sink.writes) for sink in sinks], [int(number == 7) for number in range(1000)])

    def test_delivered(self) -> None:
        """All events are delivered once they have been written to every member, slow ones included."""
        watched = Watched()
        watcher, _ = watched.watch()
        self.assertTrue(watched.dispatcher.delivered)
        watched.put("ns/a")
        self.assertFalse(watched.dispatcher.delivered)
        watched.flush()
        self.assertTrue(watched.dispatcher.delivered)
        watcher.pause()
        watched.put("ns/a")
        watched.flush()
        self.assertFalse(watched.dispatcher.delivered)
        watcher.resume()
        self.assertTrue(watched.dispatcher.delivered)

    def test_lag(self) -> None:
        """The lag is the age of the oldest event that a slow member has not been sent."""
        watched = Watched()
        watched.seconds = lambda: 10.0
        watcher, _ = watched.watch()
        self.assertEqual(watched.dispatcher.lag_s, 0.0)
        watched.put("ns/a", now=5.0)
        watched.flush()
        self.assertEqual(watched.dispatcher.lag_s, 0.0)
        watcher.pause()
        watched.put("ns/a", now=7.0)
        watched.put("ns/a", now=9.0)
        watched.flush()
        self.assertEqual(watched.dispatcher.lag_s, 3.0)
        watcher.resume()
        self.assertEqual(watched.dispatcher.lag_s, 0.0)

    def test_groups_end_with_their_last_member(self) -> None:
        """A group lives as long as it has members, and leaves nothing in the index."""
        watched = Watched()
        one, _ = watched.watch(selection=on_node("n1"))
        two, _ = watched.watch(selection=on_node("n1"))
        self.assertEqual(watched.dispatcher.groups, 1)
        one.close()
        self.assertEqual(watched.dispatcher.groups, 1)
        two.close()
        self.assertEqual((watched.dispatcher.groups, watched.dispatcher._tables), (0, {}))

    def test_frames_are_made_once_and_dropped(self) -> None:
        """Groups of one wire share an event's frame while it is being flushed, and no longer."""
        watched = Watched()
        for selection in (Selection(), Selection("ns"), on_node("n1")):
            watched.watch(selection=selection)
        watched.put("ns/a", fields=("n1",))
        watched.flush()
        self.assertEqual(watched.wire.made, 1)
        self.assertIsNone(watched.log.since(0)[0].frames)

    def test_no_watchers_no_work(self) -> None:
        """Without a group there is nothing to flush."""
        watched = Watched()
        watched.put("ns/a")
        self.assertEqual((watched.dispatcher._dirty, watched.dispatcher._events), ([], []))

    def test_broken_group_ends_alone(self) -> None:
        """A group whose frames cannot be encoded gets a 500 and ends; the others go on."""
        watched = Watched()
        _, bad = watched.watch(wire=BrokenWire())
        _, good = watched.watch()
        watched.put("a")
        watched.flush()
        self.assertEqual(len(self.flushLoggedErrors(ValueError)), 1)
        self.assertTrue(bad.lines[0].startswith("ERROR 500"))
        self.assertEqual((bad.finished, good.lines), (1, ["ADDED a@1"]))

    def test_broken_frames_in_the_past(self) -> None:
        """A member that cannot be given its past gets a 500 and the end."""
        watched = Watched()
        watched.put("a")
        _, bad = watched.watch(since=0, wire=BrokenWire())
        self.assertEqual(len(self.flushLoggedErrors(ValueError)), 1)
        self.assertTrue(bad.lines[0].startswith("ERROR 500"))
        self.assertEqual((bad.finished, watched.dispatcher.groups), (1, 0))

    def test_broken_flush_on_joining(self) -> None:
        """A flush that a new member brings forward and that fails ends the whole group, the new one too."""
        watched = Watched()
        wire = BrokenWire()
        _, first = watched.watch(wire=wire)
        watched.put("a")
        _, second = watched.watch(wire=wire)
        watched.flush()
        self.assertEqual(len(self.flushLoggedErrors(ValueError)), 1)
        self.assertEqual((first.finished, second.finished, watched.dispatcher.groups), (1, 1, 0))

    def test_members(self) -> None:
        """Watchers, and those of them that are behind, can be counted."""
        watched = Watched()
        watched.watch()
        member, _ = watched.watch()
        member.pause()
        watched.put("a")
        watched.flush()
        self.assertEqual(watched.dispatcher.members(), (2, 1))

    def test_close(self) -> None:
        """Closing ends every stream; later ones end as soon as they start."""
        watched = Watched()
        _, sink = watched.watch()
        watched.dispatcher.close()
        _, late = watched.watch()
        self.assertEqual((sink.finished, late.finished, late.writes), (1, 1, []))
