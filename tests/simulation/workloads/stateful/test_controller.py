"""Controller of StatefulSets (reference SIM-44)."""
# covers: orchtw.simulation.workloads.stateful.claims
# covers: orchtw.simulation.workloads.stateful.identity
# covers: orchtw.simulation.workloads.stateful.scaling
# covers: orchtw.simulation.workloads.revisions

from __future__ import annotations

from typing import Any

from orchtw.simulation.workloads.stateful.controller import StatefulSetController
from orchtw.wire.objects import Object
from tests.simulation.workloads.case import LABELS, TEMPLATE, WorkloadCase
from tests.simulation.workloads.deployments.test_controller import image

CLAIM: Object = {
    "metadata": {"name": "data"},
    "spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}},
}


class StatefulSetTests(WorkloadCase):
    made = (StatefulSetController,)

    def begin(self, **spec: Any) -> Object:
        """Create the StatefulSet `db`."""
        whole = {"selector": {"matchLabels": LABELS}, "template": TEMPLATE, "serviceName": "svc", **spec}
        return self.create("statefulsets", {"metadata": {"name": "db"}, "spec": whole})

    def change(self, changes: Object) -> None:
        """Merge changes into the StatefulSet."""
        self.merge("statefulsets", "db", changes)

    @property
    def status(self) -> Object:
        """The status of the StatefulSet."""
        found: Object = self.get("statefulsets", "db")["status"]
        return found

    def names(self) -> list[str]:
        """Names of the pods."""
        return [pod["metadata"]["name"] for pod in self.pods]

    def images(self) -> list[str]:
        """Versions of the pods' images, in the order of their names."""
        return [pod["spec"]["containers"][0]["image"].rpartition(":")[2] for pod in self.pods]

    def test_order(self) -> None:
        """Each pod comes when its predecessor is ready; they go in the reverse order."""
        self.begin(replicas=3)
        self.assertEqual(self.names(), ["db-0"])
        self.run_pods()
        self.assertEqual(self.names(), ["db-0", "db-1"])
        self.run_all()
        self.assertEqual(self.names(), ["db-0", "db-1", "db-2"])
        self.change({"spec": {"replicas": 1}})
        self.assertEqual(self.names(), ["db-0"])
        self.assertEqual([message for _, message in self.events("db")], [
            *(f"create Pod db-{number} in StatefulSet db successful" for number in range(3)),
            *(f"delete Pod db-{number} in StatefulSet db successful" for number in (2, 1)),
        ])

    def test_identity(self) -> None:
        """A pod has its name as label and host name, its number, its revision (reference SIM-43)."""
        self.begin(replicas=1, ordinals={"start": 5})
        (pod,) = self.pods
        translate = self.world.naming.translate
        self.assertEqual(pod["metadata"]["labels"], {
            **LABELS,
            translate("statefulset.orch.io/pod-name"): "db-5",
            translate("apps.orch.io/pod-index"): "5",
            "controller-revision-hash": self.status["updateRevision"],
        })
        self.assertEqual((pod["spec"]["hostname"], pod["spec"]["subdomain"]), ("db-5", "svc"))
        (revision,) = self.all("controllerrevisions")
        self.assertEqual(revision["data"]["spec"]["template"]["$patch"], "replace")
        digest = revision["metadata"]["labels"][translate("controller.orch.io/hash")]
        self.assertEqual(revision["metadata"]["name"], f"db-{digest}")

    def test_status(self) -> None:
        """The status counts pods by readiness and revision."""
        self.begin(replicas=2, minReadySeconds=5)
        self.run_pods()
        self.assertEqual((self.status["replicas"], self.status["readyReplicas"]), (1, 1))
        self.assertEqual(self.status.get("availableReplicas", 0), 0)
        self.settle(6)
        self.assertEqual((self.status["replicas"], self.status["availableReplicas"]), (2, 1))
        self.run_pods()
        self.settle(6)
        status = self.status
        counts = [status[field] for field in ("availableReplicas", "currentReplicas", "updatedReplicas")]
        self.assertEqual(counts, [2, 2, 2])
        self.assertEqual((status["currentRevision"], status["collisionCount"]), (status["updateRevision"], 0))

    def test_parallel(self) -> None:
        """All pods come at once, and go at once."""
        self.begin(replicas=4, podManagementPolicy="Parallel")
        self.assertEqual(len(self.pods), 4)
        self.change({"spec": {"replicas": 1}})
        self.assertEqual(self.names(), ["db-0"])

    def test_rolling_update(self) -> None:
        """Pods are replaced from the highest number down, each when the one before is ready."""
        self.begin(replicas=3)
        self.run_all()
        self.change(image(2))
        self.assertEqual(self.images(), ["1", "1", "2"])
        before = self.status
        self.assertNotEqual(before["currentRevision"], before["updateRevision"])
        self.assertEqual((before["currentReplicas"], before["updatedReplicas"]), (2, 1))
        self.run_pods()
        self.assertEqual(self.images(), ["1", "2", "2"])
        self.run_all()
        self.assertEqual(self.images(), ["2", "2", "2"])
        self.assertEqual(self.status["currentRevision"], before["updateRevision"])

    def test_partition(self) -> None:
        """Pods below the partition keep the old template, even when they come anew."""
        self.begin(replicas=3, updateStrategy={"type": "RollingUpdate", "rollingUpdate": {"partition": 2}})
        self.run_all()
        self.change(image(2))
        self.run_all()
        self.assertEqual(self.images(), ["1", "1", "2"])
        self.delete("pods", "db-0", "v1")
        self.run_all()
        self.assertEqual(self.images(), ["1", "1", "2"])

    def test_max_unavailable(self) -> None:
        """With maxUnavailable, that many are replaced at a time."""
        strategy = {"type": "RollingUpdate", "rollingUpdate": {"maxUnavailable": 2}}
        self.begin(replicas=4, podManagementPolicy="Parallel", updateStrategy=strategy)
        self.run_all()
        self.change(image(2))
        self.assertEqual(self.images(), ["1", "1", "2", "2"])

    def test_on_delete(self) -> None:
        """Pods are replaced only when they are deleted by hand."""
        self.begin(replicas=2, updateStrategy={"type": "OnDelete"})
        self.run_all()
        self.change(image(2))
        self.run_all()
        self.assertEqual(self.images(), ["1", "1"])
        self.delete("pods", "db-0", "v1")
        self.assertEqual(self.images(), ["2", "1"])

    def test_rollback(self) -> None:
        """An earlier template makes its revision the latest again; old ones go beyond the limit (reference SIM-43).
        """
        self.begin(replicas=1, revisionHistoryLimit=1)
        for version in (2, 1, 3, 4):
            self.run_all()
            self.change(image(version))
        self.run_all()
        revisions = sorted(each["revision"] for each in self.all("controllerrevisions"))
        self.assertEqual(revisions, [4, 5])
        self.assertEqual(self.images(), ["4"])

    def test_claims(self) -> None:
        """Each pod has its claims, which stay when it goes."""
        self.begin(replicas=2, volumeClaimTemplates=[CLAIM])
        self.run_all()
        claims = self.all("persistentvolumeclaims", "v1")
        self.assertEqual([each["metadata"]["name"] for each in claims], ["data-db-0", "data-db-1"])
        self.assertEqual(claims[0]["metadata"]["labels"], LABELS)
        volume = {"name": "data", "persistentVolumeClaim": {"claimName": "data-db-0"}}
        self.assertIn(volume, self.pods[0]["spec"]["volumes"])
        self.assertIn(
            ("SuccessfulCreate", "create Claim data-db-0 Pod db-0 in StatefulSet db success"), self.events("db")
        )
        self.change({"spec": {"replicas": 0}})
        self.run_all()
        self.assertEqual(len(self.all("persistentvolumeclaims", "v1")), 2)

    def test_retention(self) -> None:
        """Claims belong to the set, and to a pod that is scaled away, where the policy says Delete."""
        policy = {"whenDeleted": "Delete", "whenScaled": "Delete"}
        self.begin(replicas=2, volumeClaimTemplates=[CLAIM], persistentVolumeClaimRetentionPolicy=policy)
        self.run_all()
        self.assertEqual(self.owners(), [["StatefulSet"], ["StatefulSet"]])
        self.merge("pods", "db-1", {"metadata": {"finalizers": ["example.com/f"]}}, "v1")
        self.change({"spec": {"replicas": 1}})
        self.assertEqual(self.owners(), [["StatefulSet"], ["Pod"]])

    def owners(self) -> list[list[str]]:
        """Kinds of the claims' owners."""
        claims = self.all("persistentvolumeclaims", "v1")
        return [[owner["kind"] for owner in each["metadata"].get("ownerReferences", ())] for each in claims]

    def test_failed_pod(self) -> None:
        """A failed pod is deleted and made anew under its name."""
        self.begin(replicas=1)
        uid = self.pods[0]["metadata"]["uid"]
        self.mark("db-0", "Failed")
        self.assertEqual(self.names(), ["db-0"])
        self.assertNotEqual(self.pods[0]["metadata"]["uid"], uid)
        text = "StatefulSet a/db is recreating failed Pod db-0"
        self.assertIn(("RecreatingFailedPod", text), self.events("db"))

    def test_adoption(self) -> None:
        """A pod of the right name and labels is adopted, one of another name is not."""
        for name in ("db-0", "other-0"):
            pod = {"metadata": {"name": name, "labels": LABELS}, "spec": TEMPLATE["spec"]}
            self.create("pods", pod, "v1")
        self.begin(replicas=1)
        self.settle(1)
        owned = [bool(pod["metadata"].get("ownerReferences")) for pod in self.pods]
        self.assertEqual(owned, [True, False])


class KubernetesStatefulSetTests(StatefulSetTests):
    vocabulary = "kubernetes"
