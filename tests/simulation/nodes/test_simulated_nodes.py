"""Nodes are registered, report and renew (reference SIM-10)."""
# covers: orchtw.simulation.nodes.rounds, orchtw.simulation.nodes.statuses, orchtw.simulation.nodes.machines

from __future__ import annotations

from twisted.trial.unittest import SynchronousTestCase

from orchtw.naming.naming import Naming
from orchtw.simulation.nodes.machines import Machine, own_number
from orchtw.simulation.nodes.marks import CAPACITY, GONE, MANAGED, PRESSURE, READY
from orchtw.simulation.nodes.rounds import grace_period_s, lease_period_s
from orchtw.simulation.nodes.simulated_nodes import SimulatedNodes
from orchtw.wire.objects import Object
from tests.simulation.cluster_case import ClusterCase


class MachineTests(SynchronousTestCase):
    """The facts of a machine follow from its number."""

    def test_addresses(self) -> None:
        """Nodes have addresses and ranges of their own, however many there are."""
        machines = [Machine.of(f"node-{number}") for number in (0, 1, 255, 32_511, 32_512, 99_999)]
        self.assertEqual(machines[0].address, "10.128.0.1")
        self.assertEqual(
            [each.pod_range for each in machines],
            ["10.1.0.0/24", "10.1.1.0/24", "10.1.255.0/24", "10.127.255.0/24", "240.0.0.0/24", "241.7.159.0/24"],
        )
        self.assertEqual([each.zone[-1] for each in machines[:3]], ["a", "b", "a"])

    def test_names(self) -> None:
        """Only names that registration makes have a number; others get one that no registered node has."""
        self.assertEqual([own_number(each) for each in ("node-7", "node-07", "node-", "web")], [7, None, None, None])
        self.assertGreaterEqual(Machine.of("web").number, 100_000)

    def test_vocabulary(self) -> None:
        """Labels are those of the vocabulary."""
        labels = Machine.of("node-4").labels(Naming.kubernetes())
        self.assertEqual(labels["topology.kubernetes.io/zone"], "simulated-b")


class PeriodTests(SynchronousTestCase):
    """Periods between renewals of a Lease."""

    def test_few(self) -> None:
        """Leases are renewed every 10 s, and a node is given up after 40 s of silence."""
        self.assertEqual((lease_period_s(1000, 1.0), grace_period_s(1000, 1.0)), (10.0, 40.0))

    def test_many(self) -> None:
        """With many nodes, or a fast time, there are no more than 400 renewals a second, and silence lasts longer."""
        self.assertEqual((lease_period_s(10_000, 1.0), grace_period_s(10_000, 1.0)), (25.0, 100.0))
        self.assertEqual(lease_period_s(1000, 50.0), 125.0)


class RegistrationTests(ClusterCase):
    """The set of nodes that `--simulate` asks for."""

    made = (SimulatedNodes,)

    def prepare(self) -> None:
        for name, mark in (("node-1", "true"), ("node-9", "true"), ("node-8", "false")):
            meta = {"name": name, "annotations": {"simulate.orch.io/registered": mark}}
            self.world.run(self.world.client.create(self.world.resource("nodes"), "", {"metadata": meta}))

    def test_set(self) -> None:
        """Missing nodes are created, and only ours of an earlier, larger set are deleted."""
        self.assertEqual(sorted(self.world.names("nodes", "")), ["node-0", "node-1", "node-2", "node-8"])

    def test_adopted(self) -> None:
        """A node of that name which was there before is run like the others."""
        self.assertEqual(self.condition("nodes", "node-1", "Ready")[0], "True")  # type: ignore[index]

    def test_node(self) -> None:
        """A node has what a node agent reports, and is ready."""
        node = self.get("nodes", "node-0")
        self.assertEqual(node["spec"]["providerID"], "simulated://node-0")
        self.assertEqual(node["status"]["allocatable"]["cpu"], "32")
        self.assertEqual(node["status"]["nodeInfo"]["orchletVersion"], "v1.24.0")
        self.assertEqual(node["status"]["daemonEndpoints"]["orchletEndpoint"]["Port"], 10999)
        conditions = [(each["type"], each["status"]) for each in node["status"]["conditions"]]
        self.assertEqual(
            conditions,
            [("MemoryPressure", "False"), ("DiskPressure", "False"), ("PIDPressure", "False"), ("Ready", "True")],
        )
        self.assertEqual(
            self.condition("nodes", "node-0", "Ready"), ("True", "OrchletReady", "orchlet is posting ready status")
        )

    agent_port = 10999


class ReportTests(ClusterCase):
    """Reports and Leases of running nodes."""

    made = (SimulatedNodes,)

    def lease(self, name: str) -> Object | None:
        found = self.world.run(
            self.world.client.find(self.world.resource("leases", "coordination.orch.io/v1"), "orch-node-lease", name)
        )
        return None if found is None else found.load()

    def renewed(self, name: str) -> str:
        lease = self.lease(name)
        assert lease is not None
        return str(lease["spec"]["renewTime"])

    def test_lease(self) -> None:
        """The Lease belongs to the node and is renewed every 10 s."""
        lease = self.lease("node-0")
        assert lease is not None
        self.assertEqual(lease["spec"]["leaseDurationSeconds"], 40)
        uid = self.get("nodes", "node-0")["metadata"]["uid"]
        self.assertEqual(lease["metadata"]["ownerReferences"][0]["uid"], uid)
        before = self.renewed("node-0")
        self.settle(11)
        self.assertGreater(self.renewed("node-0"), before)

    def test_gone(self) -> None:
        """A node without power renews nothing, until it is back."""
        self.annotate("node-0", GONE, "true")
        before = self.renewed("node-0")
        self.settle(30)
        self.assertEqual(self.renewed("node-0"), before)
        self.assertNotIn("node-0", self.simulated.beats)
        self.annotate("node-0", GONE, None)
        self.settle(11)
        self.assertGreater(self.renewed("node-0"), before)

    def test_heartbeat(self) -> None:
        """An unchanged status is reported every five minutes."""
        before = self.get("nodes", "node-0")["status"]["conditions"][-1]["lastHeartbeatTime"]
        self.settle(290)
        first = self.get("nodes", "node-0")["status"]["conditions"][-1]["lastHeartbeatTime"]
        self.settle(320)
        second = self.get("nodes", "node-0")["status"]["conditions"][-1]["lastHeartbeatTime"]
        self.assertLessEqual(before, first)
        self.assertLess(first, second)

    def test_not_ready(self) -> None:
        """An annotation makes a node say that it is not ready, and others what it is short of."""
        self.annotate("node-0", READY, "false")
        self.assertEqual(
            self.condition("nodes", "node-0", "Ready"),
            ("False", "OrchletNotReady", "orchlet is held not ready by an annotation of the node"),
        )
        self.annotate("node-0", PRESSURE, "disk, pid")
        self.assertEqual(
            self.condition("nodes", "node-0", "DiskPressure"),
            ("True", "OrchletHasDiskPressure", "orchlet has disk pressure"),
        )

    def test_capacity(self) -> None:
        """An annotation changes amounts; amounts that users put into the capacity are allocatable too."""
        self.annotate("node-0", CAPACITY, "cpu=4,example.com/gpu=2,wrong")
        self.patch("nodes", "node-0", {"status": {"capacity": {"example.com/disk": "5"}}}, "status")
        found = self.get("nodes", "node-0")["status"]["allocatable"]
        self.assertEqual((found["cpu"], found["example.com/gpu"], found["example.com/disk"]), ("4", "2", "5"))
        self.patch("nodes", "node-0", {"status": {"capacity": {"example.com/disk": None}}}, "status")
        self.assertNotIn("example.com/disk", self.get("nodes", "node-0")["status"]["allocatable"])

    def test_managed(self) -> None:
        """A node that a user creates is run if it is annotated; another one is left alone."""
        self.create("nodes", "own", meta={"annotations": {MANAGED: "true"}})
        self.create("nodes", "foreign")
        self.assertEqual(self.condition("nodes", "own", "Ready")[0], "True")  # type: ignore[index]
        self.assertIsNotNone(self.lease("own"))
        self.assertIsNone(self.condition("nodes", "foreign", "Ready"))

    def test_deleted(self) -> None:
        """A node that a user deletes does not come back."""
        self.delete("nodes", "node-2")
        self.settle(30)
        self.assertNotIn("node-2", self.world.names("nodes", ""))
