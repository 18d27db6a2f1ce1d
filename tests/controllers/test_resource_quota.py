"""The quota controller (reference CTRL-33, CTRL-47, CTRL-48)."""
# covers: orchtw.controllers.quota_tallies

from __future__ import annotations

from typing import Any

import attrs
from twisted.internet.defer import Deferred
from twisted.internet.task import Clock

from orchtw.client.interface import Resource
from orchtw.controllers import quota_tallies
from orchtw.controllers.manager import Manager
from orchtw.controllers.resource_quota import ResourceQuotaController
from orchtw.quota.amounts import amounts
from orchtw.quota.evaluators import CountEvaluator
from orchtw.rules.delete_options import DeleteOptions
from orchtw.watch import turns
from orchtw.wire.objects import Object
from tests.controllers.controlled import ControllerTestCase, host
from tests.registry.widgets import GROUP, versions

WIDGETS = f"count/widgets.{GROUP}"


def pod(name: str, cpu: str = "", **spec: Any) -> Object:
    resources = {"requests": {"cpu": cpu}} if cpu else {}
    return {
        "metadata": {"name": name},
        "spec": {"containers": [{"name": "c", "image": "i", "resources": resources}], **spec},
    }


class QuotaControllerCase(ControllerTestCase):
    """Makes objects without admission, so that nothing is charged."""

    names = ("resourcequota",)
    foreign_s = 0.0

    def begin(self) -> None:
        made = attrs.evolve(host(self.world), foreign_charges_s=self.foreign_s)
        self.unsettled = made.unsettled
        self.controller = ResourceQuotaController(made, 5, 300.0)
        self.manager = Manager(made, lambda host: [self.controller])
        self.manager.startService()
        self.world.settle()

    def make(self, plural: str, obj: Object, namespace: str = "a") -> None:
        self.world.run(self.world.client.create(self.world.resource(plural), namespace, obj))
        self.world.settle()

    def quota(self, hard: Object, name: str = "rq", namespace: str = "a", **spec: Any) -> None:
        self.make("resourcequotas", {"metadata": {"name": name}, "spec": {"hard": hard, **spec}}, namespace)
        self.turns()

    def turns(self, seconds: float = 0.0) -> None:
        for _ in range(10):
            self.world.settle()
        self.world.settle(seconds)
        for _ in range(10):
            self.world.settle()

    def status(self, name: str = "rq", namespace: str = "a") -> Object:
        found = self.world.get("resourcequotas", name, namespace)
        assert found is not None
        return found["status"]  # type: ignore[no-any-return]

    def used(self, name: str = "rq", namespace: str = "a") -> Object:
        found: Object = self.status(name, namespace)["used"]
        return found

    def delete(self, plural: str, name: str, **options: Any) -> None:
        self.world.run(
            self.world.client.delete(self.world.resource(plural), "a", name, DeleteOptions(**options))
        )
        self.turns()

    def say(self, used: Object, name: str = "rq") -> None:
        """Write the usage as another client would."""
        resource = self.world.resource("resourcequotas")
        self.world.run(self.world.client.patch(resource, "a", name, {"status": {"used": used}}, "status"))

    def version(self, name: str = "rq") -> str:
        found = self.world.get("resourcequotas", name)
        assert found is not None
        return str(found["metadata"]["resourceVersion"])


class CountTests(QuotaControllerCase):
    def test_new_quota(self) -> None:
        """A new quota is counted at once: its status has the limits and the existing usage (CTRL-33)."""
        self.make("pods", pod("p", "500m"))
        self.make("pods", pod("q", "1"))
        self.make("configmaps", {"metadata": {"name": "m"}})
        hard = {"pods": "5", "requests.cpu": "4", "configmaps": "10", "count/configmaps": "10", "services": "1"}
        self.quota(hard)
        self.assertEqual(self.status()["hard"], hard)
        expected = {"pods": "2", "requests.cpu": "1500m", "configmaps": "1", "count/configmaps": "1", "services": "0"}
        self.assertEqual(self.used(), expected)

    def test_namespaces(self) -> None:
        """Only objects in the quota's namespace count."""
        self.world.namespace("b")
        self.make("configmaps", {"metadata": {"name": "m"}}, "b")
        self.quota({"configmaps": "5"})
        self.quota({"configmaps": "5"}, namespace="b")
        self.assertEqual((self.used()["configmaps"], self.used(namespace="b")["configmaps"]), ("0", "1"))

    def test_spec_changes(self) -> None:
        """A newly limited resource is counted, and one no longer limited is removed from `used`."""
        self.make("configmaps", {"metadata": {"name": "m"}})
        self.quota({"configmaps": "5", "pods": "1"})
        changes = {"spec": {"hard": {"pods": None, "configmaps": "7", "secrets": "3"}}}
        resource = self.world.resource("resourcequotas")
        self.world.run(self.world.client.patch(resource, "a", "rq", changes))
        self.turns()
        hard = {"configmaps": "7", "secrets": "3"}
        self.assertEqual(self.status(), {"hard": hard, "used": {"configmaps": "1", "secrets": "0"}})

    def test_deletion(self) -> None:
        """The usage of a deleted object is credited at once, for each kind of object."""
        self.quota({"pods": "5", "requests.cpu": "5", "configmaps": "5", "services.nodeports": "5"})
        for name in "ab":
            self.make("pods", pod(name, "1"))
            self.make("configmaps", {"metadata": {"name": name}})
            spec = {"type": "NodePort", "ports": [{"port": 1}]}
            self.make("services", {"metadata": {"name": name}, "spec": spec})
        self.turns(2)
        expected = {"pods": "2", "requests.cpu": "2", "configmaps": "2", "services.nodeports": "2"}
        self.assertEqual(self.used(), dict(sorted(expected.items())))
        for plural in ("pods", "configmaps", "services"):
            self.delete(plural, "a")
        expected = {"pods": "1", "requests.cpu": "1", "configmaps": "1", "services.nodeports": "1"}
        self.assertEqual(self.used(), dict(sorted(expected.items())))

    def test_ended_pods(self) -> None:
        """A pod that has ended is an object, and uses nothing else."""
        self.quota({"pods": "5", "count/pods": "5", "requests.cpu": "5"})
        self.make("pods", pod("a", "1"))
        self.turns(2)
        self.assertEqual(self.used(), {"count/pods": "1", "pods": "1", "requests.cpu": "1"})
        resource = self.world.resource("pods")
        self.world.run(self.world.client.patch(resource, "a", "a", {"status": {"phase": "Succeeded"}}, "status"))
        self.turns()
        self.assertEqual(self.used(), {"count/pods": "1", "pods": "0", "requests.cpu": "0"})

    def test_stuck_pods(self) -> None:
        """A pod that stays after its end no longer uses anything (reference PLUG-60)."""
        self.quota({"pods": "5", "count/pods": "5"})
        self.make("pods", pod("a", nodeName="n"))
        self.turns(2)
        self.delete("pods", "a", grace_period_s=5)
        self.assertEqual(self.used()["pods"], "1")
        self.turns(9)
        self.assertEqual(self.used()["pods"], "1")
        self.turns(4)
        self.assertEqual(self.used(), {"count/pods": "1", "pods": "0"})

    def test_scopes(self) -> None:
        """A quota counts the pods that have its scopes."""
        self.quota({"pods": "5"}, "best", scopes=["BestEffort"])
        self.quota({"pods": "5"}, "rest", scopes=["NotBestEffort", "NotTerminating"])
        term = {"scopeName": "PriorityClass", "operator": "Exists"}
        self.quota({"pods": "5"}, "high", scopeSelector={"matchExpressions": [term]})
        for obj in (pod("a"), pod("b", "1"), pod("c", "1", activeDeadlineSeconds=5), pod("d", priorityClassName="x")):
            self.make("pods", obj)
        self.turns(2)
        found = {name: self.used(name)["pods"] for name in ("best", "rest", "high")}
        self.assertEqual(found, {"best": "2", "rest": "1", "high": "1"})

    def test_unheard(self) -> None:
        """A resource that cannot be counted gets no usage; usage reported for it stays."""
        self.quota({"example.com/gpu": "5", "count/events": "1", "count/nope.example.com": "1", "pods": "1"})
        self.assertEqual(self.used(), {"pods": "0"})
        self.say({"count/nope.example.com": "3"})
        self.turns(2)
        self.assertEqual(self.used(), {"count/nope.example.com": "3", "pods": "0"})

    def test_very_many_entries(self) -> None:
        """A quota may limit thousands of things."""
        self.make("configmaps", {"metadata": {"name": "m"}})
        hard = {"configmaps": "5", **{f"count/a{number}.example.com": "1" for number in range(2500)}}
        self.quota(hard)
        self.turns(0.5)
        self.assertEqual(self.used(), {"configmaps": "1"})
        self.delete("configmaps", "m")
        self.assertEqual(self.used(), {"configmaps": "0"})

    def test_only_changes(self) -> None:
        """Nothing is written where nothing has changed, at the regular look neither."""
        self.make("configmaps", {"metadata": {"name": "m"}})
        self.quota({"configmaps": "5", "requests.storage": "1Gi"})
        version = self.version()
        self.make("pods", pod("a"))
        self.turns(400)
        self.assertEqual(self.version(), version)

    def test_healing(self) -> None:
        """Wrong usage written by another client is corrected within seconds."""
        self.make("configmaps", {"metadata": {"name": "m"}})
        self.quota({"configmaps": "5"})
        for wrong in ("4", "0"):
            self.say({"configmaps": wrong})
            self.turns(1.5)
            self.assertEqual(self.used(), {"configmaps": "1"})

    def test_restart(self) -> None:
        """A restart recounts everything, and charges without an object are dropped."""
        self.make("configmaps", {"metadata": {"name": "m"}})
        self.quota({"configmaps": "5", "pods": "5"})
        self.end()
        self.say({"configmaps": "3", "pods": "2"})
        self.make("pods", pod("p"))
        self.begin()
        self.restart()
        self.turns()
        self.assertEqual(self.used(), {"configmaps": "1", "pods": "1"})


class TallyTests(QuotaControllerCase):
    """Usage of one resource in a namespace."""

    def setUp(self) -> None:
        super().setUp()
        self.patch(turns, "WORK_S", 0.0)
        self.turn = Clock()
        for number in range(5):
            self.make("configmaps", {"metadata": {"name": f"m{number}"}})
        evaluator, world = CountEvaluator("x"), self.world
        self.told: list[tuple[str, bool]] = []
        resource = world.resource("configmaps")
        each_second = turns.ReactorTurns(self.turn.seconds, lambda work: self.turn.callLater(1, work))
        self.tally = quota_tallies.Tally(
            world.client, resource, evaluator, self.turn, world.random, each_second,
            lambda *told: self.told.append(told),
        )
        self.tally.reflector.start()
        self.addCleanup(self.tally.reflector.stop)
        self.all_turns()

    def all_turns(self) -> None:
        for _ in range(20):
            self.turn.advance(1)
            self.world.settle()

    def begin_uses(self) -> list[quota_tallies.Uses]:
        found: list[quota_tallies.Uses] = []
        Deferred.fromCoroutine(self.tally.uses("a")).addCallback(found.append)
        return found

    def names_of(self, uses: quota_tallies.Uses) -> list[str]:
        return sorted(uses.names)

    def test_changes_while_it_is_filled(self) -> None:
        """Objects created or deleted while a namespace is being counted are counted in their final state."""
        first = self.begin_uses()
        self.turn.advance(1)
        self.assertEqual(first, [])
        self.delete_now("m4")
        self.delete_now("m0")
        self.make("configmaps", {"metadata": {"name": "new"}})
        self.all_turns()
        self.assertEqual(self.names_of(first[0]), ["m1", "m2", "m3", "new"])

    def test_twice(self) -> None:
        """Two who ask at a time do not bring back what has gone meanwhile."""
        first = self.begin_uses()
        for _ in range(3):
            self.turn.advance(1)
        second = self.begin_uses()
        while not first:
            self.turn.advance(1)
        self.delete_now("m4")
        self.all_turns()
        self.assertIs(first[0], second[0])
        self.assertEqual(self.names_of(first[0]), ["m0", "m1", "m2", "m3"])

    def delete_now(self, name: str) -> None:
        resource = self.world.resource("configmaps")
        Deferred.fromCoroutine(self.world.client.delete(resource, "a", name))
        self.world.settle()

    def test_listed_again(self) -> None:
        """Objects missing from a new list are no longer counted."""
        uses = self.begin_uses()
        self.all_turns()
        kept = [item for item in self.world.run(self.world.client.list(self.world.resource("configmaps"), "a")).items]
        for _ in self.tally.replaced(kept[:2]):
            pass
        self.assertEqual(self.names_of(uses[0]), ["m0", "m1"])
        self.assertIn(("a", True), self.told)

    def test_forgotten(self) -> None:
        """A namespace that is forgotten is no longer followed."""
        self.begin_uses()
        self.all_turns()
        self.told.clear()
        self.tally.forget("a")
        self.make("configmaps", {"metadata": {"name": "new"}})
        self.assertEqual(self.told, [])


class CustomTests(QuotaControllerCase):
    def widgets(self) -> Resource:
        return self.world.client.resource(GROUP, "v1", "widgets")

    def widget(self, name: str) -> None:
        self.world.run(
            self.world.client.create(
                self.widgets(),
                "a",
                {"apiVersion": f"{GROUP}/v1", "kind": "Widget", "metadata": {"name": name}},
            )
        )

    def test_come_and_go(self) -> None:
        """Custom resources count from when they are served, and stay as they were when they no longer are."""
        self.quota({WIDGETS: "5"})
        self.assertEqual(self.used() if "used" in self.status() else {}, {})
        self.world.add_widgets()
        self.turns(0.5)
        self.assertEqual(self.used(), {WIDGETS: "0"})
        self.widget("w")
        self.widget("x")
        self.turns(2)
        self.assertEqual(self.used(), {WIDGETS: "2"})
        self.world.run(self.world.client.delete(self.widgets(), "a", "w"))
        self.turns()
        self.assertEqual(self.used(), {WIDGETS: "1"})
        self.world.targets.remove(GROUP, "widgets")
        self.turns(3)
        self.assertEqual(self.used(), {WIDGETS: "1"})
        self.world.run(self.world.targets.add(versions(self.world.codecs.schemas)))
        self.widget("y")
        self.turns(3)
        self.assertEqual(self.used(), {WIDGETS: "2"})


class FollowingTests(QuotaControllerCase):
    def followed(self) -> set[str]:
        sources: Any = self.controller.sources[1:]
        return {source.resource.plural for source in sources}

    def test_only_what_is_limited(self) -> None:
        """A resource that no quota limits is not followed (CTRL-47)."""
        self.assertEqual(self.followed(), set())
        self.quota({"pods": "5", "limits.cpu": "1"})
        self.quota({"secrets": "5", "pods": "1"}, "other")
        self.assertEqual(self.followed(), {"pods", "secrets"})
        self.delete("resourcequotas", "other")
        self.assertEqual(self.followed(), {"pods"})
        self.delete("resourcequotas", "rq")
        self.assertEqual(self.followed(), set())

    def test_health(self) -> None:
        """It is well when it has seen all quotas."""
        self.assertEqual(self.health(), {})
        self.end()
        self.assertEqual(self.health(), {"resourcequota": "not running"})


class UnsettledTests(QuotaControllerCase):
    """Charges of writes on their way (CTRL-48)."""

    def test_on_its_way(self) -> None:
        """The charge of a pending write stays until the write ends; other excess charges do not."""
        self.quota({"configmaps": "5"})
        charge = amounts({"configmaps": "1"})
        self.unsettled.add(("a", "rq"), charge)
        self.say({"configmaps": "3"})
        self.turns(3)
        self.assertEqual(self.used(), {"configmaps": "1"})
        self.unsettled.end(("a", "rq"), charge)
        self.turns(1.5)
        self.assertEqual(self.used(), {"configmaps": "0"})

    def test_stored(self) -> None:
        """When its object is there, it is counted once."""
        self.quota({"configmaps": "5"})
        charge = amounts({"configmaps": "1"})
        self.unsettled.add(("a", "rq"), charge)
        self.say({"configmaps": "1"})
        self.make("configmaps", {"metadata": {"name": "m"}})
        self.unsettled.end(("a", "rq"), charge)
        self.turns(3)
        self.assertEqual(self.used(), {"configmaps": "1"})


class ForeignTests(QuotaControllerCase):
    """On a store that others write too (CTRL-48)."""

    foreign_s = 5.0

    def test_charges_of_others(self) -> None:
        """Other servers' charges of the last seconds stay, as their objects may still be pending."""
        self.make("configmaps", {"metadata": {"name": "m"}})
        self.quota({"configmaps": "5"})
        self.turns(6)
        self.say({"configmaps": "3"})
        self.turns(4)
        self.assertEqual(self.used(), {"configmaps": "3"})
        self.turns(3)
        self.assertEqual(self.used(), {"configmaps": "1"})

    def test_start(self) -> None:
        """So it is with what had been charged before the start."""
        self.make("configmaps", {"metadata": {"name": "m"}})
        self.quota({"configmaps": "5"})
        self.end()
        self.say({"configmaps": "3"})
        self.begin()
        self.turns(4)
        self.assertEqual(self.used(), {"configmaps": "3"})
        self.turns(3)
        self.assertEqual(self.used(), {"configmaps": "1"})

    def test_deletions(self) -> None:
        """A deletion is credited even while other servers' charges are kept."""
        for name in "abc":
            self.make("configmaps", {"metadata": {"name": name}})
        self.quota({"configmaps": "9"})
        self.turns(6)
        self.say({"configmaps": "4"})
        self.delete("configmaps", "a")
        self.delete("configmaps", "b")
        self.assertEqual(self.used(), {"configmaps": "2"})
