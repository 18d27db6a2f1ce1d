"""Silent nodes, taints and evictions (reference SIM-11, SIM-12, SIM-13)."""
# covers: orchtw.simulation.nodes.health, orchtw.simulation.nodes.node_taints, orchtw.simulation.nodes.disruption

from __future__ import annotations

from twisted.trial.unittest import SynchronousTestCase

from orchtw.simulation.nodes.disruption import FULL, NORMAL, PARTIAL, Zones
from orchtw.simulation.nodes.evictions import stay_s, tolerates
from orchtw.simulation.nodes.health import NodeHealth
from orchtw.simulation.nodes.lifecycle import NodeLifecycle
from orchtw.simulation.nodes.marks import GONE, PRESSURE, READY
from orchtw.simulation.nodes.simulated_nodes import SimulatedNodes
from orchtw.wire.objects import Object
from tests.simulation.cluster_case import ClusterCase

UNREACHABLE, NOT_READY = "node.orch.io/unreachable", "node.orch.io/not-ready"
FOREVER: Object = {"operator": "Exists"}
BRIEFLY: Object = {"key": "k", "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 20}


class TolerationTests(SynchronousTestCase):
    """Taints that a toleration covers, and its duration (reference SIM-13)."""

    def test_matching(self) -> None:
        """Key, effect and value count as far as they are given; Exists asks for no value."""
        taint = {"key": "k", "value": "v", "effect": "NoExecute"}
        for toleration, expected in (
            ({"operator": "Exists"}, True),
            ({"key": "k", "operator": "Exists"}, True),
            ({"key": "k", "value": "v"}, True),
            ({"key": "k", "value": "w"}, False),
            ({"key": "k", "value": "v", "effect": "NoSchedule"}, False),
            ({"key": "l", "operator": "Exists"}, False),
        ):
            self.assertEqual(tolerates(toleration, taint), expected, toleration)

    def test_duration(self) -> None:
        """The shortest time of all matching tolerations counts, and a taint that none matches ends the stay."""
        one, two = ({"key": key, "effect": "NoExecute"} for key in ("a", "b"))
        brief = {"key": "a", "operator": "Exists", "tolerationSeconds": 7}
        self.assertEqual(stay_s([FOREVER], [one]), float("inf"))
        self.assertEqual(stay_s([FOREVER, brief], [one]), 7)
        self.assertEqual(stay_s([brief], [one, two]), 0)


class ZoneTests(SynchronousTestCase):
    """Disruption of zones (reference SIM-12)."""

    def test_states(self) -> None:
        """A zone is disrupted in part from three nodes and 55 % on, and wholly without a ready node."""
        zones = Zones()
        for number in range(5):
            zones.put(f"n{number}", "a", ready=number > 1)
        self.assertEqual(zones.states()["a"], NORMAL)
        zones.put("n2", "a", ready=False)
        self.assertEqual(zones.states()["a"], PARTIAL)
        self.assertIsNone(zones.wait_s("n0", 0.0))
        for number in range(5):
            zones.put(f"n{number}", "a", ready=False)
        self.assertEqual((zones.states()["a"], zones.down), (FULL, True))
        self.assertIsNone(zones.wait_s("n0", 0.0))

    def test_pace(self) -> None:
        """One node in ten seconds may be evicted in each zone, one in a hundred in a large disrupted one."""
        zones = Zones()
        for number in range(60):
            zones.put(f"n{number}", "a", ready=number > 1)
        waits = [zones.wait_s("n0", 0.0), zones.wait_s("n1", 4.0), zones.wait_s("n1", 10.0)]
        self.assertEqual(waits, [0.0, 6.0, 0.0])
        for number in range(40):
            zones.put(f"n{number}", "a", ready=False)
        self.assertEqual([zones.wait_s("n0", 50.0), zones.wait_s("n1", 60.0)], [0.0, 90.0])

    def test_removed(self) -> None:
        """A node that is gone counts no more."""
        zones = Zones()
        zones.put("n", "a", ready=False)
        zones.drop("n")
        self.assertEqual((zones.states(), zones.down), ({}, False))


class HealthTests(SynchronousTestCase):
    """Nodes that are looked at because of their silence (reference SIM-11)."""

    def test_noted(self) -> None:
        """A silent node is looked at until its conditions say so, and again after its next report."""
        health = NodeHealth({})
        condition = {"type": "Ready", "status": "True", "lastHeartbeatTime": "2023-01-01T00:00:00Z"}
        node = {"metadata": {"name": "n"}, "status": {"conditions": [condition]}}
        health.reported(node, 0.0)
        self.assertEqual((list(health.silent(39.0, 40.0)), list(health.silent(40.0, 40.0))), ([], ["n"]))
        condition["status"] = "Unknown"
        health.reported(node, 45.0)
        self.assertEqual(list(health.silent(1000.0, 40.0)), [])
        condition |= {"status": "True", "lastHeartbeatTime": "2023-01-01T00:20:00Z"}
        health.reported(node, 1200.0)
        self.assertEqual(list(health.silent(1240.0, 40.0)), ["n"])


class SilenceTests(ClusterCase):
    """Nodes that stop to report (reference SIM-11)."""

    made = (NodeLifecycle, SimulatedNodes)

    def test_unknown(self) -> None:
        """A node is Unknown after 40 s of silence and gets both taints; its pods are no longer ready."""
        self.pod("p", nodeName="node-1", tolerations=[FOREVER])
        ready = {"type": "Ready", "status": "True", "lastTransitionTime": "2023-01-01T00:00:00Z"}
        self.patch("pods", "p", {"status": {"phase": "Running", "conditions": [ready]}}, "status")
        self.annotate("node-1", GONE, "true")
        self.settle(30)
        self.assertEqual(self.condition("nodes", "node-1", "Ready")[0], "True")  # type: ignore[index]
        self.settle(16)
        for kind in ("Ready", "MemoryPressure", "DiskPressure", "PIDPressure"):
            self.assertEqual(
                self.condition("nodes", "node-1", kind),
                ("Unknown", "NodeStatusUnknown", "Orchlet stopped posting node status."),
            )
        self.assertEqual(self.taints("node-1"), [(UNREACHABLE, "NoSchedule"), (UNREACHABLE, "NoExecute")])
        self.assertEqual(self.condition("pods", "p", "Ready")[0], "False")  # type: ignore[index]
        self.assertIn(("NodeNotReady", "Node node-1 status is now: NodeNotReady"), self.events("node-1", "default"))
        self.annotate("node-1", GONE, None)
        self.settle(10)
        self.assertEqual((self.condition("nodes", "node-1", "Ready")[0], self.taints("node-1")), ("True", []))  # type: ignore[index]

    def test_all_silent(self) -> None:
        """When no node is heard of any more, nothing is evicted."""
        for name in ("node-0", "node-1", "node-2"):
            self.annotate(name, GONE, "true")
        self.settle(60)
        self.assertEqual(self.taints("node-1"), [(UNREACHABLE, "NoSchedule")])

    def test_never_reported(self) -> None:
        """A node that nobody runs becomes Unknown as well."""
        self.create("nodes", "foreign")
        self.settle(50)
        self.assertEqual(
            self.condition("nodes", "foreign", "Ready"),
            ("Unknown", "NodeStatusNeverUpdated", "Orchlet never posted node status."),
        )

    def test_announced(self) -> None:
        """Events tell of nodes that come and go."""
        self.delete("nodes", "node-2")
        self.assertEqual(
            self.events("node-2", "default"),
            [
                ("RegisteredNode", "Node node-2 event: Registered Node node-2 in Controller"),
                ("RemovingNode", "Node node-2 event: Removing Node node-2 from Controller"),
            ],
        )


class TaintTests(ClusterCase):
    """Taints by condition, and the end of pods that do not tolerate them (reference SIM-13)."""

    made = (NodeLifecycle, SimulatedNodes)

    def test_conditions(self) -> None:
        """Pressure, readiness and a cordon show as taints; those of users stay."""
        own = {"key": "own", "effect": "NoSchedule"}
        self.patch("nodes", "node-0", {"spec": {"unschedulable": True, "taints": [own]}})
        self.annotate("node-0", PRESSURE, "memory")
        self.annotate("node-0", READY, "false")
        self.assertEqual(
            self.taints("node-0"),
            [
                ("own", "NoSchedule"),
                (NOT_READY, "NoSchedule"),
                ("node.orch.io/memory-pressure", "NoSchedule"),
                ("node.orch.io/unschedulable", "NoSchedule"),
                (NOT_READY, "NoExecute"),
            ],
        )
        self.annotate("node-0", PRESSURE, None)
        self.annotate("node-0", READY, None)
        self.patch("nodes", "node-0", {"spec": {"unschedulable": None}})
        self.assertEqual(self.taints("node-0"), [("own", "NoSchedule")])

    def evict(self, *tolerations: Object) -> None:
        self.pod("p", nodeName="node-0", tolerations=[*tolerations])
        taint = {"key": "k", "value": "v", "effect": "NoExecute"}
        self.patch("nodes", "node-0", {"spec": {"taints": [taint]}})

    def ends(self) -> bool:
        return bool(self.get("pods", "p")["metadata"].get("deletionTimestamp"))

    def test_evicted(self) -> None:
        """A pod that does not tolerate a NoExecute taint is deleted, with an event."""
        self.evict()
        self.assertTrue(self.ends())
        self.assertEqual(self.events("p"), [("TaintManagerEviction", "Marking for deletion Pod a/p")])

    def test_tolerated(self) -> None:
        """A pod stays for as long as it tolerates the taint."""
        self.evict(BRIEFLY)
        self.settle(10)
        self.assertFalse(self.ends())
        self.settle(15)
        self.assertTrue(self.ends())

    def test_taken_back(self) -> None:
        """A pod stays if the taint is taken away in time."""
        self.evict(BRIEFLY)
        self.patch("nodes", "node-0", {"spec": {"taints": None}})
        self.settle(30)
        self.assertFalse(self.ends())
        self.assertEqual(self.events("p"), [("TaintManagerEviction", "Cancelling deletion of Pod a/p")])

    def test_later_pod(self) -> None:
        """A pod that comes to a tainted node is evicted as well."""
        self.patch("nodes", "node-0", {"spec": {"taints": [{"key": "k", "effect": "NoExecute"}]}})
        self.pod("p", nodeName="node-0")
        self.assertTrue(self.ends())
