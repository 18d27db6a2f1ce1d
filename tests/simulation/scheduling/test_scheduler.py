"""Pods get nodes, or are told why not (reference SIM-60 to SIM-68)."""
# covers: orchtw.simulation.scheduling.observer, orchtw.simulation.scheduling.binding
# covers: orchtw.simulation.scheduling.rejecting, orchtw.simulation.scheduling.preemption

from __future__ import annotations

from orchtw.simulation.nodes.marks import CAPACITY
from orchtw.simulation.nodes.simulated_nodes import SimulatedNodes
from orchtw.simulation.scheduling.scheduler import Scheduler
from orchtw.wire.objects import Object
from tests.simulation.cluster_case import ClusterCase

HOSTNAME, ZONE = "orch.io/hostname", "topology.orch.io/zone"
NO_HELP = "preemption: 0/3 nodes are available: 3 Preemption is not helpful for scheduling."
NO_VICTIMS = "preemption: 0/3 nodes are available: 3 No preemption victims found for incoming pod."
WEB: Object = {"labels": {"app": "web"}}


def apart(key: str) -> Object:
    """Return the anti-affinity of pods `app=web`."""
    term = {"labelSelector": {"matchLabels": WEB["labels"]}, "topologyKey": key}
    return {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}


def near(key: str) -> Object:
    """Return the affinity to pods `app=web`."""
    return {"podAffinity": apart(key)["podAntiAffinity"]}


class SchedulerCase(ClusterCase):
    """Tests of the scheduler on three nodes of 32 CPUs."""

    made = (SimulatedNodes, Scheduler)

    def assertScheduled(self, pod: str, *nodes: str) -> None:
        """The pod is on one of these nodes, or any if none are given."""
        node = self.node_of(pod)
        self.assertTrue(node, self.condition("pods", pod, "PodScheduled"))
        if nodes:
            self.assertIn(node, nodes)

    def assertUnschedulable(self, pod: str, message: str) -> None:
        """The pod has no node, and its condition and event say why."""
        self.assertEqual(self.node_of(pod), "")
        self.assertEqual(self.condition("pods", pod, "PodScheduled"), ("False", "Unschedulable", message))
        self.assertIn(("FailedScheduling", message), self.events(pod))


class BindingTests(SchedulerCase):
    """Pods that fit some node."""

    def test_bound(self) -> None:
        """A pod is bound, with its condition and an event."""
        self.pod("p")
        self.assertScheduled("p")
        self.assertEqual(self.condition("pods", "p", "PodScheduled"), ("True", "", ""))
        self.assertEqual(self.events("p"), [("Scheduled", f"Successfully assigned a/p to {self.node_of('p')}")])

    def test_others(self) -> None:
        """Pods of other schedulers, with gates or with a node are left alone."""
        self.pod("other", schedulerName="mine")
        self.pod("gated", schedulingGates=[{"name": "ex.io/gate"}])
        self.pod("placed", nodeName="node-1", requests={"cpu": "1000"})
        self.assertEqual([self.node_of(each) for each in ("other", "gated", "placed")], ["", "", "node-1"])
        self.assertEqual(self.events("placed"), [])

    def test_gate_removed(self) -> None:
        """A pod whose last gate is removed is scheduled."""
        self.pod("p", schedulingGates=[{"name": "ex.io/gate"}])
        self.patch("pods", "p", {"spec": {"schedulingGates": None}})
        self.assertScheduled("p")

    def test_spread_over_nodes(self) -> None:
        """Pods of equal requests fill the nodes evenly."""
        for number in range(6):
            self.pod(f"p{number}", requests={"cpu": "1"})
        nodes = sorted(self.node_of(f"p{number}") for number in range(6))
        self.assertEqual(nodes, ["node-0", "node-0", "node-1", "node-1", "node-2", "node-2"])


class FilterTests(SchedulerCase):
    """Reasons for which pods do not fit (reference SIM-63)."""

    def test_resources(self) -> None:
        """All resources that are short are named, with the number of nodes."""
        self.pod("p", requests={"cpu": "33", "example.com/gpu": "1"})
        self.assertUnschedulable(
            "p",
            "0/3 nodes are available: 3 Insufficient cpu, 3 Insufficient example.com/gpu. " + NO_VICTIMS,
        )

    def test_room(self) -> None:
        """A pod that waits for room is scheduled when there is some, or when a node grows."""
        for number in range(4):
            self.pod(f"p{number}", requests={"cpu": "20"})
        self.assertEqual(self.node_of("p3"), "")
        self.delete("pods", "p0")  # it ends at once by the node in its place
        self.patch("pods", "p1", {"status": {"phase": "Succeeded"}}, "status")
        self.settle(3)
        self.assertScheduled("p3")
        self.pod("q", requests={"cpu": "50"})
        self.annotate("node-2", CAPACITY, "cpu=100")
        self.settle(3)
        self.assertScheduled("q", "node-2")

    def test_pods(self) -> None:
        """A node takes no more pods than it says."""
        for name in ("node-0", "node-1", "node-2"):
            self.annotate(name, CAPACITY, "pods=0")
        self.pod("p")
        self.assertUnschedulable("p", "0/3 nodes are available: 3 Too many pods. " + NO_VICTIMS)

    def test_selector(self) -> None:
        """Node selectors, and affinity to labels and to the name of a node."""
        self.pod("s", nodeSelector={HOSTNAME: "node-1"})
        self.assertScheduled("s", "node-1")
        self.pod("t", nodeSelector={"none": "such"})
        self.assertUnschedulable(
            "t", "0/3 nodes are available: 3 node(s) didn't match Pod's node affinity/selector. " + NO_HELP
        )
        for number, term in enumerate(
            (
                {"matchFields": [{"key": "metadata.name", "operator": "In", "values": ["node-2"]}]},
                {"matchExpressions": [{"key": HOSTNAME, "operator": "NotIn", "values": ["node-0", "node-1"]}]},
            )
        ):
            required = {"nodeSelectorTerms": [term]}
            affinity = {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": required}}
            self.pod(f"a{number}", affinity=affinity)
            self.assertScheduled(f"a{number}", "node-2")

    def test_preferred_node(self) -> None:
        """A preference for nodes decides among those that fit."""
        term = {"matchExpressions": [{"key": HOSTNAME, "operator": "In", "values": ["node-2"]}]}
        preferred = [{"weight": 100, "preference": term}]
        self.pod("p", affinity={"nodeAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": preferred}})
        self.assertScheduled("p", "node-2")

    def test_taints(self) -> None:
        """Untolerated taints and cordons keep pods away; a lifted one lets them in."""
        taint = {"key": "k", "value": "v", "effect": "NoSchedule"}
        self.patch("nodes", "node-0", {"spec": {"taints": [taint]}})
        self.patch("nodes", "node-1", {"spec": {"unschedulable": True}})
        self.patch("nodes", "node-2", {"spec": {"taints": [{"key": "m", "effect": "NoExecute"}]}})
        self.pod("p")
        self.assertUnschedulable(
            "p",
            "0/3 nodes are available: 1 node(s) had untolerated taint {k: v}, 1 node(s) had untolerated taint {m: }, "
            "1 node(s) were unschedulable. " + NO_HELP,
        )
        self.pod("q", tolerations=[{"key": "k", "operator": "Exists"}])
        self.assertScheduled("q", "node-0")
        self.patch("nodes", "node-1", {"spec": {"unschedulable": None}})
        self.settle(3)
        self.assertScheduled("p", "node-1")

    def test_soft_taint(self) -> None:
        """A node with a taint that pods should avoid comes last."""
        taint = {"key": "k", "effect": "PreferNoSchedule"}
        for name in ("node-0", "node-2"):
            self.patch("nodes", name, {"spec": {"taints": [taint]}})
        self.pod("p")
        self.assertScheduled("p", "node-1")

    def test_ports(self) -> None:
        """A port of the node is taken once for each protocol and address."""
        for number in range(3):
            self.pod(f"p{number}", ports=[{"containerPort": 80, "hostPort": 80}])
        self.pod("p", ports=[{"containerPort": 80, "hostPort": 80, "hostIP": "127.0.0.1"}])
        self.assertUnschedulable(
            "p",
            "0/3 nodes are available: 3 node(s) didn't have free ports for the requested pod ports. " + NO_VICTIMS,
        )
        self.pod("q", ports=[{"containerPort": 80, "hostPort": 80, "protocol": "UDP"}])
        self.assertScheduled("q")


class PlacementTests(SchedulerCase):
    """Terms about other pods (reference SIM-64)."""

    def test_apart(self) -> None:
        """Pods that want to be apart get a node each, also from those that come later without terms."""
        for number in range(3):
            self.pod(f"p{number}", meta=WEB, affinity=apart(HOSTNAME))
        self.assertEqual(len({self.node_of(f"p{number}") for number in range(3)}), 3)
        self.pod("p3", meta=WEB, affinity=apart(HOSTNAME))
        self.assertUnschedulable(
            "p3", "0/3 nodes are available: 3 node(s) didn't match pod anti-affinity rules. " + NO_VICTIMS
        )
        self.pod("p4", meta=WEB)
        self.assertUnschedulable(
            "p4", "0/3 nodes are available: 3 node(s) didn't satisfy existing pods anti-affinity rules. " + NO_VICTIMS
        )

    def test_near(self) -> None:
        """A pod that wants to be near others waits for them; the first of its like need not."""
        self.pod("p", affinity=near(ZONE))
        message = "0/3 nodes are available: 3 node(s) didn't match pod affinity rules. "
        self.assertUnschedulable("p", message + NO_HELP)
        self.pod("first", meta=WEB, affinity=near(ZONE))
        self.assertScheduled("first")
        self.settle(3)
        self.assertScheduled("p", self.node_of("first"))

    def test_namespaces(self) -> None:
        """Terms may mean pods of other namespaces, by the labels of these."""
        self.pod("web", meta=WEB, nodeName="node-1")
        term = {**apart(HOSTNAME)["podAntiAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"][0]}
        self.world.namespace("b")
        self.patch("namespaces", "a", {"metadata": {"labels": {"team": "x"}}})
        chosen = {**term, "namespaceSelector": {"matchLabels": {"team": "x"}}}
        container = {"name": "c", "image": "i"}
        spec = {
            "containers": [container],
            "affinity": {"podAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [chosen]}},
        }
        obj = {"metadata": {"name": "p"}, "spec": spec}
        self.world.run(self.world.client.create(self.world.resource("pods"), "b", obj))
        self.settle()
        found = self.world.get("pods", "p", "b")
        assert found is not None
        self.assertEqual(found["spec"].get("nodeName"), "node-1")

    def test_spread(self) -> None:
        """No zone has more pods than another by more than the skew."""
        constraint = {
            "maxSkew": 1, "topologyKey": ZONE, "whenUnsatisfiable": "DoNotSchedule",
            "labelSelector": {"matchLabels": WEB["labels"]},
        }  # fmt: skip
        self.patch("nodes", "node-2", {"spec": {"unschedulable": True}})
        for number in range(3):
            self.pod(f"p{number}", meta=WEB, topologySpreadConstraints=[constraint])
        self.assertNotEqual(self.node_of("p0"), self.node_of("p1"))
        self.assertUnschedulable(
            "p2",
            "0/3 nodes are available: 1 node(s) were unschedulable, 2 node(s) didn't match pod topology spread "
            "constraints. preemption: 0/3 nodes are available: 1 Preemption is not helpful for scheduling, 2 No "
            "preemption victims found for incoming pod.",
        )

    def test_missing_label(self) -> None:
        """A node without the label of a required constraint takes no pod of it."""
        constraint = {"maxSkew": 1, "topologyKey": "rack", "whenUnsatisfiable": "DoNotSchedule", "labelSelector": {}}
        self.pod("p", topologySpreadConstraints=[constraint])
        self.assertUnschedulable(
            "p",
            "0/3 nodes are available: 3 node(s) didn't match pod topology spread constraints (missing required "
            "label). " + NO_HELP,
        )


class PreemptionTests(SchedulerCase):
    """Pods of higher priority (reference SIM-67)."""

    def setUp(self) -> None:
        super().setUp()
        for number, priority in enumerate((5, 1, 3)):
            self.pod(f"low{number}", nodeName=f"node-{number}", priority=priority, requests={"cpu": "20"})

    def test_preempted(self) -> None:
        """The least important pod leaves; the other gets its node reserved, and then is there."""
        self.pod("high", priority=10, requests={"cpu": "20"})
        victim = self.get("pods", "low1")
        self.assertTrue(victim["metadata"].get("deletionTimestamp"))
        self.assertEqual(self.get("pods", "high")["status"]["nominatedNodeName"], "node-1")
        self.assertEqual(self.events("low1"), [("Preempted", "Preempted by a/high on node node-1")])
        self.assertEqual(self.events("high"), [("FailedScheduling", "0/3 nodes are available: 3 Insufficient cpu.")])
        self.patch("pods", "low1", {"status": {"phase": "Failed"}}, "status")
        self.settle(3)
        self.assertScheduled("high", "node-1")

    def test_reserved(self) -> None:
        """Room that is reserved is not given to less important pods."""
        self.pod("high", priority=10, requests={"cpu": "20"})
        self.patch("pods", "low1", {"metadata": {"labels": {"a": "b"}}})
        self.pod("small", priority=2, requests={"cpu": "12"})
        self.assertScheduled("small", "node-0", "node-2")
        self.settle(20)
        self.assertEqual(self.events("low0") + self.events("low2"), [])

    def test_never(self) -> None:
        """A pod whose policy says so preempts nobody."""
        self.pod("high", priority=10, preemptionPolicy="Never", requests={"cpu": "20"})
        self.assertUnschedulable(
            "high",
            "0/3 nodes are available: 3 Insufficient cpu. preemption: not eligible due to preemptionPolicy=Never.",
        )

    def test_budget(self) -> None:
        """Pods whose end would break a budget stay, if others can go."""
        self.patch("pods", "low1", {"metadata": {"labels": WEB["labels"]}})
        spec = {"minAvailable": 1, "selector": {"matchLabels": WEB["labels"]}}
        self.create("poddisruptionbudgets", "b", "policy/v1", spec=spec)
        self.pod("high", priority=10, requests={"cpu": "20"})
        self.assertEqual(self.get("pods", "high")["status"]["nominatedNodeName"], "node-2")


class VolumeTests(SchedulerCase):
    """Pods with claims (reference SIM-66)."""

    def claim(self, name: str, **spec: object) -> None:
        spec = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}, **spec}
        self.create("persistentvolumeclaims", name, spec=spec)

    def user(self, pod: str, claim: str) -> None:
        self.pod(pod, volumes=[{"name": "v", "persistentVolumeClaim": {"claimName": claim}}])

    def volume(self, name: str, node: str, **spec: object) -> None:
        term = {"matchExpressions": [{"key": HOSTNAME, "operator": "In", "values": [node]}]}
        spec = {
            "accessModes": ["ReadWriteOnce"], "capacity": {"storage": "2Gi"}, "local": {"path": "/d"},
            "nodeAffinity": {"required": {"nodeSelectorTerms": [term]}}, **spec,
        }  # fmt: skip
        self.create("persistentvolumes", name, spec=spec)

    def bound(self, claim: str, volume: str) -> None:
        """Bind a claim as the controller of volumes does."""
        meta = {"annotations": {"pv.orch.io/bind-completed": "yes"}}
        self.patch("persistentvolumeclaims", claim, {"metadata": meta, "spec": {"volumeName": volume}})

    def test_missing(self) -> None:
        """A pod waits for its claim, and for the claim's volume if that is made at once."""
        self.user("p", "c")
        self.assertUnschedulable(
            "p", '0/3 nodes are available: 3 persistentvolumeclaim "c" not found. ' + NO_HELP
        )
        self.claim("c")
        self.settle(3)
        self.assertUnschedulable(
            "p", "0/3 nodes are available: 3 pod has unbound immediate PersistentVolumeClaims. " + NO_HELP
        )
        self.volume("v", "node-1")
        self.bound("c", "v")
        self.settle(5)
        self.assertScheduled("p", "node-1")

    def test_elsewhere(self) -> None:
        """A bound volume keeps its pod on the nodes that reach it."""
        self.claim("c")
        self.volume("v", "nowhere")
        self.bound("c", "v")
        self.user("p", "c")
        message = "0/3 nodes are available: 3 node(s) had volume node affinity conflict. "
        self.assertUnschedulable("p", message + NO_HELP)

    def test_waits_for_consumer(self) -> None:
        """A claim that waits for its pod is told the node, and the pod is bound after it."""
        mode = "WaitForFirstConsumer"
        self.create("storageclasses", "late", "storage.orch.io/v1", provisioner="ex.io/p", volumeBindingMode=mode)
        self.claim("c", storageClassName="late")
        self.user("p", "c")
        self.assertEqual(self.node_of("p"), "")
        node = self.get("persistentvolumeclaims", "c")["metadata"]["annotations"]["volume.orch.io/selected-node"]
        self.volume("v", node)
        self.bound("c", "v")
        self.assertScheduled("p", node)

    def test_present_volume(self) -> None:
        """Of present volumes the smallest that will do is reserved, where one can be reached."""
        self.create(
            "storageclasses", "local", "storage.orch.io/v1", provisioner="orch.io/no-provisioner",
            volumeBindingMode="WaitForFirstConsumer",
        )  # fmt: skip
        self.claim("c", storageClassName="local")
        self.user("p", "c")
        self.assertUnschedulable(
            "p", "0/3 nodes are available: 3 node(s) didn't find available persistent volumes to bind. " + NO_HELP
        )
        for name, size in (("large", "9Gi"), ("small", "2Gi")):
            self.volume(name, "node-2", storageClassName="local", capacity={"storage": size})
            self.patch("persistentvolumes", name, {"status": {"phase": "Available"}}, "status")
        self.settle(5)
        self.assertEqual(self.get("persistentvolumes", "small")["spec"]["claimRef"]["name"], "c")
        self.bound("c", "small")
        self.assertScheduled("p", "node-2")


class EmptyTests(SchedulerCase):
    """A cluster without nodes."""

    nodes = 0

    def test_no_nodes(self) -> None:
        """A pod waits for the first node."""
        self.pod("p")
        self.assertUnschedulable("p", "no nodes available to schedule pods")
        self.create("nodes", "first", meta={"annotations": {"simulate.orch.io/managed": "true"}})
        self.settle(3)
        self.assertScheduled("p", "first")
