"""The garbage collector over its life: kinds that come and go, starts, thousands of objects, model checks."""
# covers: orchtw.controllers.owner_graph

from __future__ import annotations

import gc
from random import Random
from weakref import ref

from orchtw.controllers.garbage_collector import (
    DISCOVERY_PERIOD_S,
)
from orchtw.rules.delete_options import Propagation
from orchtw.wire.objects import Object
from tests.client.world import reference
from tests.controllers.garbage_case import GarbageCollectorCase
from tests.registry.widgets import GROUP


class RestartTests(GarbageCollectorCase):
    def test_owner_deleted_meanwhile(self) -> None:
        """Objects whose owner was deleted while no collector ran are found after the start."""
        self.chain()
        self.end()
        self.delete("owner")
        self.assertEqual(self.left(), ["leaf", "middle"])
        self.restart()
        self.world.settle()
        self.assertEqual(self.left(), [])

    def test_foreground_in_the_middle(self) -> None:
        """A deletion in the foreground is finished after a restart."""
        self.chain()
        self.end()
        self.delete("owner", "Foreground")
        self.assertEqual(len(self.left()), 3)
        self.restart()
        self.world.settle()
        self.assertEqual(self.left(), [])

    def test_orphaning_in_the_middle(self) -> None:
        """Orphaning is finished after a restart, even if some dependents had been let go already."""
        owner = self.world.config_map("owner")
        for name in ("one", "two"):
            self.world.config_map(name, owner)
        self.end()
        self.delete("owner", "Orphan")
        self.world.patch("configmaps", "one", {"ownerReferences": None})
        self.restart()
        self.world.settle()
        self.assertEqual(self.left(), ["one", "two"])
        self.assertNotIn("ownerReferences", self.meta("two"))

    def test_stop_leaves_no_timer(self) -> None:
        """A stopped collector has no timers, and follows nothing."""
        self.end()
        self.world.run(self.world.cacher.stop())
        self.assertEqual(self.world.clock.getDelayedCalls(), [])

    def test_health(self) -> None:
        """The check passes while the collector runs, and fails before and after."""
        self.assertEqual(self.health(), {})
        self.end()
        self.assertEqual(self.health(), {"garbagecollector": "not running"})


class DiscoveryTests(GarbageCollectorCase):
    def widget(self, name: str, *owners: Object) -> Object:
        """A new widget, when everything that follows has happened."""
        made = self.world.create("widgets", name, *owners, group_version=f"{GROUP}/v1")
        self.world.settle()
        return made

    def widgets(self) -> list[str]:
        """The names of all widgets."""
        resource = self.world.client.resource(GROUP, "v1", "widgets")
        return [item.name for item in self.world.run(self.world.client.list(resource)).items]

    def test_resource_at_run_time(self) -> None:
        """A resource that appears at run time is followed within a moment, and unfollowed when it is removed."""
        count = len(self.collector.sources)
        self.world.add_widgets()
        self.world.settle()
        self.assertEqual(len(self.collector.sources), count + 1)
        owner = self.world.config_map("owner")
        self.widget("dependent", owner)
        self.delete("owner")
        self.assertEqual(self.widgets(), [])
        self.world.targets.remove(GROUP, "widgets")
        self.world.settle()
        self.assertEqual((len(self.collector.sources), self.health()), (count, {}))

    def test_owner_whose_kind_is_removed(self) -> None:
        """Dependents stay while it is unknown whether their owner exists; its kind may come back."""
        self.world.add_widgets()
        owner = self.widget("owner")
        self.world.config_map("dependent", owner)
        self.world.settle()
        self.world.targets.remove(GROUP, "widgets")
        self.world.settle(5)
        self.assertEqual(self.left(), ["dependent"])
        self.world.add_widgets()
        self.world.settle(5)
        self.assertEqual((self.left(), self.widgets()), (["dependent"], ["owner"]))
        widgets = self.world.client.resource(GROUP, "v1", "widgets")
        self.world.run(self.world.client.delete(widgets, "a", "owner"))
        self.world.settle(5)
        self.assertEqual(self.left(), [])

    def test_owner_that_ends_with_its_kind(self) -> None:
        """An owner whose deletion was seen is gone, even if its kind is no longer served."""
        self.world.add_widgets()
        self.world.settle()
        owner = self.widget("owner")
        self.world.config_map("dependent", owner)
        self.world.settle()
        widgets = self.world.client.resource(GROUP, "v1", "widgets")
        self.world.run(self.world.client.delete(widgets, "a", "owner"))
        self.world.targets.remove(GROUP, "widgets")
        self.world.settle(5)
        self.assertEqual(self.left(), [])

    def test_nothing_is_remembered_of_a_removed_resource(self) -> None:
        """The graph forgets the objects of a removed resource."""
        self.world.add_widgets()
        self.world.settle()
        first = self.widget("first")
        self.widget("second", first)
        self.assertEqual(len(self.collector.graph.nodes), 2)
        self.world.targets.remove(GROUP, "widgets")
        self.world.settle(5)
        self.assertEqual(list(self.collector.graph.nodes), [])

    def test_removed_resource_is_let_go(self) -> None:
        """Nor does it hold what a removed resource consists of, after a change of that one; no cycle does."""
        self.world.add_widgets()
        self.world.settle()
        self.world.add_widgets("v1", "v1beta1")  # the watch ends, and begins anew
        self.world.settle()
        target = self.world.targets.find(GROUP, "v1", "widgets")
        assert target is not None
        gc.disable()
        self.addCleanup(gc.enable)
        held = ref(target), ref(target.stored), ref(target.stored.cache)
        del target
        self.world.targets.remove(GROUP, "widgets")
        self.world.settle(5)
        self.assertEqual([each() for each in held], [None] * len(held))

    def test_unheard_changes(self) -> None:
        """A client that never reports changes is polled every DISCOVERY_PERIOD_S."""
        self.end()
        self.begin()
        assert self.collector._leave_discovery is not None
        self.collector._leave_discovery()
        count = len(self.collector.sources)
        self.world.add_widgets()
        self.world.settle()
        self.assertEqual(len(self.collector.sources), count)
        self.world.settle(DISCOVERY_PERIOD_S, 5)
        self.assertEqual(len(self.collector.sources), count + 1)


class ManyTests(GarbageCollectorCase):
    def test_thousands_of_dependents(self) -> None:
        """5,000 dependents of one owner go in the foreground, and the graph keeps nothing of them (reference
        CTRL-18).
        """
        owner = self.world.config_map("owner")
        config_maps = self.world.resource("configmaps")

        async def fill() -> None:
            for number in range(5000):
                obj = {"metadata": {"name": f"d{number}", "ownerReferences": [reference(owner)]}}
                await self.world.client.create(config_maps, "a", obj)

        self.world.run(fill())
        self.delete("owner", "Foreground")
        self.assertEqual((self.left(), self.collector.graph.nodes), ([], {}))

    def test_random_forests(self) -> None:
        """Whatever is owned, deleted and restarted in any order: in the end exactly those are left that have an owner
        left, or never had one and were not deleted (reference CTRL-3).
        """
        for seed in range(6):
            Forest(self, Random(seed)).grow_and_fell()
            self.restart()


class Forest:
    """Random owners and deletions, with a model of what must remain."""

    def __init__(self, test: GarbageCollectorCase, random: Random) -> None:
        self.test = test
        self.random = random
        self.objects: dict[str, Object] = {}
        self.owners: dict[str, list[str]] = {}

    def grow_and_fell(self) -> None:
        """Grow, delete while growing, compare."""
        test, random = self.test, self.random
        for number in range(60):
            name = f"o{number}"
            chosen = random.sample(sorted(self.objects), min(len(self.objects), random.choice((0, 1, 1, 2))))
            owners = [self.objects[each] for each in chosen]
            self.objects[name] = test.world.config_map(name, *owners)
            self.owners[name] = chosen
            if random.random() < 0.15:
                self.fell(random.choice(sorted(self.objects)))
            if random.random() < 0.05:
                test.restart()
        test.world.settle(120, 1)
        test.assertEqual(set(test.left()), set(self.objects))
        while left := test.left():
            test.delete(left[0], "Background")
        test.world.settle(120, 1)
        test.assertEqual(test.left(), [])

    def fell(self, name: str) -> None:
        """Delete one object in the world and in the model."""
        policy: Propagation = self.random.choice(("Background", "Foreground"))
        self.test.delete(name, policy)
        gone = {name}
        while True:
            more = {each for each, owners in self.owners.items() if owners and gone.issuperset(owners)} - gone
            if not more:
                break
            gone |= more
        for each in gone:
            self.objects.pop(each, None)
        self.owners = {
            each: [owner for owner in owners if owner not in gone]
            for each, owners in self.owners.items() if each not in gone
        }
