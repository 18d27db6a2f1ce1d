"""Controller of DaemonSets (reference SIM-45)."""
# covers: orchtw.simulation.workloads.daemons.eligibility
# covers: orchtw.simulation.workloads.daemons.placement
# covers: orchtw.simulation.workloads.daemons.template
# covers: orchtw.simulation.workloads.daemons.updates

from __future__ import annotations

from typing import Any

import orjson

from orchtw.simulation.workloads.daemons.controller import DaemonSetController
from orchtw.wire.objects import Object
from tests.simulation.workloads.case import LABELS, SPEC, TEMPLATE, WorkloadCase
from tests.simulation.workloads.deployments.test_controller import image


class DaemonSetTests(WorkloadCase):
    made = (DaemonSetController,)

    def setUp(self) -> None:
        super().setUp()
        for name in ("n1", "n2", "n3"):
            self.node(name)

    def node(self, name: str, **spec: Any) -> None:
        """Create a node with a label of its own."""
        self.create("nodes", {"metadata": {"name": name, "labels": {"disk": name}}, "spec": spec}, "v1")

    def begin(self, **spec: Any) -> Object:
        """Create the DaemonSet `agent`."""
        whole = {"selector": {"matchLabels": LABELS}, "template": TEMPLATE, **spec}
        return self.create("daemonsets", {"metadata": {"name": "agent"}, "spec": whole})

    def change(self, changes: Object) -> None:
        """Merge changes into the DaemonSet."""
        self.merge("daemonsets", "agent", changes)

    @property
    def status(self) -> Object:
        """The status of the DaemonSet."""
        found: Object = self.get("daemonsets", "agent")["status"]
        return found

    def counts(self, *fields: str) -> list[int]:
        """Some counts of the status."""
        return [self.status.get(field, 0) for field in fields]

    def places(self) -> dict[str, list[str]]:
        """Versions of the pods' images by the node for which they are, pods that are being deleted left out."""
        found: dict[str, list[str]] = {}
        for pod in self.pods:
            affinity = pod["spec"]["affinity"]["nodeAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"]
            (term,) = affinity["nodeSelectorTerms"]
            version = pod["spec"]["containers"][0]["image"].rpartition(":")[2]
            if not pod["metadata"].get("deletionTimestamp"):
                found.setdefault(term["matchFields"][0]["values"][0], []).append(version)
        return found

    def test_pods(self) -> None:
        """Each node gets a pod, with the tolerations of daemons, and the labels of its revision (reference SIM-43).
        """
        self.begin()
        self.assertEqual(self.places(), {"n1": ["1"], "n2": ["1"], "n3": ["1"]})
        pod = self.pods[0]
        (revision,) = self.all("controllerrevisions")
        data = orjson.dumps(revision["data"])
        self.assertEqual(data, orjson.dumps(revision["data"], option=orjson.OPT_SORT_KEYS))
        digest = revision["metadata"]["labels"]["controller-revision-hash"]
        self.assertEqual(pod["metadata"]["labels"], {
            **LABELS, "controller-revision-hash": digest, "pod-template-generation": "1",
        })
        self.assertEqual(revision["metadata"]["name"], f"agent-{digest}")
        tolerated = {each["key"].rpartition("/")[2]: each["effect"] for each in pod["spec"]["tolerations"]}
        self.assertEqual(tolerated, {
            "not-ready": "NoExecute", "unreachable": "NoExecute", "disk-pressure": "NoSchedule",
            "memory-pressure": "NoSchedule", "pid-pressure": "NoSchedule", "unschedulable": "NoSchedule",
        })

    def test_status(self) -> None:
        """The status counts nodes."""
        self.begin()
        fields = ("desiredNumberScheduled", "currentNumberScheduled", "numberReady", "numberUnavailable")
        self.assertEqual(self.counts(*fields), [3, 3, 0, 3])
        self.run_pods()
        self.assertEqual(self.counts(*fields), [3, 3, 3, 0])
        self.assertEqual(self.counts("updatedNumberScheduled", "numberAvailable", "numberMisscheduled"), [3, 3, 0])

    def test_nodes(self) -> None:
        """A new node gets a pod; only nodes with the labels have one; the pod of another one goes."""
        self.begin(template={**TEMPLATE, "spec": {**SPEC, "nodeSelector": {"disk": "n1"}}})
        self.assertEqual(self.places(), {"n1": ["1"]})
        self.node("n4")
        self.merge("nodes", "n4", {"metadata": {"labels": {"disk": "n1"}}}, "v1")
        self.assertEqual(sorted(self.places()), ["n1", "n4"])
        self.merge("nodes", "n1", {"metadata": {"labels": {"disk": "other"}}}, "v1")
        self.assertEqual(sorted(self.places()), ["n4"])

    def test_taints(self) -> None:
        """A taint against scheduling keeps new pods away but old ones stay; one against execution ends them."""
        self.begin()
        taint = {"key": "example.com/t", "effect": "NoSchedule"}
        self.merge("nodes", "n1", {"spec": {"taints": [taint]}}, "v1")
        self.assertEqual(sorted(self.places()), ["n1", "n2", "n3"])
        self.assertEqual(self.counts("desiredNumberScheduled", "numberMisscheduled"), [2, 1])
        self.merge("nodes", "n1", {"spec": {"taints": [{**taint, "effect": "NoExecute"}]}}, "v1")
        self.assertEqual(sorted(self.places()), ["n2", "n3"])

    def test_cordon(self) -> None:
        """A cordoned node is tolerated."""
        taint = {"key": self.world.naming.translate("node.orch.io/unschedulable"), "effect": "NoSchedule"}
        self.node("n4", unschedulable=True, taints=[taint])
        self.begin()
        self.assertIn("n4", self.places())

    def test_lost_node(self) -> None:
        """A pod that waits for a node that has gone is deleted."""
        self.begin()
        self.delete("nodes", "n1", "v1")
        self.assertEqual(sorted(self.places()), ["n2", "n3"])

    def test_rolling_update(self) -> None:
        """One pod at a time is replaced, the next when the new one is available."""
        self.begin()
        self.run_pods()
        self.change(image(2))
        self.assertEqual(sorted(self.places().values()), [["1"], ["1"], ["2"]])
        self.assertEqual(self.counts("updatedNumberScheduled"), [1])
        self.run_all()
        self.assertEqual(sorted(self.places().values()), [["2"], ["2"], ["2"]])
        self.assertEqual(sorted(each["revision"] for each in self.all("controllerrevisions")), [1, 2])

    def test_surge(self) -> None:
        """With maxSurge a node has its new pod before the old one goes."""
        self.begin(updateStrategy={"rollingUpdate": {"maxSurge": 1, "maxUnavailable": 0}})
        self.run_pods()
        self.change(image(2))
        self.assertEqual(sorted(map(sorted, self.places().values())), [["1"], ["1"], ["1", "2"]])
        self.run_all()
        self.assertEqual(sorted(self.places().values()), [["2"], ["2"], ["2"]])

    def test_on_delete(self) -> None:
        """Pods are replaced only when they are deleted by hand."""
        self.begin(updateStrategy={"type": "OnDelete"})
        self.run_pods()
        self.change(image(2))
        self.assertEqual(sorted(self.places().values()), [["1"], ["1"], ["1"]])
        self.delete("pods", self.pods[0]["metadata"]["name"], "v1")
        self.assertEqual(sorted(self.places().values()), [["1"], ["1"], ["2"]])

    def test_failed_pods(self) -> None:
        """A failed pod is replaced at once, and later with growing delays."""
        self.begin(template={**TEMPLATE, "spec": {**SPEC, "nodeSelector": {"disk": "n1"}}})
        self.mark(self.pods[0]["metadata"]["name"], "Failed")
        first = self.pods[0]["metadata"]["name"]
        self.mark(first, "Failed")
        self.assertEqual(self.pods[0]["metadata"]["name"], first)
        self.settle(2)
        self.assertNotEqual(self.pods[0]["metadata"]["name"], first)
        self.assertIn("FailedDaemonPod", [reason for reason, _ in self.events("agent")])

    def test_rollback(self) -> None:
        """An earlier template makes its revision the latest again (reference SIM-43)."""
        self.begin()
        self.change(image(2))
        self.change(image(1))
        self.run_all()
        self.assertEqual(sorted(each["revision"] for each in self.all("controllerrevisions")), [2, 3])
        self.assertEqual(sorted(self.places().values()), [["1"], ["1"], ["1"]])

    def test_lost_revision(self) -> None:
        """A revision that was deleted comes anew under its name."""
        self.begin()
        (revision,) = self.all("controllerrevisions")
        self.delete("controllerrevisions", revision["metadata"]["name"])
        (again,) = self.all("controllerrevisions")
        self.assertEqual(again["metadata"]["name"], revision["metadata"]["name"])
        self.assertNotEqual(again["metadata"]["uid"], revision["metadata"]["uid"])


class KubernetesDaemonSetTests(DaemonSetTests):
    vocabulary = "kubernetes"
