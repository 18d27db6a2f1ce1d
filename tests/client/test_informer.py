"""Reflector and informer: the list, then the watch, then a list again when the watch has expired."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from random import Random
from typing import Any, cast

import attrs
from twisted.internet.task import Clock
from twisted.trial.unittest import SynchronousTestCase

from orchtw.client.informer import Informer, Reflector
from orchtw.client.interface import Client, Item, Listing, Receiver, Resource
from orchtw.client.owner_references import OwnerMetadata
from orchtw.errors import Expired, InternalError, StatusError
from orchtw.responses.slices import Steps
from orchtw.watch.turns import WORK_S, ReactorTurns
from orchtw.wire.objects import Object
from tests.client.world import WorldTestCase

PODS = Resource(group="", version="v1", plural="pods", kind="Pod", namespaced=True)


@attrs.frozen
class FakeItem:
    """A name and a version."""

    name: str
    version: str
    namespace: str = ""
    size_bytes: int = 0

    @property
    def key(self) -> str:
        return self.name

    def owner_metadata(self) -> OwnerMetadata:
        return OwnerMetadata(self.name)

    def stands_alone(self) -> bool:
        return False

    def metadata(self) -> Object:
        return {"name": self.name}

    def load(self) -> Object:
        return {"metadata": self.metadata()}


class FakeWatch:
    """Remembers that it was stopped."""

    def __init__(self) -> None:
        self.stopped = False

    def stop(self) -> None:
        self.stopped = True


class FakeClient:
    """Lists `items` at `version`, or raises `refusal`; remembers the watches that were begun."""

    def __init__(self) -> None:
        self.items: list[FakeItem] = []
        self.version = "1"
        self.refusal: Exception | None = None
        self.lists = 0
        self.watches: list[tuple[str, Receiver, FakeWatch]] = []

    async def list(self, resource: Resource, namespace: str = "", **selectors: str) -> Listing:
        self.lists += 1
        if self.refusal is not None:
            raise self.refusal
        items: Sequence[Item] = list(self.items)
        return Listing(items, self.version)

    def watch(self, resource: Resource, since: str, receiver: Receiver) -> FakeWatch:
        watch = FakeWatch()
        self.watches.append((since, receiver, watch))
        return watch


class Soon:
    """Stand-in for the reactor's next turn, and a step to it."""

    def __init__(self, clock: Clock) -> None:
        self._works: list[Callable[[], None]] = []
        self.turns = ReactorTurns(clock.seconds, self._works.append)

    def turn(self) -> None:
        """One turn of the reactor."""
        works = self._works[:]
        self._works.clear()
        for work in works:
            work()


def _text(item: Item | None) -> str | None:
    return None if item is None else f"{item.name}{item.version}"


class InformerTests(SynchronousTestCase):
    def setUp(self) -> None:
        self.clock = Clock()
        self.client = FakeClient()
        self.soon = Soon(self.clock)
        self.told: list[tuple[str | None, str | None]] = []
        self.took_s = 0.0

    def start(self, resync_s: float = 0.0, name: str = "") -> Informer:
        client: Any = self.client
        turns = self.soon.turns
        self.informer = Informer(client, PODS, self.clock, Random(1), turns, resync_s=resync_s, name=name)
        self.informer.handle(self.handle)
        self.informer.start()
        return self.informer

    def handle(self, old: Item | None, new: Item | None) -> None:
        self.clock.rightNow += self.took_s
        self.told.append((_text(old), _text(new)))

    def put(self, name: str, version: str) -> None:
        """An event on the latest watch."""
        self.client.watches[-1][1].changed(FakeItem(name, version))

    def end(self, error: StatusError | None) -> None:
        """The end of the latest watch."""
        self.client.watches[-1][1].ended(error)
        self.clock.advance(0)

    def test_list_then_watch(self) -> None:
        """Listed objects are added; the watch starts at the list's resourceVersion."""
        self.client.items, self.client.version = [FakeItem("a", "3")], "7"
        informer = self.start()
        self.assertTrue(informer.synced)
        self.assertEqual(self.client.watches[0][0], "7")
        self.put("a", "8")
        self.client.watches[-1][1].removed(FakeItem("a", "9"))
        self.assertEqual(self.told, [(None, "a3"), ("a3", "a8"), ("a8", None)])
        self.assertEqual(informer.items, {})

    def test_end_of_a_watch(self) -> None:
        """A watch that ends in good order resumes from the last event, without a list."""
        self.start()
        self.put("a", "8")
        self.end(None)
        self.assertEqual((self.client.lists, self.client.watches[-1][0]), (1, "8"))

    def test_expired(self) -> None:
        """After a 410 the informer relists and delivers only the differences, removals included (reference CTRL-3).
        """
        self.client.items = [FakeItem("a", "1"), FakeItem("b", "1"), FakeItem("c", "1")]
        self.start()
        self.told.clear()
        self.client.items, self.client.version = [FakeItem("a", "1"), FakeItem("b", "5"), FakeItem("d", "6")], "9"
        self.end(Expired.watch(1, 2))
        self.assertEqual(self.told, [("b1", "b5"), (None, "d6"), ("c1", None)])
        self.assertEqual((self.client.lists, self.client.watches[-1][0]), (2, "9"))

    def test_one_name(self) -> None:
        """An informer for a single name neither delivers nor keeps objects of other names."""
        self.client.items = [FakeItem("a", "1"), FakeItem("b", "1")]
        informer = self.start(name="a")
        self.put("b", "2")
        self.put("a", "3")
        self.client.watches[-1][1].removed(FakeItem("b", "4"))
        self.client.items = [FakeItem("b", "5"), FakeItem("c", "6")]
        self.end(Expired.watch(1, 2))
        self.assertEqual(self.told, [(None, "a1"), ("a1", "a3"), ("a3", None)])
        self.assertEqual(informer.items, {})

    def test_failures_back_off(self) -> None:
        """A list that fails is repeated with growing delays; the informer is not synced before it succeeds."""
        self.client.refusal = InternalError("no")
        informer = self.start()
        self.assertFalse(informer.synced)
        self.clock.pump([0.1] * 600)
        self.assertIn(self.client.lists, range(5, 9))
        self.client.refusal = None
        self.clock.pump([1.0] * 60)
        self.assertTrue(informer.synced)

    def test_watch_failures_back_off(self) -> None:
        """A watch that breaks is begun again after a delay, from where it was."""
        self.start()
        self.put("a", "8")
        self.end(InternalError("broken"))
        self.assertEqual(len(self.client.watches), 1)
        self.clock.advance(2)
        self.assertEqual((len(self.client.watches), self.client.watches[-1][0], self.client.lists), (2, "8", 1))

    def test_resync(self) -> None:
        """Every resync period, all objects are delivered again as they are."""
        self.client.items = [FakeItem("a", "1")]
        self.start(resync_s=10)
        self.clock.pump([5.0] * 4)
        self.assertEqual(self.told, [(None, "a1"), ("a1", "a1"), ("a1", "a1")])
        self.informer.stop()

    def test_resync_in_turns(self) -> None:
        """Where that takes long, others have their turns between; what has gone meanwhile is not handed on again."""
        self.client.items = [FakeItem("a", "1"), FakeItem("b", "1"), FakeItem("c", "1")]
        self.start(resync_s=10)
        self.told.clear()
        self.took_s = WORK_S
        self.clock.advance(10)
        self.assertEqual(self.told, [("a1", "a1")])
        self.client.watches[-1][1].removed(FakeItem("b", "2"))
        self.soon.turn()
        self.assertEqual(self.told, [("a1", "a1"), ("b1", None), ("c1", "c1")])

    def test_stopped_resync(self) -> None:
        """One that is stopped meanwhile hands on nothing more, and begins no period."""
        self.client.items = [FakeItem("a", "1"), FakeItem("b", "1")]
        self.start(resync_s=10)
        self.took_s = WORK_S
        self.clock.advance(10)
        self.informer.stop()
        self.soon.turn()
        self.assertEqual(self.told[2:], [("a1", "a1")])
        self.assertEqual(self.clock.getDelayedCalls(), [])

    def test_stop(self) -> None:
        """After the stop nothing is handed on, and no timer is left."""
        self.client.items = [FakeItem("a", "1")]
        informer = self.start(resync_s=10)
        informer.stop()
        self.assertTrue(self.client.watches[-1][2].stopped)
        self.end(None)
        self.assertEqual((self.clock.getDelayedCalls(), len(self.client.watches)), ([], 1))

    def test_bug_in_a_handler(self) -> None:
        """A handler that fails at the first list leaves a traceback; the list is repeated."""
        self.client.refusal = ZeroDivisionError()
        self.start()
        self.assertEqual(len(self.flushLoggedErrors(ZeroDivisionError)), 1)
        self.client.refusal = None
        self.clock.advance(2)
        self.assertTrue(self.informer.synced)


class InProcessInformerTests(WorldTestCase):
    def test_follows_the_cache(self) -> None:
        """In process the informer is filled when `start` returns, and follows writes in their own turn."""
        world = self.world
        world.config_map("x")
        informer = Informer(world.client, world.resource("configmaps"), world.clock, world.random, world.cacher.turns)
        informer.start()
        self.assertEqual(list(informer.items), ["a/x"])
        world.config_map("y")
        world.run(world.client.delete(world.resource("configmaps"), "a", "x"))
        self.assertEqual(list(informer.items), ["a/y"])
        self.assertEqual(informer.items["a/y"].load(), world.get("configmaps", "y"))
        informer.stop()


class SlowSink:
    """Takes as long for an item as a turn may take."""

    def __init__(self, clock: Clock) -> None:
        self.taken: list[str] = []
        self._clock = clock

    def replaced(self, items: Sequence[Item]) -> Steps[None]:
        for item in items:
            self.taken.append(item.name)
            self._clock.rightNow += WORK_S
            yield

    def changed(self, item: Item) -> None:
        self.taken.append(item.name)

    def removed(self, item: Item) -> None:
        self.taken.remove(item.name)


class TurnTests(SynchronousTestCase):
    def setUp(self) -> None:
        self.clock, self.client = Clock(), FakeClient()
        self.client.items = [FakeItem("a", "1"), FakeItem("b", "1"), FakeItem("c", "1")]
        self.sink, self.soon = SlowSink(self.clock), Soon(self.clock)

    def started(self, turns: ReactorTurns | None) -> Reflector:
        reflector = Reflector(cast("Client", self.client), PODS, self.sink, self.clock, Random(1), turns)
        reflector.start()
        return reflector

    def test_one(self) -> None:
        """A list is taken in as a whole, before the start is over."""
        self.assertTrue(self.started(None).synced)
        self.assertEqual(self.sink.taken, ["a", "b", "c"])

    def test_several(self) -> None:
        """Where taking in takes long, others have their turns between; the watch begins after the last one."""
        reflector = self.started(self.soon.turns)
        self.assertEqual((self.sink.taken, reflector.synced, self.client.watches), (["a"], False, []))
        self.soon.turn()
        self.assertEqual((self.sink.taken, reflector.synced), (["a", "b"], False))
        self.soon.turn()
        self.soon.turn()
        self.assertEqual((self.sink.taken, reflector.synced), (["a", "b", "c"], True))
        self.assertEqual(len(self.client.watches), 1)

    def test_stopped_between(self) -> None:
        """One that is stopped between two turns takes in nothing more."""
        self.started(self.soon.turns).stop()
        self.soon.turn()
        self.assertEqual((self.sink.taken, self.client.watches), (["a"], []))
