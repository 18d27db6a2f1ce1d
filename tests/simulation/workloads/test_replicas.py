"""Controllers of ReplicaSets and ReplicationControllers (reference SIM-41)."""
from __future__ import annotations

from typing import Any

from orchtw.simulation.workloads.replicas import ReplicaSetController, ReplicationControllerController
from orchtw.wire.objects import Object
from tests.simulation.workloads.case import LABELS, SPEC, TEMPLATE, WorkloadCase


def replica_set(name: str = "web", **spec: Any) -> Object:
    return {"metadata": {"name": name}, "spec": {"selector": {"matchLabels": LABELS}, "template": TEMPLATE, **spec}}


class ReplicaSetTests(WorkloadCase):
    made = (ReplicaSetController,)

    def status(self) -> Object:
        found: Object = self.get("replicasets", "web")["status"]
        return found

    def test_creation(self) -> None:
        """Pods have labels, a generated name and a controller; the status counts them."""
        owner = self.create("replicasets", replica_set(replicas=3))
        self.assertEqual(len(self.pods), 3)
        meta = self.pods[0]["metadata"]
        self.assertTrue(meta["name"].startswith("web-"))
        self.assertEqual(meta["labels"], LABELS)
        self.assertEqual(meta["ownerReferences"], [{
            "apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "web", "uid": owner["metadata"]["uid"],
            "controller": True, "blockOwnerDeletion": True,
        }])
        status = self.status()
        counts = [status[field] for field in ("replicas", "fullyLabeledReplicas", "observedGeneration")]
        self.assertEqual(counts, [3, 3, 1])
        self.assertNotIn("readyReplicas", status)
        names = [f"Created pod: {pod['metadata']['name']}" for pod in self.pods]
        self.assertEqual(sorted(self.events("web")), [("SuccessfulCreate", name) for name in names])

    def test_readiness(self) -> None:
        """Ready pods count at once, available ones after minReadySeconds."""
        self.create("replicasets", replica_set(replicas=2, minReadySeconds=10))
        self.run_pods()
        self.assertEqual(self.status()["readyReplicas"], 2)
        self.assertNotIn("availableReplicas", self.status())
        self.settle(11)
        self.assertEqual(self.status()["availableReplicas"], 2)

    def test_scaling_down(self) -> None:
        """Pods that are not ready go before ready ones."""
        self.create("replicasets", replica_set(replicas=3))
        good = self.pods[1]["metadata"]["name"]
        self.run_pods(good)
        self.merge("replicasets", "web", {"spec": {"replicas": 1}})
        left = [pod["metadata"] for pod in self.pods if "deletionTimestamp" not in pod["metadata"]]
        self.assertEqual([meta["name"] for meta in left], [good])
        self.assertEqual(self.status()["replicas"], 1)

    def test_replacement(self) -> None:
        """A pod that was deleted, or that has failed, is replaced."""
        self.create("replicasets", replica_set(replicas=2))
        self.delete("pods", self.pods[0]["metadata"]["name"], "v1")
        self.assertEqual(len(self.pods), 2)
        self.mark(self.pods[0]["metadata"]["name"], "Failed")
        self.assertEqual(len(self.pods), 3)
        self.assertEqual(self.status()["replicas"], 2)

    def test_adoption(self) -> None:
        """Matching pods without a controller are adopted; those whose labels no longer match are released (reference
        SIM-40).
        """
        self.create("pods", {"metadata": {"name": "p", "labels": LABELS}, "spec": SPEC}, "v1")
        self.create("replicasets", replica_set(replicas=1))
        (pod,) = self.pods
        self.assertEqual(pod["metadata"]["ownerReferences"][0]["name"], "web")
        self.merge("pods", "p", {"metadata": {"labels": {"app": "other"}}}, "v1")
        self.assertNotIn("ownerReferences", self.get("pods", "p", "v1")["metadata"])
        self.assertEqual(len(self.pods), 2)
        self.merge("pods", "p", {"metadata": {"labels": LABELS}}, "v1")
        self.assertEqual(len([pod for pod in self.pods if "deletionTimestamp" not in pod["metadata"]]), 1)

    def test_refused_pods(self) -> None:
        """A refusal to create pods is a condition and an event; it goes when pods can be made again."""
        self.quota.exhausted = True
        self.create("replicasets", replica_set(replicas=4))
        self.assertEqual(self.condition(self.get("replicasets", "web"), "ReplicaFailure"), (
            "True", "FailedCreate", "exceeded quota",
        ))
        self.assertEqual(self.events("web"), [("FailedCreate", "Error creating: exceeded quota")])
        self.quota.exhausted = False
        self.settle(2)
        self.assertEqual(len(self.pods), 4)
        self.assertIsNone(self.condition(self.get("replicasets", "web"), "ReplicaFailure"))

    def test_spread(self) -> None:
        """Pods go from nodes with more pods of the same Deployment."""
        owner = {"apiVersion": "apps/v1", "kind": "Deployment", "name": "d", "uid": "1", "controller": True}
        for name, size in (("one", 2), ("two", 1)):
            labels = {"app": name}
            template = {"metadata": {"labels": labels}, "spec": SPEC}
            spec = {"replicas": size, "selector": {"matchLabels": labels}, "template": template}
            self.create("replicasets", {"metadata": {"name": name, "ownerReferences": [owner]}, "spec": spec})
        (controller,) = self.controllers
        assert isinstance(controller, ReplicaSetController)
        related = controller._related(self.get("replicasets", "one"))
        self.assertEqual(sorted(pod.owner_name for pod in related), ["one", "one", "two"])


class KubernetesReplicaSetTests(ReplicaSetTests):
    vocabulary = "kubernetes"


class ReplicationControllerTests(WorkloadCase):
    made = (ReplicationControllerController,)

    def test_pods(self) -> None:
        """A ReplicationController keeps its number of pods, found by a map of labels."""
        spec = {"replicas": 2, "selector": LABELS, "template": TEMPLATE}
        self.create("replicationcontrollers", {"metadata": {"name": "web"}, "spec": spec}, "v1")
        kinds = [pod["metadata"]["ownerReferences"][0]["kind"] for pod in self.pods]
        self.assertEqual(kinds, ["ReplicationController"] * 2)
        self.run_pods()
        status = self.get("replicationcontrollers", "web", "v1")["status"]
        self.assertEqual((status["replicas"], status["readyReplicas"], status["availableReplicas"]), (2, 2, 2))
        self.assertNotIn("terminatingReplicas", status)
