"""Indexes by labels, fields and names: when they are made, that they are right, and what they may take."""
# covers: orchtw.storage.cache.index

from __future__ import annotations

from collections.abc import Callable

from hypothesis import given, strategies
from twisted.internet.defer import CancelledError
from twisted.trial.unittest import SynchronousTestCase

from orchtw.rules.field_selectors import parse_fields
from orchtw.rules.selectors import parse_labels
from orchtw.storage.cache import index as index_module
from orchtw.storage.cache import indexes as module
from orchtw.storage.cache.index import ABSENT, MAX_VALUES, CacheIndex, Wanted, asked
from orchtw.storage.cache.indexes import IDLE_S, MAX_INDEXES, Indexes
from orchtw.storage.cache.kept import MAX_KEPT, KeptStates
from orchtw.storage.cache.ordered import Entries, Ordered
from orchtw.storage.cache.pins import Pins
from orchtw.storage.cache.selecting import selected
from orchtw.watch.entry import Entry
from orchtw.watch.event_log import EventLog
from orchtw.watch.recent import RecentBudget
from orchtw.watch.selection import Selection
from orchtw.watch.turns import ReactorTurns
from tests.properties import examples

FIELDS = ("spec.nodeName",)
KNOWN = (*FIELDS, "metadata.name", "metadata.namespace")


def entry(key: str, label: str | None = None, node: str = "") -> Entry:
    namespace, _, name = key.rpartition("/")
    return Entry(key, namespace, name, 1, {} if label is None else {"app": label}, (node,), b"")


def selection(namespace: str = "", labels: str = "", fields: str = "") -> Selection:
    return Selection(namespace, parse_labels(labels), parse_fields(fields, KNOWN), FIELDS)


KEYS = strategies.builds("{}/{:02}".format, strategies.sampled_from(["a", "b"]), strategies.integers(0, 20))
LABELS = strategies.sampled_from([None, "x", "y"])
CHANGES = strategies.lists(strategies.tuples(KEYS, strategies.booleans(), LABELS))
SEVERAL = ["app in (x,y)", "app", "app in (x,z),app", "app!=w", "app notin (w,x)", "!app"]
CALM = examples(60)


class Resource:
    """Entries by key and in order, and their indexes; `turn` is the end of a turn of the reactor, a second later."""

    def __init__(self, entries: dict[str, Entry], limit: int = 1 << 20) -> None:
        self.now = 0.0
        self.soon: list[Callable[[], None]] = []
        self.current = entries
        self.ordered = Ordered(entries.values())
        self.memory = RecentBudget(limit)
        turns = ReactorTurns(self._seconds, self.soon.append)
        self.indexes = Indexes(self.current, self.ordered.snapshot, turns, self.memory)

    def _seconds(self) -> float:
        self.now += 0.001
        return self.now

    def turn(self) -> None:
        self.now += 1.0
        due, self.soon[:] = self.soon[:], []
        for work in due:
            work()

    def settle(self) -> None:
        while self.soon:
            self.turn()

    def change(self, key: str, new: Entry | None) -> None:
        old = self.current.pop(key, None)
        if new is not None:
            self.current[key] = new
            self.ordered.put(new)
        elif old is not None:
            self.ordered.remove(key)
        if old is not None or new is not None:
            self.indexes.change(old, new)

    def found(self, selected: Selection, low: str = "", high: str = "") -> tuple[list[str], str]:
        entries, kind = self.indexes.shortest(selected, self.ordered.snapshot().between(low, high), low, high)
        return [each.key for each in entries], kind


class IndexTests(SynchronousTestCase):
    @CALM
    @given(CHANGES)
    def test_like_a_scan(self, changes: list[tuple[str, bool, str | None]]) -> None:
        """After any changes each value has the entries that have it, in order, in their present form."""
        self.patch(index_module, "BLOCK", 3)
        index, model = CacheIndex(("label", "app")), dict[str, Entry]()
        for key, is_put, label in changes:
            old, new = model.pop(key, None), entry(key, label) if is_put else None
            if new is not None:
                model[key] = new
            index.change(old, new)
            for value in ("x", "y", "z"):
                expected = [model[key] for key in sorted(model) if model[key].labels.get("app") == value]
                self.assertEqual(list(index.of(value)), expected)
        indexed = [each for each in model.values() if each.labels]
        values = {each.labels["app"] for each in indexed}
        size = len(values) * index_module.VALUE_BYTES + len(indexed) * index_module.ENTRY_BYTES
        self.assertEqual(index.bytes, size)

    def test_asked(self) -> None:
        """Lookups by names, values of fields and labels, labels, other values (reference READ-26)."""
        everything = selection("a", "app=x,tier in (b),c!=d,e in (f,g),h", "spec.nodeName=n,metadata.name=m")
        expected = [
            Wanted(("name", ""), ("m",)),
            Wanted(("field", 0), ("n",)),
            Wanted(("label", "app"), ("x",)),
            Wanted(("label", "e"), ("f", "g")),
            Wanted(("label", "tier"), ("b",)),
            Wanted(("has", "h"), ("",)),
            Wanted(("label or none", "c"), ("d",), others=True),
        ]
        self.assertEqual(asked(everything), expected)
        self.assertEqual(asked(selection("a", "", "metadata.name!=n,metadata.namespace=b")), [])
        without = [
            Wanted(("label or none", "b"), (ABSENT,)),
            Wanted(("label or none", "app"), ("x", "y", "z"), others=True),
        ]
        self.assertEqual(asked(selection(labels="app!=x,!b,app notin (y,z)")), without)
        others = selection(fields="spec.nodeName!=a,spec.nodeName!=b")
        self.assertEqual(asked(others), [Wanted(("field", 0), ("a", "b"), others=True)])


class IndexesTests(SynchronousTestCase):
    def setUp(self) -> None:
        self.patch(module, "MIN_ENTRIES", 4)
        self.patch(module, "STRIDE", 2)

    def filled(self, limit: int = 1 << 20) -> Resource:
        made = [entry(f"{'ab'[i % 2]}/{i:03}", f"v{i % 10}", f"n{i % 20}") for i in range(100)]
        return Resource({each.key: each for each in made}, limit)

    def test_made_when_it_would_have_paid(self) -> None:
        """Lists that looked at as many entries in vain as there are bring an index about (reference READ-26)."""
        resource, wanted = self.filled(), selection(labels="app=v1")
        resource.indexes.looked(wanted, 60, 10)
        self.assertEqual(resource.soon, [])
        resource.indexes.looked(wanted, 60, 10)
        resource.turn()
        self.assertEqual(resource.found(wanted)[1], "")
        resource.settle()
        self.assertEqual(resource.found(wanted), ([f"b/{i:03}" for i in range(1, 100, 10)], "label"))
        self.assertEqual(resource.found(selection(labels="app=none")), ([], "label"))
        self.assertEqual(resource.found(selection(labels="app=v1"), "a/", "a0"), ([], "label"))

    def test_learnt_from_lists(self) -> None:
        """A list tells what it has looked at in vain, one that is given up too."""
        resource, wanted = self.filled(), selection(labels="app=v1")
        for _ in range(6):
            self.assertEqual(resource.soon, [])
            steps = selected(resource.ordered.snapshot(), wanted, resource.indexes)
            next(steps)
            steps.close()
        resource.settle()
        self.assertEqual(resource.found(wanted)[1], "label")

    def test_not_for_most(self) -> None:
        """A selector that most have brings none about: its lists look at little in vain."""
        resource = self.filled()
        for _ in range(100):
            resource.indexes.looked(selection(labels="app=v1"), 100, 100)
            resource.indexes.looked(selection(labels="app!=v1"), 100, 90)
        self.assertEqual(resource.soon, [])

    def test_the_fewest(self) -> None:
        """Of several indexes and the namespace the one with the fewest entries is taken."""
        resource = self.filled()
        for text in ("app=v1", "spec.nodeName=n1"):
            wanted = selection(labels=text) if text.startswith("app") else selection(fields=text)
            resource.indexes.looked(wanted, 100, 0)
            resource.settle()
        both = selection(labels="app=v1", fields="spec.nodeName=n1")
        self.assertEqual((len(resource.found(both)[0]), resource.found(both)[1]), (5, "field"))
        one = "b/001", "b/002"
        self.assertEqual(resource.found(both, *one), (["b/001"], ""))

    def test_chosen(self) -> None:
        """The term that fewest have gets the index, and one that most have gets none (reference READ-26)."""
        resource = self.filled()
        resource.indexes.looked(selection(labels="app", fields="spec.nodeName=n1"), 100, 0)
        resource.settle()
        self.assertEqual(resource.found(selection(fields="spec.nodeName=n1"))[1], "field")
        resource.indexes.looked(selection(labels="app in (v1,v2,v3,v4,v5,v6)"), 100, 0)
        resource.indexes.looked(selection(labels="app"), 100, 0)
        self.assertEqual((resource.soon, len(resource.indexes)), ([], 1))

    @CALM
    @given(CHANGES, strategies.sampled_from(SEVERAL))
    def test_several_values(self, changes: list[tuple[str, bool, str | None]], text: str) -> None:
        """Some values of a label, any, and any but some are found as by a look at everything (reference READ-26)."""
        self.patch(module, "USEFUL", 1)
        resource = Resource({each.key: each for each in (entry(f"c/{i}", "w") for i in range(5))})
        wanted = selection(labels=text)
        for _ in asked(wanted):
            resource.indexes.looked(wanted, 1000, 0)
            resource.settle()
        for key, is_put, label in changes:
            resource.change(key, entry(key, label) if is_put else None)
        found, kind = resource.found(wanted)
        expected = [key for key in sorted(resource.current) if wanted.matches(resource.current[key])]
        self.assertEqual([key for key in found if wanted.matches(resource.current[key])], expected)
        if len(found) < len(resource.current):
            self.assertEqual(kind, "label")

    def test_any_but_some(self) -> None:
        """Entries with any other value of a field are found where there are few values (reference READ-26)."""
        made = [entry(f"a/{i:03}", node=f"n{i % 50 // 48}") for i in range(100)]
        resource = Resource({each.key: each for each in made})
        wanted = selection(fields="spec.nodeName!=n0")
        resource.indexes.looked(wanted, 100, 0)
        resource.settle()
        self.assertEqual(resource.found(wanted), (["a/048", "a/049", "a/098", "a/099"], "field"))
        for number in range(MAX_VALUES):
            resource.change(f"b/{number}", entry(f"b/{number}", node=f"m{number}"))
        self.assertEqual(resource.found(wanted)[1], "")

    def test_waiting(self) -> None:
        """A list that would look at everything waits for the index that is being made (reference READ-26)."""
        resource, wanted = self.filled(), selection(labels="app=v1")
        self.assertIs(resource.indexes.coming(wanted), None)
        resource.indexes.looked(wanted, 100, 0)
        self.assertIs(resource.indexes.coming(selection(labels="tier=x")), None)
        self.assertIs(resource.indexes.coming(selection(labels="app in (v1,v2)")), None)
        waiting, gone = resource.indexes.coming(wanted), resource.indexes.coming(wanted)
        assert waiting is not None and gone is not None
        gone.addErrback(lambda failure: failure.trap(CancelledError) and None)
        gone.cancel()
        self.assertNoResult(waiting)
        resource.settle()
        self.assertIs(self.successResultOf(waiting), None)
        self.assertEqual(resource.found(wanted)[1], "label")

    def test_waiting_in_vain(self) -> None:
        """A waiting list goes on when the resource goes before the index is made."""
        resource, wanted = self.filled(), selection(labels="app=v1")
        resource.indexes.looked(wanted, 100, 0)
        waiting = resource.indexes.coming(wanted)
        assert waiting is not None
        resource.indexes.close()
        self.assertIs(self.successResultOf(waiting), None)
        resource.settle()
        self.assertEqual(len(resource.indexes), 0)

    @CALM
    @given(CHANGES, CHANGES)
    def test_made_amid_writes(
        self, before: list[tuple[str, bool, str | None]], after: list[tuple[str, bool, str | None]]
    ) -> None:
        """Writes while an index is being made are in it afterwards."""
        self.patch(module, "MIN_ENTRIES", 1)
        self.patch(module, "USEFUL", 1)
        made = [entry(key, label) for key, _, label in before]
        resource = Resource({each.key: each for each in made} | {"a/z": entry("a/z", "x")})
        wanted = selection(labels="app=x")
        resource.indexes.looked(wanted, 1000, 0)
        for key, is_put, label in after:
            resource.change(key, entry(key, label) if is_put else None)
            resource.turn()
        resource.settle()
        expected = [key for key in sorted(resource.current) if wanted.matches(resource.current[key])]
        self.assertEqual(resource.found(wanted)[0], expected)
        self.assertEqual(len(resource.indexes), 1)

    def test_given_up(self) -> None:
        """Unused indexes go, the least used of too many, and all when the resource goes."""
        resource = self.filled()
        for number in range(MAX_INDEXES + 1):
            resource.indexes.looked(selection(labels=f"key-{number}=v"), 100, 0)
            resource.settle()
        self.assertEqual(len(resource.indexes), MAX_INDEXES)
        resource.now += IDLE_S / 2
        self.assertEqual(resource.found(selection(labels="key-3=v")), ([], "label"))
        resource.now += IDLE_S / 2
        resource.indexes.trim()
        self.assertEqual(len(resource.indexes), 1)
        resource.indexes.close()
        self.assertEqual((len(resource.indexes), resource.memory.used_bytes), (0, 0))

    def test_memory(self) -> None:
        """All indexes together take no more than they may; one that would take half of that alone is not made."""
        resource = self.filled(limit=3000)
        resource.indexes.looked(selection(labels="app=v1"), 100, 0)
        resource.settle()
        self.assertEqual((len(resource.indexes), resource.memory.used_bytes), (0, 0))
        resource.indexes.looked(selection(labels="app=v1"), 100, 0)
        self.assertEqual(resource.soon, [])
        resource = self.filled(limit=6000)
        resource.indexes.looked(selection(labels="app=v1"), 100, 0)
        resource.settle()
        self.assertEqual(resource.memory.used_bytes, resource.indexes.bytes)
        for number in range(40):
            resource.change(f"a/{number:03}", entry(f"a/{number:03}", f"own-{number}"))
        resource.indexes.trim()
        self.assertEqual((len(resource.indexes), resource.memory.used_bytes), (0, 0))


class KeptTests(SynchronousTestCase):
    def setUp(self) -> None:
        self.pins = Pins(EventLog(0))
        self.kept = KeptStates(self.pins, 300.0)
        self.whole = Ordered(entry(f"{'ab'[i % 2]}/{i:03}", f"v{i % 10}") for i in range(100)).snapshot()

    def found(self, revision: int, now: float, selected: Selection, low: str = "", high: str = "") -> int | None:
        entries = self.kept.find(revision, now, selected, low, high)
        return None if entries is None else len(entries)

    def test_goes_on(self) -> None:
        """A list goes on in the state that it began with, and so do others at that revision (reference READ-27)."""
        few, other = selection(labels="app=v1"), selection(labels="app=v2")
        self.kept.keep(7, 0.0, few, Entries.run(self.whole[:10]), None)
        self.assertEqual(
            (self.found(7, 1.0, few), self.found(7, 1.0, other), self.found(8, 1.0, few)), (10, None, None)
        )
        self.kept.keep(7, 2.0, other, None, self.whole)
        self.assertEqual((self.found(7, 2.0, few), self.found(7, 2.0, other)), (10, 100))
        self.assertEqual(self.found(7, 2.0, other, "a/", "a0"), 50)

    def test_forgotten(self) -> None:
        """A state goes when nobody goes on with it, when there are too many, and when the history ends."""
        everything = selection()
        for revision in range(MAX_KEPT + 2):
            self.kept.keep(revision, 0.0, everything, None, self.whole)
            self.assertEqual(self.found(0, 0.0, everything), 100)
        self.assertEqual((len(self.kept), self.found(1, 0.0, everything)), (MAX_KEPT, None))
        for now in (50.0, 100.0, 150.0, 200.0, 250.0, 300.0):
            self.assertEqual(self.found(0, now, everything), 100)
            self.kept.trim(now)
        self.assertEqual((len(self.kept), self.found(0, 301.0, everything)), (1, None))
        self.kept.trim(301.0)
        self.assertEqual(len(self.kept), 0)

    def test_memory(self) -> None:
        """Memory of past states counts as held for readers, who give it up, the oldest first."""
        self.kept.keep(7, 0.0, selection(), None, self.whole)
        self.assertEqual(len(self.pins), 1)
        self.pins.expire_oldest()
        self.assertEqual(self.found(7, 0.0, selection()), None)
