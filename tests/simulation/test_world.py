"""State that the simulated controllers share (reference SIM-2)."""

from __future__ import annotations

from orchtw.simulation.nodes.simulated_nodes import SimulatedNodes
from orchtw.simulation.pods.controller import SimulatedPods
from orchtw.values.times import micro_time_text, time_text
from tests.simulation.cluster_case import ClusterCase

AHEAD_S = 7200


class ContinuedTimeTests(ClusterCase):
    """A start after a process, or beside a server, whose time was two hours ahead of the machine's."""

    made = (SimulatedPods, SimulatedNodes)

    def prepare(self) -> None:
        """A Lease that was renewed at that time, and a pod that had just started then."""
        client, time_s = self.world.client, int(self.world.now()) + AHEAD_S
        leases = self.world.resource("leases", "coordination.orch.io/v1")
        spec = {"holderIdentity": "node-0", "renewTime": micro_time_text(time_s, 0)}
        self.world.run(client.create(leases, "orch-node-lease", {"metadata": {"name": "node-0"}, "spec": spec}))
        pods, container = self.world.resource("pods"), {"name": "c", "image": "i"}
        pod = {"metadata": {"name": "p"}, "spec": {"nodeName": "node-0", "containers": [container]}}
        self.world.run(client.create(pods, "a", pod))
        started = time_text(time_s - 1)
        running = {"name": "c", "image": "i", "imageID": "", "ready": True, "restartCount": 0}
        running |= {"state": {"running": {"startedAt": started}}, "started": True}
        ready = {"type": "Ready", "status": "True", "lastTransitionTime": started}
        status = {"phase": "Running", "startTime": started, "conditions": [ready], "containerStatuses": [running]}
        self.world.run(client.patch(pods, "a", "p", {"status": status}, "status"))

    def test_time(self) -> None:
        """The time goes on from the last Lease: a pod that was ready stays so."""
        self.assertGreaterEqual(self.clock.now(), self.world.now() + AHEAD_S - 1)
        self.settle(5)
        self.assertEqual(self.condition("pods", "p", "Ready"), ("True", "", ""))
