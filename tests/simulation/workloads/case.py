"""Controllers of workloads over a registry in memory, on a clock that stands until it is advanced."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from typing import Any

from twisted.trial.unittest import SynchronousTestCase

from orchtw.admission.attributes import Attributes
from orchtw.config.simulation import Parts
from orchtw.controllers.controller import Controller
from orchtw.errors import Forbidden, NotFound
from orchtw.rules.delete_options import DeleteOptions
from orchtw.schema.catalogue import ResourceType
from orchtw.simulation.clock import SimulationClock
from orchtw.simulation.controller import SimulatedController
from orchtw.simulation.world import World as Simulated
from orchtw.simulation.world import WorldSetting
from orchtw.values.times import rfc3339
from orchtw.wire.objects import Object
from tests.client.world import World
from tests.controllers.controlled import host

LABELS = {"app": "web"}
SPEC: Object = {"containers": [{"name": "c", "image": "example.com/web:1"}]}
TEMPLATE: Object = {"metadata": {"labels": LABELS}, "spec": SPEC}
GATES = {
    "DeploymentReplicaSetTerminatingReplicas": True, "MaxUnavailableStatefulSet": True, "PodIndexLabel": True,
    "StatefulSetAutoDeletePVC": True,
}  # fmt: skip


class Quota:
    """Admission plugin that refuses new pods while the quota is exhausted."""

    exhausted = False

    def handles(self, operation: str, resource: ResourceType, subresource: str) -> bool:
        """Report whether a write is the creation of a pod."""
        return operation == "CREATE" and resource.qualified == "pods"

    async def validate(self, attributes: Attributes) -> None:
        """Refuse pods if the quota is exhausted."""
        if self.exhausted:
            raise Forbidden("exceeded quota")


class WorkloadCase(SynchronousTestCase):
    """Tests with some controllers, in namespace `a`; pods run only if a test says so."""

    vocabulary = "orch"
    made: Sequence[Callable[[Simulated], SimulatedController]] = ()
    gates: Mapping[str, bool] = GATES

    def setUp(self) -> None:
        self.quota = Quota()
        self.world = World(self.vocabulary, plugins=[self.quota])
        self.world.namespace("a")
        target = self.world.targets.find("apps", "v1", "statefulsets")
        assert target is not None
        target.stored.strategy.configure(self.gates)
        self.clock = SimulationClock(self.world.clock, self.world.now())
        setting = WorldSetting(parts=Parts(workloads=True), clock=self.clock, gates=self.gates)
        self.simulated = Simulated(host(self.world), setting)
        self.controllers: list[Controller] = [make(self.simulated) for make in self.made]
        for controller in self.controllers:
            controller.startService()
        self.addCleanup(self.stop)

    def stop(self) -> None:
        """Stop the controllers and the clock."""
        for controller in reversed(self.controllers):
            self.world.run(controller.stopService())
        self.clock.stop()

    def settle(self, seconds: float = 0) -> None:
        """Let the controllers do what is due, now and in the next `seconds`."""
        for _ in range(300):
            self.world.clock.advance(0)
        if seconds:
            self.world.settle(seconds, min(seconds, 0.25))
            self.settle()

    def create(self, plural: str, obj: Object, group_version: str = "apps/v1") -> Object:
        """Create an object in namespace a, and let the controllers react."""
        resource = self.world.resource(plural, group_version)
        made = self.world.run(self.world.client.create(resource, "a" if resource.namespaced else "", obj))
        self.settle()
        return made

    def merge(
        self, plural: str, name: str, changes: Object, group_version: str = "apps/v1", subresource: str = ""
    ) -> None:
        """Change an object, and let the controllers react."""
        resource = self.world.resource(plural, group_version)
        namespace = "a" if resource.namespaced else ""
        self.world.run(self.world.client.patch(resource, namespace, name, changes, subresource))
        self.settle()

    def delete(self, plural: str, name: str, group_version: str = "apps/v1") -> None:
        """Delete an object, and let the controllers react."""
        resource = self.world.resource(plural, group_version)
        self.world.run(self.world.client.delete(resource, "a" if resource.namespaced else "", name))
        self.settle()

    def get(self, plural: str, name: str, group_version: str = "apps/v1") -> Object:
        """Return an object as it is now."""
        resource = self.world.resource(plural, group_version)
        return self.world.run(self.world.client.get(resource, "a" if resource.namespaced else "", name))

    def all(self, plural: str, group_version: str = "apps/v1") -> list[Object]:
        """Return all objects of namespace a, by name."""
        listing = self.world.run(self.world.client.list(self.world.resource(plural, group_version), "a"))
        return sorted((item.load() for item in listing.items), key=lambda each: str(each["metadata"]["name"]))

    @property
    def pods(self) -> list[Object]:
        """All pods of namespace a, by name."""
        return self.all("pods", "v1")

    def run_pods(self, *names: str, ready: bool = True) -> None:
        """Let pods run; all those that do not yet, if no names are given."""
        for pod in self.pods:
            name = pod["metadata"]["name"]
            stays = not pod["metadata"].get("deletionTimestamp")
            waits = stays and (pod.get("status") or {}).get("phase") != "Running"
            if name in names or (not names and waits):
                with suppress(NotFound):
                    self.mark(name, "Running", ready=ready)

    def mark(self, name: str, phase: str, *, ready: bool = False) -> None:
        """Write the state of a pod."""
        condition = {
            "type": "Ready", "status": "True" if ready else "False",
            "lastTransitionTime": rfc3339(int(self.clock.now())),
        }
        self.merge("pods", name, {"status": {"phase": phase, "conditions": [condition]}}, "v1", "status")

    def run_all(self, rounds: int = 20) -> None:
        """Let all pods run and end until nothing changes any more."""
        for _ in range(rounds):
            versions = [pod["metadata"]["resourceVersion"] for pod in self.pods]
            self.run_pods()
            if [pod["metadata"]["resourceVersion"] for pod in self.pods] == versions:
                return

    def events(self, name: str) -> list[tuple[str, str]]:
        """Reasons and messages of the events about an object, in the order of their writing."""
        found = [each for each in self.all("events", "v1") if each["involvedObject"]["name"] == name]
        found.sort(key=lambda each: int(each["metadata"]["resourceVersion"]))
        return [(each["reason"], each["message"]) for each in found]

    def condition(self, obj: Object, kind: str) -> Any:
        """Return the status, reason and message of a condition, or None."""
        for each in (obj.get("status") or {}).get("conditions") or ():
            if each["type"] == kind:
                return each["status"], each.get("reason"), each.get("message", "")
        return None

    def end(self, name: str) -> None:
        """End a pod that is being deleted, as its node does."""
        options = DeleteOptions(grace_period_s=0)
        resource = self.world.resource("pods")
        self.world.run(self.world.client.delete(resource, "a", name, options))
        self.settle()
