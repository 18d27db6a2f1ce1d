"""Controller of pods: what a node does not admit (reference SIM-20)."""

# covers: orchtw.simulation.pods.sysctls

from __future__ import annotations

from orchtw.simulation.nodes.simulated_nodes import SimulatedNodes
from orchtw.simulation.pods.controller import SimulatedPods
from orchtw.wire.objects import Object
from tests.simulation.cluster_case import ClusterCase


class AdmissionTests(ClusterCase):
    """Pods with ports of the node, which nobody schedules."""

    made = (SimulatedNodes, SimulatedPods)
    nodes = 2

    def web(self, name: str, node: str = "node-0", port: int = 80) -> Object:
        """Return the status of a new pod with a port of the node, after a second."""
        ports = [{"containerPort": 80, "hostPort": port}]
        containers = [{"name": "c", "image": "i", "ports": ports}]
        self.create("pods", name, spec={"nodeName": node, "containers": containers})
        self.settle(1)
        status: Object = self.get("pods", name)["status"]
        return status

    def test_host_ports(self) -> None:
        """The second pod with a port fails; other ports, and other nodes, are free."""
        self.assertEqual(self.web("first")["phase"], "Running")
        refused = self.web("second")
        self.assertEqual(
            (refused["phase"], refused["reason"], refused["message"]),
            ("Failed", "NodePorts", "Pod Predicate NodePorts failed"),
        )
        self.assertEqual([self.web("other", port=81)["phase"], self.web("there", "node-1")["phase"]], ["Running"] * 2)
        self.assertEqual(self.get("pods", "first")["status"]["phase"], "Running")

    def test_forbidden_parameter(self) -> None:
        """A pod fails whose kernel parameter is not one of the safe ones."""
        for name, phase in (("net.ipv4.tcp_syncookies", "Running"), ("kernel.msgmax", "Failed")):
            parameters = {"sysctls": [{"name": name, "value": "1"}]}
            spec = {"nodeName": "node-0", "containers": [{"name": "c", "image": "i"}], "securityContext": parameters}
            self.create("pods", phase.lower(), spec=spec)
            self.settle(1)
            self.assertEqual(self.get("pods", phase.lower())["status"]["phase"], phase)
        status = self.get("pods", "failed")["status"]
        self.assertEqual(
            (status["reason"], status["message"]),
            ("SysctlForbidden", 'Pod forbidden sysctl: "kernel.msgmax" not allowlisted'),
        )
