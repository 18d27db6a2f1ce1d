"""Controllers of nodes and the scheduler over a registry in memory, on a clock that stands until it is advanced."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from twisted.trial.unittest import SynchronousTestCase

from orchtw.config.simulation import Parts
from orchtw.controllers.controller import Controller
from orchtw.simulation.clock import SimulationClock
from orchtw.simulation.controller import SimulatedController
from orchtw.simulation.world import World as Simulated
from orchtw.simulation.world import WorldSetting
from orchtw.wire.objects import Object
from tests.client.world import World
from tests.controllers.controlled import host


class ClusterCase(SynchronousTestCase):
    """Tests with some controllers and pods in namespace `a`, which nothing runs."""

    vocabulary = "orch"
    made: Sequence[Callable[[Simulated], SimulatedController]] = ()
    nodes = 3
    agent_port = 0

    def setUp(self) -> None:
        self.world = World(self.vocabulary)
        self.world.namespace("a")
        self.clock = SimulationClock(self.world.clock, self.world.now())
        setting = WorldSetting(parts=Parts(nodes=self.nodes), clock=self.clock, agent_port=self.agent_port)
        self.simulated = Simulated(host(self.world), setting)
        self.prepare()
        self.controllers: list[Controller] = [make(self.simulated) for make in self.made]
        for controller in self.controllers:
            controller.startService()
        self.addCleanup(self.stop)
        self.settle()

    def prepare(self) -> None:
        """Make what is there before the controllers start."""

    def stop(self) -> None:
        """Stop the controllers and the world."""
        for controller in reversed(self.controllers):
            self.world.run(controller.stopService())
        self.clock.stop()
        self.world.stop()

    def settle(self, seconds: float = 0) -> None:
        """Let the controllers do what is due, now and in the next `seconds`."""
        self.world.settle(0.1, 0.02)
        for _ in range(200):
            self.world.clock.advance(0)
        if seconds:
            self.world.settle(seconds, 1.0)
            self.settle()

    def create(self, plural: str, name: str, group_version: str = "v1", **content: Any) -> Object:
        """Create an object, with annotations, labels and the like in `meta`, and let the controllers react."""
        resource = self.world.resource(plural, group_version)
        obj = {"metadata": {"name": name, **content.pop("meta", {})}, **content}
        made = self.world.run(self.world.client.create(resource, "a" if resource.namespaced else "", obj))
        self.settle()
        return made

    def pod(self, name: str, *, meta: Object | None = None, **spec: Any) -> Object:
        """Create a pod with one container, whose requests may be given."""
        container: Object = {"name": "c", "image": "i"}
        if (requests := spec.pop("requests", None)) is not None:
            limits = {name: amount for name, amount in requests.items() if "/" in name}
            container["resources"] = {"requests": requests, "limits": limits}
        if (ports := spec.pop("ports", None)) is not None:
            container["ports"] = ports
        return self.create("pods", name, meta=meta or {}, spec={"containers": [container], **spec})

    def patch(
        self, plural: str, name: str, changes: Object, subresource: str = "", group_version: str = "v1"
    ) -> None:
        """Change an object, and let the controllers react."""
        resource = self.world.resource(plural, group_version)
        namespace = "a" if resource.namespaced else ""
        self.world.run(self.world.client.patch(resource, namespace, name, changes, subresource))
        self.settle()

    def annotate(self, node: str, name: str, value: str | None) -> None:
        """Set an annotation of a node, or remove it."""
        self.patch("nodes", node, {"metadata": {"annotations": {name: value}}})

    def delete(self, plural: str, name: str) -> None:
        """Delete an object, and let the controllers react."""
        resource = self.world.resource(plural)
        self.world.run(self.world.client.delete(resource, "a" if resource.namespaced else "", name))
        self.settle()

    def get(self, plural: str, name: str) -> Object:
        """Return an object of namespace a."""
        found = self.world.get(plural, name)
        assert found is not None, f"{plural} {name} is gone"
        return found

    def node_of(self, pod: str) -> str:
        """Return the name of a pod's node, empty if it has none."""
        return str(self.get("pods", pod)["spec"].get("nodeName", ""))

    def condition(self, plural: str, name: str, kind: str) -> tuple[str, str, str] | None:
        """Return status, reason and message of a condition, or None."""
        for each in (self.get(plural, name).get("status") or {}).get("conditions") or ():
            if each["type"] == kind:
                return each["status"], each.get("reason", ""), each.get("message", "")
        return None

    def events(self, name: str, namespace: str = "a") -> list[tuple[str, str]]:
        """Return reasons and messages of the events about an object, in the order of their writing."""
        items = self.world.run(self.world.client.list(self.world.resource("events"), namespace)).items
        found = [each for each in (item.load() for item in items) if each["involvedObject"]["name"] == name]
        found.sort(key=lambda each: int(each["metadata"]["resourceVersion"]))
        return [(each["reason"], each["message"]) for each in found]

    def taints(self, node: str) -> list[tuple[str, str]]:
        """Return keys and effects of a node's taints."""
        return [(each["key"], each["effect"]) for each in self.get("nodes", node)["spec"].get("taints") or ()]
