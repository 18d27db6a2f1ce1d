"""nodelifecycle controller: silent nodes become Unknown, nodes get taints, taints evict pods (reference SIM-11)."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from typing import Final

from twisted.internet.defer import Deferred

from orchtw.client.concurrency import each
from orchtw.client.event_recorder import EventRecorder
from orchtw.client.interface import Item
from orchtw.controllers.controller import WorkSource
from orchtw.errors import NotFound
from orchtw.simulation.clock import Timer
from orchtw.simulation.controller import SimulatedController
from orchtw.simulation.nodes.disruption import Zones
from orchtw.simulation.nodes.health import NodeHealth, unknown_conditions
from orchtw.simulation.nodes.node_taints import NodeTaints, no_execute, readiness
from orchtw.simulation.nodes.rounds import grace_period_s
from orchtw.simulation.nodes.taint_manager import TaintManager
from orchtw.simulation.pod_indexes import by_node
from orchtw.simulation.world import World
from orchtw.values.times import rfc3339
from orchtw.wire.objects import Object

MONITOR_PERIOD_S: Final = 5.0
"""Seconds between two looks for nodes that have fallen silent."""

_NODE, _POD = "node/", "pod/"
_AT_A_TIME: Final = 16
_MOST_ANNOUNCED: Final = 1000
"""Number of nodes up to which an event tells of each new one."""


class NodeLifecycle(SimulatedController):
    """Controller keyed by `node/NAME` and `pod/NAMESPACE/NAME`."""

    name = "nodelifecycle"
    account = "node-controller"
    component = "node-controller"

    def __init__(self, world: World) -> None:
        super().__init__(world, _AT_A_TIME)
        self._nodes = world.informer("", "nodes")
        self._pods = world.informer("", "pods")
        self._leases = world.informer("coordination.orch.io", "leases")
        self._pods_on = by_node(self._pods)
        self._health = NodeHealth(world.beats)
        self._zones = Zones()
        self._states: dict[str, str] = {}
        self._taints = NodeTaints(self.naming)
        self._tainted: set[str] = set()
        """Nodes with a taint that evicts pods."""
        self._lost: set[str] = set()
        """Nodes that are no longer ready, whose pods are yet to be marked."""
        self._known: dict[str, str] = {}
        """Uids of the nodes that have been announced, by name."""
        recorder = EventRecorder(self.client, "taint-controller", self.clock.now)
        self._manager = TaintManager(self.client, self._pods, recorder, self.clock)
        self._monitor: Timer | None = None
        self._zone_labels = [self.naming.translate(f"topology.orch.io/{each}") for each in ("region", "zone")]
        self._nodes.handle(self._node_seen)
        self._pods.handle(self._pod_seen)
        self._leases.handle(self._lease_seen)

    @property
    def sources(self) -> Sequence[WorkSource]:
        """Pods before nodes, whose taints concern them."""
        return (self._pods, self._leases, self._nodes)

    def startService(self) -> None:
        """Work, and look for silent nodes."""
        super().startService()
        self._watch_over()

    def stopService(self) -> Deferred[None]:
        """Stop the controller and its looks for silent nodes."""
        if self._monitor is not None:
            self._monitor.cancel()
        return super().stopService()

    async def sync(self, key: str) -> float | None:
        """Bring a node's conditions and taints up to date, or evict a pod that is due."""
        await self.listed()
        if key.startswith(_POD):
            pod = self._pods.get(key.removeprefix(_POD))
            node = None if pod is None else self._nodes.get(pod["spec"].get("nodeName", ""))
            return await self._manager.sync(key.removeprefix(_POD), pod, [] if node is None else no_execute(node))
        name = key.removeprefix(_NODE)
        node = self._nodes.get(name)
        if node is None:
            await self._node_gone(name)
            return None
        await self._announce(name, node)
        if self._silent(name):
            node = await self._mark_unknown(node)
        if name in self._lost:
            await self._mark_pods(name, node)
        return await self._taint(node)

    def _silent(self, name: str) -> bool:
        silent_s = self._health.silent_s(name, self.clock.seconds())
        return silent_s >= grace_period_s(len(self._nodes), self.clock.speed)

    async def _mark_unknown(self, node: Object) -> Object:
        """Return the node with the conditions of one that has fallen silent."""
        conditions = unknown_conditions(node, self.naming, rfc3339(int(self.clock.now())))
        if conditions is None:
            return node
        return await self._patch(node, {"status": {"conditions": conditions}}, "status")

    async def _mark_pods(self, name: str, node: Object) -> None:
        """Tell that a node is no longer ready, and that its pods are not either."""
        reason = "NodeNotReady"
        reference = self.reference(node, "v1", "Node")
        await self.events.record(reference, "Normal", reason, f"Node {name} status is now: {reason}")
        await each(tuple(self._pods.of(self._pods_on.keys(name))), self._mark_pod, _AT_A_TIME)
        self._lost.discard(name)

    async def _mark_pod(self, pod: Object) -> None:
        conditions = (pod.get("status") or {}).get("conditions") or ()
        if not any(each["type"] == "Ready" and each["status"] == "True" for each in conditions):
            return
        fallen = {"status": "False", "lastTransitionTime": rfc3339(int(self.clock.now()))}
        made = [{**each, **fallen} if each["type"] == "Ready" else each for each in conditions]
        meta = pod["metadata"]
        changes = {"metadata": {"uid": meta["uid"]}, "status": {"conditions": made}}
        with suppress(NotFound):
            await self.client.patch(self._pods.resource, meta["namespace"], meta["name"], changes, "status")
            await self.events.record(self.reference(pod, "v1", "Pod"), "Warning", "NodeNotReady", "Node is not ready")

    async def _taint(self, node: Object) -> float | None:
        """Give a node its taints; return the seconds after which its pods may be evicted, if that has to wait."""
        name, wait_s = node["metadata"]["name"], None
        self._put_in_zone(node)
        evicts: bool | None = None
        if self._taints.lacks_eviction(node):
            wait_s = self._zones.wait_s(name, self.clock.seconds())
            evicts = True if wait_s == 0.0 else None
        if self._zones.down:
            evicts = False
        wanted = self._taints.wanted(node, rfc3339(int(self.clock.now())), evicts=evicts)
        if wanted != (node["spec"].get("taints") or []):
            meta = {"resourceVersion": node["metadata"]["resourceVersion"]}
            await self._patch(node, {"metadata": meta, "spec": {"taints": wanted or None}})
        return wait_s or None

    async def _patch(self, node: Object, changes: Object, subresource: str = "") -> Object:
        meta = node["metadata"]
        preconditions = {"uid": meta["uid"], **changes.get("metadata", {})}
        changes = {**changes, "metadata": preconditions}
        written = await self.client.patch(self._nodes.resource, "", meta["name"], changes, subresource)
        await self._nodes.seen(written)
        return written

    async def _announce(self, name: str, node: Object) -> None:
        if name not in self._known:
            self._known[name] = node["metadata"]["uid"]
            if len(self._nodes) <= _MOST_ANNOUNCED:
                message = f"Node {name} event: Registered Node {name} in Controller"
                await self.events.record(self.reference(node, "v1", "Node"), "Normal", "RegisteredNode", message)

    async def _node_gone(self, name: str) -> None:
        uid = self._known.pop(name, None)
        if uid is not None:
            reference = {"apiVersion": "v1", "kind": "Node", "name": name, "uid": uid}
            message = f"Node {name} event: Removing Node {name} from Controller"
            await self.events.record(reference, "Normal", "RemovingNode", message)

    def _put_in_zone(self, node: Object) -> None:
        """Count a node in its zone; when a zone's state changes, its other nodes are looked at again."""
        labels = node["metadata"].get("labels") or {}
        zone = ":".join(labels.get(each, "") for each in self._zone_labels)
        self._zones.put(node["metadata"]["name"], zone, readiness(node) == "True")
        self._zones_changed()

    def _zones_changed(self) -> None:
        states = {**self._zones.states(), "": str(self._zones.down)}
        if states == self._states:
            return
        if self._states.get("") == "True" and states[""] != "True":
            self._health.pardon(self.clock.seconds())
        changed = [zone for zone, state in states.items() if zone and self._states.get(zone) != state]
        everywhere = self._states.get("") != states[""]
        self._states = states
        for zone in states if everywhere else changed:
            for name in self._zones.members(zone):
                self.queue.add(_NODE + name)

    def _watch_over(self) -> None:
        """Look for nodes that have fallen silent; only these are work that an advance of the time waits for."""
        self._monitor = timer = self.clock.call_later(MONITOR_PERIOD_S, self._watch_over, settles=False)
        grace_s = grace_period_s(len(self._nodes), self.clock.speed)
        for name in self._health.silent(self.clock.seconds(), grace_s):
            timer.settles = True
            self.queue.add(_NODE + name)

    def _node_seen(self, old: Item | None, new: Item | None) -> None:
        if new is None:
            if old is not None:
                self._health.forget(old.name)
                self._zones.drop(old.name)
                self._zones_changed()
                self._tainted.discard(old.name)
                self._lost.discard(old.name)
                self.queue.add(_NODE + old.name)
            return
        node = self._nodes.load(new)
        self._health.reported(node, self.clock.seconds())
        if old is not None and readiness(node) != "True" and readiness(self._nodes.load(old)) == "True":
            self._lost.add(new.name)
        self._follow_taints(old, node)
        self.queue.add(_NODE + new.name)

    def _follow_taints(self, old: Item | None, node: Object) -> None:
        """Look at the pods of a node whose evicting taints have changed."""
        name, present = node["metadata"]["name"], no_execute(node)
        before = no_execute(self._nodes.load(old)) if old is not None and name in self._tainted else []
        (self._tainted.add if present else self._tainted.discard)(name)
        if present != before:
            for key in self._pods_on.keys(name):
                self.queue.add(_POD + key)

    def _pod_seen(self, old: Item | None, new: Item | None) -> None:
        item = new or old
        if item is None or not (self._tainted or item.key in self._manager):
            return
        if new is None or self._pods.load(new)["spec"].get("nodeName") in self._tainted or item.key in self._manager:
            self.queue.add(_POD + item.key)

    def _lease_seen(self, old: Item | None, new: Item | None) -> None:
        if new is not None and new.namespace == self.naming.node_lease_namespace:
            self._health.heard(new.name, self.clock.seconds())
