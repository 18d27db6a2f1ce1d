"""Informers that several controllers share."""

from __future__ import annotations

from twisted.internet.defer import Deferred

from orchtw.client.interface import Item
from orchtw.client.work_queue import Retry
from orchtw.config.simulation import EVERYTHING
from orchtw.simulation.clock import SimulationClock
from orchtw.simulation.informers import SEEN_LIMIT_S, Decoded, Index, SharedInformer
from orchtw.simulation.world import World as SimulatedWorld
from orchtw.simulation.world import WorldSetting
from orchtw.wire.objects import Object
from tests.client.world import WorldTestCase
from tests.controllers.controlled import host


class SharedInformerTests(WorldTestCase):
    """An informer of config maps, over a registry in memory."""

    def setUp(self) -> None:
        super().setUp()
        clock = SimulationClock(self.world.clock, 0.0)
        self.simulated = SimulatedWorld(host(self.world), WorldSetting(parts=EVERYTHING, clock=clock))
        self.informer = self.simulated.informer("", "configmaps")
        self.index = self.informer.index("label", lambda obj: obj["metadata"].get("labels", {}).values())

    def start(self) -> SharedInformer:
        """Start the informer and return it."""
        self.informer.start()
        self.addCleanup(self.informer.stop)
        return self.informer

    def test_shared(self) -> None:
        """Every user gets the same informer, and each version of an object is decoded once."""
        self.world.config_map("one")
        informer = self.start()
        self.assertIs(self.simulated.informer("", "configmaps"), informer)
        self.assertIs(informer.get("a/one"), informer.get("a/one"))
        self.assertEqual((len(informer), informer.keys, informer.get("a/two")), (1, ("a/one",), None))
        self.assertTrue(informer.synced)

    def test_users(self) -> None:
        """It follows the resource from its first user to its last."""
        self.informer.start()
        self.informer.start()
        self.informer.stop()
        self.world.config_map("one")
        self.assertEqual(self.informer.keys, ("a/one",))
        self.informer.stop()
        self.world.config_map("two")
        self.assertEqual(self.informer.keys, ("a/one",))

    def test_handlers(self) -> None:
        """Handlers see each change once."""
        seen: list[tuple[bool, bool]] = []

        def note(old: Item | None, new: Item | None) -> None:
            seen.append((old is not None, new is not None))

        self.informer.handle(note)
        self.start()
        self.world.config_map("one")
        self.world.patch("configmaps", "one", {"labels": {"x": "1"}})
        self.world.run(self.world.client.delete(self.world.resource("configmaps"), "a", "one"))
        self.assertEqual(seen, [(False, True), (True, True), (True, False)])

    def test_index(self) -> None:
        """An index follows the objects, those that were there before included."""
        self.world.config_map("one", labels={"x": "red", "y": "red"})
        self.start()
        self.world.config_map("two", labels={"x": "red"})
        self.assertEqual(self.index.keys("red"), ("a/one", "a/two"))
        self.world.patch("configmaps", "two", {"labels": {"x": "blue"}})
        self.assertEqual((self.index.keys("red"), self.index.keys("blue")), (("a/one",), ("a/two",)))
        self.world.run(self.world.client.delete(self.world.resource("configmaps"), "a", "two"))
        self.assertEqual(self.index.values(), ("red",))
        self.assertEqual([obj["metadata"]["name"] for obj in self.informer.of(self.index.keys("red"))], ["one"])

    def test_seen(self) -> None:
        """When `seen` returns, the cache has the objects that a controller has written."""
        informer = self.start()
        made = self.world.config_map("one")
        self.world.run(informer.seen(made))
        self.world.run(informer.seen())
        changed = self.world.patch("configmaps", "one", {"labels": {"x": "1"}})
        self.world.run(informer.seen_change(made))
        ahead: Object = {"metadata": {**changed["metadata"], "resourceVersion": "999999"}}
        waiting = Deferred.fromCoroutine(informer.seen(ahead))
        self.world.settle(SEEN_LIMIT_S + 1)
        self.failureResultOf(waiting, Retry)

    def test_seen_later(self) -> None:
        """`seen_change` waits for the next change of the object."""
        informer = self.start()
        made = self.world.config_map("one")
        waiting = Deferred.fromCoroutine(informer.seen_change(made))
        self.assertNoResult(waiting)
        self.world.patch("configmaps", "one", {"labels": {"x": "1"}})
        self.world.settle()
        self.successResultOf(waiting)


class DecodedTests(WorldTestCase):
    """The objects that are kept decoded."""

    def test_limit(self) -> None:
        """Those that were used last are kept, up to a number of encoded bytes."""
        for name in ("one", "two", "six"):
            self.world.config_map(name)
        resource = self.world.resource("configmaps")
        items = {item.name: item for item in self.world.run(self.world.client.list(resource, "a")).items}
        decoded = Decoded(limit_bytes=2 * items["one"].size_bytes)
        first, second = (decoded.load(resource, items[name]) for name in ("one", "two"))
        self.assertIs(decoded.load(resource, items["one"]), first)
        decoded.load(resource, items["six"])
        self.assertIs(decoded.load(resource, items["one"]), first)
        self.assertIsNot(decoded.load(resource, items["two"]), second)


    def test_states(self) -> None:
        """Of each object the last two states are kept: handlers compare them."""
        resource = self.world.resource("configmaps")
        decoded, made = Decoded(), []
        self.world.config_map("one")
        for text in ("1", "2", "3"):
            self.world.patch("configmaps", "one", {"labels": {"x": text}})
            (item,) = self.world.run(self.world.client.list(resource, "a")).items
            made.append((item, decoded.load(resource, item)))
        kept = [decoded.load(resource, item) is obj for item, obj in reversed(made)]
        self.assertEqual(kept, [True, True, False])


class IndexTests(WorldTestCase):
    """An index by itself."""

    def test_unknown(self) -> None:
        """An unknown key can be dropped, and an unknown value has no keys."""
        index = Index(lambda obj: obj["values"])
        index.drop("a")
        index.put("a", {"values": ["x", "x"]})
        self.assertEqual((index.keys("x"), index.keys("y")), (("a",), ()))
        self.assertEqual((index.count("x"), index.count("y")), (1, 0))
