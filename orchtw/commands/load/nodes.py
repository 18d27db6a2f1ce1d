"""Nodes: their objects, the renewals of their leases, and reports of their status."""

from __future__ import annotations

from orchtw.client.concurrency import each
from orchtw.commands.load.deliveries import identity
from orchtw.commands.load.plan import LEASE_S, STATUS_RENEWALS
from orchtw.commands.load.requests import STRATEGIC_PATCH
from orchtw.commands.load.world import LoadWorld, now, precise_now


class NodeAgents:
    """Side of the node agents that keeps the nodes alive."""

    def __init__(self, world: LoadWorld) -> None:
        self._world = world
        self._uids: dict[str, str] = {}
        self._versions: dict[str, str] = {}

    async def create(self, at_once: int) -> None:
        """Create all nodes, that many concurrently."""
        await each(range(self._world.plan.nodes), self._create, at_once)

    def start(self) -> None:
        """Renew the leases from now on."""
        for number in range(self._world.plan.nodes):
            self._world.begin(self._renew_always(number))

    async def _create(self, number: int) -> None:
        world, name = self._world, self._world.plan.node(number)
        body = world.bodies.node.render(NAME=name, TIME=now())
        answer = await world.requests.send("create nodes", "POST", world.paths.core("nodes"), body)
        if answer is not None and (found := identity(answer)) is not None:
            self._uids[name] = found[0].decode()

    async def _renew_always(self, number: int) -> None:
        world, name = self._world, self._world.plan.node(number)
        due_s = world.reactor.seconds() + world.plan.first_renewal_s(number)
        turn = number
        while True:
            await world.sleep(max(0.0, due_s - world.reactor.seconds()))
            await self._renew(name)
            turn += 1
            if turn % STATUS_RENEWALS == 0:
                await self._report(name)
            due_s = max(due_s + LEASE_S, world.reactor.seconds())

    async def _renew(self, name: str) -> None:
        """Renew a lease as node agents do: by an update of the version that the last one returned."""
        requests, paths = self._world.requests, self._world.paths
        if (uid := self._uids.get(name)) is None:
            return
        version = self._versions.pop(name, "")
        body = self._world.bodies.lease.render(NAME=name, UID=uid, TIME=precise_now(), VERSION=version)
        if version:
            answer = await requests.send("update leases", "PUT", paths.leases(name), body, topics=("leases",))
        else:
            answer = await self._made(name, body)
        if answer is not None and (found := identity(answer)) is not None:
            self._versions[name] = str(found[1])

    async def _made(self, name: str, body: bytes) -> bytes | None:
        """Create a lease; one that is left of an earlier run, or whose renewal was not answered, is read."""
        requests, paths = self._world.requests, self._world.paths
        answer = await requests.send("create leases", "POST", paths.leases(), body, topics=("leases",), good=(409,))
        if answer is not None and b'"kind":"Status"' in answer:
            return await requests.send("get leases", "GET", paths.leases(name))
        return answer

    async def _report(self, name: str) -> None:
        world = self._world
        path, body = world.paths.core("nodes", "", name, "status"), world.bodies.node_status.render(TIME=now())
        await world.requests.send("patch nodes/status", "PATCH", path, body, STRATEGIC_PATCH, topics=("nodes",))
