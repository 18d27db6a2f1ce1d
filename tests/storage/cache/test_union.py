"""Entries of several sequences as one."""

from __future__ import annotations

from hypothesis import given, strategies
from twisted.trial.unittest import SynchronousTestCase

from orchtw.storage.cache import union as module
from orchtw.storage.cache.ordered import NO_ENTRIES, Entries
from orchtw.storage.cache.past import Past
from orchtw.storage.cache.union import CacheUnion, united
from orchtw.watch.entry import Entry
from orchtw.watch.event_log import Event
from tests.properties import examples

PLACES = strategies.tuples(strategies.integers(0, 99), strategies.integers(0, 3))
KEYS = strategies.lists(PLACES, unique_by=lambda place: place[0])
CALM = examples(60)


def entry(number: int) -> Entry:
    return Entry(f"a/{number:02}", "a", f"{number:02}", 1, {}, (), b"")


def parts(numbers: list[tuple[int, int]]) -> list[Entries]:
    return [Entries.run(entry(number) for number, part in sorted(numbers) if part == each) for each in range(4)]


def keys(entries: object) -> list[str]:
    return [each.key for each in entries]  # type: ignore[attr-defined]


class UnionTests(SynchronousTestCase):
    def setUp(self) -> None:
        self.patch(module, "RUN", 3)

    @CALM
    @given(KEYS, strategies.integers(0, 120), strategies.integers(0, 120))
    def test_like_a_list(self, numbers: list[tuple[int, int]], start: int, stop: int) -> None:
        """It is what all entries are, sorted: whole, in parts, and by position."""
        entries = united(parts(numbers))
        expected = [f"a/{number:02}" for number, _ in sorted(numbers)]
        self.assertEqual(keys(entries[start:stop]), expected[start:stop])
        self.assertEqual((len(entries), keys(entries)), (len(expected), expected))
        self.assertEqual([key for block in entries.blocks() for key in keys(block)], expected)
        low, high = f"a/{start:02}", f"a/{stop:02}"
        self.assertEqual(keys(entries.between(low, high)), [key for key in expected if low <= key < high])
        if expected:
            self.assertEqual(entries[len(expected) - 1].key, expected[-1])

    def test_no_more_than_asked_for(self) -> None:
        """Unread parts are not sorted."""
        entries = united(parts([(number, number % 4) for number in range(100)]))
        assert isinstance(entries, CacheUnion)
        self.assertEqual(keys(entries[:5]), [f"a/{number:02}" for number in range(5)])
        self.assertEqual(len(entries._made), 5)

    def test_one(self) -> None:
        """One that is not empty stands for itself, and none for nothing."""
        alone = Entries.run([entry(1)])
        self.assertIs(united([NO_ENTRIES, alone]), alone)
        self.assertIs(united([NO_ENTRIES]), NO_ENTRIES)

    def test_past(self) -> None:
        """The state before some changes is found from it as from others (reference READ-5)."""
        now = united([Entries.run([entry(1), entry(5)]), Entries.run([entry(3)])])
        events = [Event(2, "a/03", None, entry(3)), Event(3, "a/04", entry(4), None)]
        steps = Past(now, events, "", "", lambda _: True).steps()
        while True:
            try:
                next(steps)
            except StopIteration as done:
                self.assertEqual(keys(done.value), ["a/01", "a/04", "a/05"])
                return
