"""Configurations as they come and go (reference HOOK-5, ADM-7)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, cast

from twisted.internet.defer import Deferred
from twisted.internet.task import Clock
from twisted.trial.unittest import SynchronousTestCase

from orchtw.admission.webhooks.configurations import READY_S, SLICE_S, Configurations
from orchtw.admission.webhooks.hook import Configuration
from orchtw.watch.entry import Entry
from orchtw.watch.event_log import Event
from orchtw.wire.objects import Object
from tests.admission.webhooks.hooks import configuration, rule, webhook


def entry(name: str, raw: bytes = b"") -> Entry:
    return Entry(name, "", name, 1, {}, (), raw)


class Source:
    """A cache with some entries, which is its own stored resource."""

    def __init__(self, *names: str) -> None:
        self.entries = [entry(name) for name in names]
        self.follower: Any = None
        self.cache: Any = self

    def snapshot(self) -> list[Entry]:
        return self.entries

    def follow(self, follower: Any) -> None:
        self.follower = follower

    def load(self, found: Entry) -> Object:
        if found.name == "damaged":
            raise ValueError("it is damaged")
        return {"metadata": {"name": found.name}}


class ConfigurationsTests(SynchronousTestCase):
    def setUp(self) -> None:
        self.clock = Clock()
        self.changes = 0
        self.held: list[Deferred[None]] = []

    def made(self, source: Source, *, slow: bool = False, cost_s: float = 0.0) -> Configurations[Configuration]:
        async def run(size: int, work: Callable[[], Any]) -> Any:
            if slow or size:
                waiting: Deferred[None] = Deferred()
                self.held.append(waiting)
                await waiting
            return work()

        def make(obj: Object) -> Configuration:
            self.clock.rightNow += cost_s
            name = obj["metadata"]["name"]
            return configuration(name, webhook(rule("pods"), name=f"{name}.b.c"))

        found = Configurations(cast("Any", source), make, run, self.clock)
        found.changed = self.changed
        return found

    def changed(self) -> None:
        self.changes += 1

    def names(self, found: Configurations[Any]) -> str:
        return "".join(hook.name[0] for each in found.all for hook in each.naming("pods"))

    def test_at_once(self) -> None:
        """Existing configurations are known at the first question, in the order of names (reference HOOK-6)."""
        found = self.made(Source("b", "a", "c"))
        self.assertTrue(found.ready)
        self.assertEqual((self.names(found), found.empty), ("abc", False))
        self.assertTrue(self.made(Source()).empty)

    def test_changes(self) -> None:
        """One that comes, changes or goes counts from then on."""
        source = Source("b")
        found = self.made(source)
        self.assertTrue(found.ready)
        for name, new, expected in (("a", True, "ab"), ("b", True, "ab"), ("a", False, "b"), ("x", False, "b")):
            before = self.changes
            source.follower.take(Event(2, name, None, entry(name) if new else None))
            self.assertEqual(self.names(found), expected)
            self.assertGreater(self.changes, before)

    def test_large(self) -> None:
        """A large one counts when it has been read; the newest state wins."""
        source = Source()
        found = self.made(source)
        self.assertTrue(found.ready)
        source.follower.take(Event(2, "a", None, entry("a", b"x")))
        source.follower.take(Event(3, "a", None, None))
        source.follower.take(Event(4, "b", None, entry("b")))
        self.assertEqual(self.names(found), "")
        self.held.pop().callback(None)
        self.assertEqual(self.names(found), "b")

    def test_slices(self) -> None:
        """Many are read in slices, between which others have their turn."""
        found = self.made(Source(*"abcdef"), cost_s=SLICE_S / 2)
        self.assertFalse(found.ready)
        self.assertLess(len(self.names(found)), 6)
        while not found.ready:
            self.clock.advance(0)
        self.assertEqual(self.names(found), "abcdef")

    def test_damaged(self) -> None:
        """One that cannot be read is logged, the others count."""
        found = self.made(Source("a", "damaged"))
        self.assertTrue(found.ready)
        self.assertEqual(self.names(found), "a")

    def test_in_force(self) -> None:
        """It can be awaited that all changes are compiled, large ones too; without any work that is at once."""
        source = Source()
        found = self.made(source, slow=True)
        self.successResultOf(Deferred.fromCoroutine(found.in_force()))
        self.assertTrue(found.ready)
        source.follower.take(Event(2, "a", None, entry("a")))
        waiting = Deferred.fromCoroutine(found.in_force())
        self.assertNoResult(waiting)
        self.held.pop().callback(None)
        self.successResultOf(waiting)
        self.assertEqual(self.names(found), "a")

    def test_settled(self) -> None:
        """A write waits for what is there at the start, for some time (reference ADM-7)."""
        found = self.made(Source("a"), slow=True)
        first, second = (Deferred.fromCoroutine(found.settled()) for _ in range(2))
        self.assertNoResult(first)
        self.clock.advance(READY_S)
        self.assertIs(self.successResultOf(first), False)
        self.assertIs(self.successResultOf(second), False)
        third = Deferred.fromCoroutine(found.settled())
        self.held.pop().callback(None)
        self.assertIs(self.successResultOf(third), True)
        self.assertIs(self.successResultOf(Deferred.fromCoroutine(found.settled())), True)
