"""Pods that no node will end are removed (reference SIM-14)."""

from __future__ import annotations

from twisted.trial.unittest import SynchronousTestCase

from orchtw.simulation.nodes import pod_gc
from orchtw.simulation.nodes.pod_gc import PodGC
from orchtw.simulation.nodes.simulated_nodes import SimulatedNodes
from tests.simulation.cluster_case import ClusterCase


class CollectionTests(ClusterCase):
    """Pods that the controller podgc removes."""

    made = (SimulatedNodes, PodGC)

    def test_orphaned(self) -> None:
        """Pods of a node that is gone are removed after it has been away for 40 s."""
        self.pod("stays", nodeName="node-0")
        self.pod("orphan", nodeName="nowhere")
        self.settle(30)
        self.assertEqual(self.world.names("pods"), ["orphan", "stays"])
        self.settle(50)
        self.assertEqual(self.world.names("pods"), ["stays"])

    def test_unscheduled(self) -> None:
        """A terminating pod without a node is removed."""
        self.pod("p", meta={"finalizers": ["ex.io/a"]})
        self.delete("pods", "p")
        self.patch("pods", "p", {"metadata": {"finalizers": None}})
        self.settle(25)
        self.assertEqual(self.world.names("pods"), [])

    def test_out_of_service(self) -> None:
        """Terminating pods of a node that is out of service are removed, if the node is not ready."""
        self.pod("p", nodeName="node-0")
        self.delete("pods", "p")
        taint = {"key": "node.orch.io/out-of-service", "effect": "NoExecute"}
        self.patch("nodes", "node-0", {"spec": {"taints": [taint]}})
        self.settle(25)
        self.assertEqual(self.world.names("pods"), ["p"])
        self.annotate("node-0", "simulate.orch.io/ready", "false")
        self.settle(25)
        self.assertEqual(self.world.names("pods"), [])

    def test_threshold(self) -> None:
        """The oldest of the terminated pods beyond the threshold are removed."""
        SynchronousTestCase.patch(self, pod_gc, "TERMINATED_THRESHOLD", 2)
        for name in ("a", "b", "c"):
            self.pod(name, nodeName="node-0")
            self.patch("pods", name, {"status": {"phase": "Succeeded"}}, "status")
        self.settle(25)
        self.assertEqual(self.world.names("pods"), ["b", "c"])
