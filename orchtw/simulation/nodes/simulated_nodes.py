"""simulated-nodes controller: registers nodes and does what their agents would do (reference SIM-10)."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from typing import Final
from zlib import crc32

from twisted.internet.defer import Deferred

from orchtw.client.concurrency import each
from orchtw.client.interface import Item
from orchtw.controllers.controller import WorkSource
from orchtw.errors import AlreadyExists, NotFound
from orchtw.responses.slices import Steps, in_turns
from orchtw.simulation.controller import SimulatedController
from orchtw.simulation.nodes.machines import PREFIX, Machine, own_number
from orchtw.simulation.nodes.marks import MANAGED, is_gone, is_managed, is_registered
from orchtw.simulation.nodes.rounds import LEASE_DURATION_S, Rounds
from orchtw.simulation.nodes.statuses import STATUS_PERIOD_S, Reporter, differs, last_report, status_changes
from orchtw.simulation.world import World
from orchtw.values.times import micro_time_text, parse_time
from orchtw.wire.objects import Object

_ALL: Final = ""
"""Key of the whole set of nodes; other keys are names of nodes."""
_AT_A_TIME: Final = 32


class SimulatedNodes(SimulatedController):
    """Controller keyed by names of nodes."""

    name = "simulated-nodes"
    account = "simulated-nodes"

    def __init__(self, world: World) -> None:
        super().__init__(world, _AT_A_TIME)
        self.component = self.naming.node_agent
        self._nodes = world.informer("", "nodes")
        self._leases = world.informer("coordination.orch.io", "leases")
        self._nodes.handle(self._seen)
        self._reporter = Reporter(self.naming, world.setting.agent_port)
        self._rounds = Rounds(self.clock, self._visit, self._renew)
        self._reported: dict[str, float] = {}
        """Simulated seconds of each node's last report."""

    @property
    def sources(self) -> Sequence[WorkSource]:
        """Return the informers of Leases and nodes."""
        return (self._leases, self._nodes)

    def startService(self) -> None:
        """Register the nodes, then speak for them."""
        super().startService()
        self.queue.add(_ALL)
        self._rounds.start()

    def stopService(self) -> Deferred[None]:
        """Stop the controller and the renewals of Leases."""
        self._rounds.stop()
        return super().stopService()

    async def sync(self, key: str) -> float | None:
        """Register all nodes, or report the status of one and see to its Lease."""
        await self.listed()
        if key == _ALL:
            await self._register()
            return None
        node = self._nodes.get(key)
        if node is None or not is_managed(node) or is_gone(node):
            self._fall_silent(key)
            return None
        self.world.beats[key] = self.clock.seconds()
        self._rounds.add(key)
        await self._report(node)
        if f"{self.naming.node_lease_namespace}/{key}" not in self._leases:
            await self._renew(key)
        return None

    async def _register(self) -> None:
        """Create the nodes that are missing, run those that are there, and delete ours of an earlier, larger set."""
        wanted = self.world.setting.parts.nodes or 0
        missing, left = await in_turns(self.host.turns, self._compared(wanted))
        await each(missing, self._create_or_adopt, _AT_A_TIME)
        await each(left, self._delete, _AT_A_TIME)

    def _compared(self, wanted: int) -> Steps[tuple[Sequence[int], Sequence[str]]]:
        """Return the numbers of nodes that are missing or not run yet, and the names of those to delete."""
        missing, left = [], []
        for number in range(wanted):
            node = self._nodes.get(f"{PREFIX}{number}")
            if node is None or not is_managed(node):
                missing.append(number)
            yield
        for name in self._nodes.keys:
            own = own_number(name)
            if own is not None and own >= wanted:
                left += [name for node in self._nodes.of((name,)) if is_registered(node)]
            yield
        return missing, left

    async def _create_or_adopt(self, number: int) -> None:
        node = Machine(f"{PREFIX}{number}", number).node(self.naming)
        found = self._nodes.get(node["metadata"]["name"])
        if found is not None:
            await self._adopt(found, node)
            return
        status = self._reporter.status(node, self.clock.now())
        with suppress(AlreadyExists):
            await self.client.create(self._nodes.resource, "", {**node, "status": status})

    async def _adopt(self, found: Object, node: Object) -> None:
        """Run a node that was there before; what it says about itself stays."""
        labels = {**node["metadata"]["labels"], **(found["metadata"].get("labels") or {})}
        changes = {"metadata": {"labels": labels, "annotations": {MANAGED: "true"}}}
        with suppress(NotFound):
            await self.client.patch(self._nodes.resource, "", found["metadata"]["name"], changes)

    async def _delete(self, name: str) -> None:
        with suppress(NotFound):
            await self.client.delete(self._nodes.resource, "", name)

    async def _report(self, node: Object) -> None:
        """Report the status of a node, if it says something new or the last report was long ago."""
        name, old, now = node["metadata"]["name"], node.get("status") or {}, self.clock.now()
        status = self._reporter.status(node, now)
        last = self._reported.get(name)
        if last is None:
            last = self._reported[name] = self._first_report(node, now)
        due = self.clock.seconds() - last >= STATUS_PERIOD_S
        if not due and not differs(old, status):
            return
        self._reported[name] = self.clock.seconds()
        changes = {"metadata": {"uid": node["metadata"]["uid"]}, "status": status_changes(old, status)}
        with suppress(NotFound):
            written = await self.client.patch(self._nodes.resource, "", name, changes, "status", whole=False)
            await self._nodes.seen(written)

    def _first_report(self, node: Object, now: float) -> float:
        """Return the time of a node's last report, as if reports had always been spread over their period."""
        text = last_report(node)
        ago = now - parse_time(text)[0] if text else STATUS_PERIOD_S
        return self.clock.seconds() - max(ago, crc32(node["metadata"]["name"].encode()) % STATUS_PERIOD_S)

    def _visit(self, names: Sequence[str]) -> None:
        """Note that nodes are alive, and have their statuses reported when that is due."""
        now = self.clock.seconds()
        for name in names:
            self.world.beats[name] = now
            if now - self._reported.get(name, now) >= STATUS_PERIOD_S:
                self.queue.add(name)

    async def _renew(self, name: str) -> None:
        """Renew the Lease of a node, or create it."""
        namespace = self.naming.node_lease_namespace
        if name not in self._rounds:
            return
        now = self.clock.now()
        renewed = micro_time_text(int(now), int(now % 1 * 1e6))
        resource = self._leases.resource
        if f"{namespace}/{name}" in self._leases:
            with suppress(NotFound):
                await self.client.patch(resource, namespace, name, {"spec": {"renewTime": renewed}}, whole=False)
            return
        if (node := self._nodes.get(name)) is None:
            return
        owner = self.reference(node, "v1", "Node")
        lease = {
            "metadata": {"name": name, "ownerReferences": [owner]},
            "spec": {"holderIdentity": name, "leaseDurationSeconds": LEASE_DURATION_S, "renewTime": renewed},
        }
        with suppress(AlreadyExists):
            await self.client.create(resource, namespace, lease)

    def _fall_silent(self, name: str) -> None:
        self._rounds.remove(name)
        self.world.beats.pop(name, None)
        self._reported.pop(name, None)

    def _seen(self, old: Item | None, new: Item | None) -> None:
        item = new or old
        if item is not None:
            self.queue.add(item.name)
