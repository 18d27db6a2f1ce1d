"""Controller of PodDisruptionBudgets (reference SIM-48)."""
# covers: orchtw.simulation.workloads.budgets.expectation
# covers: orchtw.simulation.workloads.budgets.status

from __future__ import annotations

from typing import Any

from orchtw.simulation.workloads.budgets.controller import DisruptionController
from orchtw.simulation.workloads.deployments.controller import DeploymentController
from orchtw.simulation.workloads.replicas import ReplicaSetController
from orchtw.values.times import rfc3339
from orchtw.wire.objects import Object
from tests.simulation.workloads.case import LABELS, SPEC, TEMPLATE, WorkloadCase


class DisruptionTests(WorkloadCase):
    made = (ReplicaSetController, DeploymentController, DisruptionController)

    def budget(self, **spec: Any) -> None:
        """Create the budget `web`."""
        whole = {"selector": {"matchLabels": LABELS}, **spec}
        self.create("poddisruptionbudgets", {"metadata": {"name": "web"}, "spec": whole}, "policy/v1")

    def deploy(self, replicas: int) -> None:
        """Create a Deployment whose pods run."""
        spec = {"replicas": replicas, "selector": {"matchLabels": LABELS}, "template": TEMPLATE}
        self.create("deployments", {"metadata": {"name": "web"}, "spec": spec})
        self.run_pods()

    @property
    def stored(self) -> Object:
        """The budget as it is stored."""
        return self.get("poddisruptionbudgets", "web", "policy/v1")

    def counts(self) -> list[int]:
        """Healthy, desired and expected pods, and disruptions allowed."""
        fields = ("currentHealthy", "desiredHealthy", "expectedPods", "disruptionsAllowed")
        return [self.stored["status"].get(field, 0) for field in fields]

    def test_no_pods(self) -> None:
        """Without pods nothing may be disrupted."""
        self.budget(minAvailable=1)
        self.assertEqual(self.counts(), [0, 1, 0, 0])
        self.assertEqual(self.condition(self.stored, "DisruptionAllowed"), ("False", "InsufficientPods", ""))
        self.assertEqual(self.events("web"), [("NoPods", "No matching pods found")])

    def test_number(self) -> None:
        """A number of available pods counts all pods."""
        self.deploy(3)
        self.budget(minAvailable=2)
        self.assertEqual(self.counts(), [3, 2, 3, 1])
        self.assertEqual(self.condition(self.stored, "DisruptionAllowed"), ("True", "SufficientPods", ""))
        self.assertEqual(self.stored["status"]["observedGeneration"], self.stored["metadata"]["generation"])
        self.mark(self.pods[0]["metadata"]["name"], "Running", ready=False)
        self.assertEqual(self.counts(), [2, 2, 3, 0])

    def test_percentages(self) -> None:
        """Percentages are of the scale of the pods' Deployment, rounded up, and follow it."""
        self.deploy(3)
        self.budget(minAvailable="50%")
        self.assertEqual(self.counts(), [3, 2, 3, 1])
        changes = {"spec": {"minAvailable": None, "maxUnavailable": "50%"}}
        self.merge("poddisruptionbudgets", "web", changes, "policy/v1")
        self.assertEqual(self.counts(), [3, 1, 3, 2])
        self.merge("deployments", "web", {"spec": {"replicas": 10}})
        self.assertEqual(self.counts(), [3, 5, 10, 0])

    def test_unmanaged(self) -> None:
        """Pods without a controller are left out of the scale, and told of."""
        self.deploy(2)
        self.create("pods", {"metadata": {"name": "alone", "labels": LABELS}, "spec": SPEC}, "v1")
        self.budget(maxUnavailable=1)
        self.assertEqual(self.counts(), [2, 1, 2, 1])
        self.assertIn("UnmanagedPods", [reason for reason, _ in self.events("web")])

    def test_no_scale(self) -> None:
        """A budget whose pods' controller is unknown allows nothing, and says why."""
        owner = {"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "none", "uid": "u", "controller": True}
        meta = {"name": "alone", "labels": LABELS, "ownerReferences": [owner]}
        self.create("pods", {"metadata": meta, "spec": SPEC}, "v1")
        self.budget(maxUnavailable=1)
        expected = ("False", "SyncFailed", 'found no controllers for pod "alone"')
        self.assertEqual(self.condition(self.stored, "DisruptionAllowed"), expected)

    def test_disrupted_pods(self) -> None:
        """An eviction that does not come to pass is forgotten after two minutes."""
        self.deploy(2)
        self.budget(minAvailable=1)
        name = self.pods[0]["metadata"]["name"]
        status = {"disruptedPods": {name: rfc3339(int(self.clock.now()))}}
        self.merge("poddisruptionbudgets", "web", {"status": status}, "policy/v1", "status")
        self.assertEqual(self.counts(), [1, 1, 2, 0])
        self.settle(121)
        self.assertEqual(self.counts(), [2, 1, 2, 1])
        self.assertIn("NotDeleted", [reason for reason, _ in self.events(name)])


class KubernetesDisruptionTests(DisruptionTests):
    vocabulary = "kubernetes"
