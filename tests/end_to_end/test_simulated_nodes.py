"""Simulated nodes and the scheduler in a running server, whose time stands until it is advanced."""

from __future__ import annotations

from typing import Any

from twisted.internet import reactor as installed_reactor
from twisted.internet.task import deferLater

from orchtw.wire.objects import Object
from tests.end_to_end.case import ServerCase

reactor: Any = installed_reactor
LOOKS = 1000


class SimulatedNodesTests(ServerCase):
    """A cluster of three nodes (reference SIM-10, SIM-11, SIM-13, SIM-60)."""

    vocabulary = "kubernetes"
    flags = ("--simulate=nodes=3", "--simulate-speed=0", "--controllers=*,-root-ca-cert-publisher,-simulated-pods")

    async def advance(self, seconds: float) -> None:
        answer = await self.client.post("/debug/simulation", {"advance": seconds})
        self.assertEqual(answer.code, 200, answer)

    async def node(self, name: str) -> Object:
        found: Object = (await self.client.get(f"/api/v1/nodes/{name}")).json
        return found

    async def placed(self, name: str) -> str:
        """The name of a pod's node, once it has one."""
        for _ in range(LOOKS):
            pod = (await self.client.get(self.core("pods", name))).json
            if node := pod["spec"].get("nodeName"):
                return str(node)
            await deferLater(reactor, 0.02)
        self.fail(f"{name} has no node")

    async def test_power_cut(self) -> None:
        """A pod is put on a node; when that loses its power, it becomes Unknown, and the pod has to go."""
        await self.advance(1)
        container = {"name": "c", "image": "i"}
        await self.created(self.core("pods"), {"metadata": {"name": "p"}, "spec": {"containers": [container]}})
        name = await self.placed("p")
        change = {"metadata": {"annotations": {"simulate.orch.io/gone": "true"}}}
        await self.client.merge(f"/api/v1/nodes/{name}", change)
        await self.advance(60)
        ready = (await self.node(name))["status"]["conditions"][-1]
        self.assertEqual((ready["type"], ready["status"], ready["reason"]), ("Ready", "Unknown", "NodeStatusUnknown"))
        await self.advance(320)
        pod = (await self.client.get(self.core("pods", "p"))).json
        self.assertIn("deletionTimestamp", pod["metadata"])
        others = {"node-0", "node-1", "node-2"} - {name}
        for other in sorted(others):
            self.assertEqual((await self.node(other))["status"]["conditions"][-1]["status"], "True")
        await self.client.delete(f"/api/v1/nodes/{name}")
        await self.advance(90)
        self.assertEqual((await self.client.get(self.core("pods", "p"))).code, 404)
