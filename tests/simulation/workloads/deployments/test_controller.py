"""Controller of Deployments (reference SIM-42)."""
# covers: orchtw.simulation.workloads.deployments.new_sets
# covers: orchtw.simulation.workloads.deployments.rollback
# covers: orchtw.simulation.workloads.deployments.writing

from __future__ import annotations

from typing import Any

from orchtw.simulation.workloads.deployments.controller import DeploymentController
from orchtw.simulation.workloads.replicas import ReplicaSetController
from orchtw.wire.objects import Object
from tests.simulation.workloads.case import LABELS, TEMPLATE, WorkloadCase


def image(version: int) -> Object:
    """A change of the template."""
    return {"spec": {"template": {"spec": {"containers": [{"name": "c", "image": f"example.com/web:{version}"}]}}}}


class DeploymentCase(WorkloadCase):
    made = (ReplicaSetController, DeploymentController)

    def deploy(self, **spec: Any) -> Object:
        """Create the Deployment `web`."""
        whole = {"selector": {"matchLabels": LABELS}, "template": TEMPLATE, **spec}
        return self.create("deployments", {"metadata": {"name": "web"}, "spec": whole})

    @property
    def web(self) -> Object:
        """The Deployment as it is."""
        return self.get("deployments", "web")

    def change(self, changes: Object) -> None:
        """Merge changes into the Deployment."""
        self.merge("deployments", "web", changes)

    def sizes(self) -> dict[str, int]:
        """Desired numbers of pods by revision."""
        key = self.world.naming.translate("deployment.orch.io/revision")
        return {each["metadata"]["annotations"][key]: each["spec"]["replicas"] for each in self.all("replicasets")}

    def progress(self) -> Any:
        """The condition Progressing: status, reason, message."""
        return self.condition(self.web, "Progressing")

    def new_name(self) -> str:
        """Name of the ReplicaSet with the highest revision."""
        key = self.world.naming.translate("deployment.orch.io/revision")
        latest = max(self.all("replicasets"), key=lambda each: int(each["metadata"]["annotations"][key]))
        return str(latest["metadata"]["name"])


class DeploymentTests(DeploymentCase):
    def test_first_revision(self) -> None:
        """The first ReplicaSet has the hash of the template as label, and the sizes as annotations."""
        self.deploy(replicas=3)
        (each,) = self.all("replicasets")
        name, _, digest = each["metadata"]["name"].rpartition("-")
        self.assertEqual(name, "web")
        for labels in (
            each["metadata"]["labels"], each["spec"]["selector"]["matchLabels"],
            each["spec"]["template"]["metadata"]["labels"], self.pods[0]["metadata"]["labels"],
        ):
            self.assertEqual(labels, {**LABELS, "pod-template-hash": digest})
        domain = self.world.naming.translate("deployment.orch.io/x").removesuffix("x")
        self.assertEqual(each["metadata"]["annotations"], {
            f"{domain}revision": "1", f"{domain}desired-replicas": "3", f"{domain}max-replicas": "4",
        })
        self.assertEqual(self.web["metadata"]["annotations"], {f"{domain}revision": "1"})
        self.assertEqual(self.events("web"), [
            ("ScalingReplicaSet", f"Scaled up replica set {each['metadata']['name']} to 3"),
        ])

    def test_status(self) -> None:
        """Conditions and counts follow the pods."""
        self.deploy(replicas=2)
        status = self.web["status"]
        self.assertEqual((status["replicas"], status["unavailableReplicas"], status["updatedReplicas"]), (2, 2, 2))
        text = "Deployment does not have minimum availability."
        self.assertEqual(self.condition(self.web, "Available"), ("False", "MinimumReplicasUnavailable", text))
        text = f'ReplicaSet "{self.new_name()}" is progressing.'
        self.assertEqual(self.progress(), ("True", "ReplicaSetUpdated", text))
        self.run_all()
        status = self.web["status"]
        self.assertEqual((status["readyReplicas"], status["availableReplicas"]), (2, 2))
        self.assertNotIn("unavailableReplicas", status)
        text = "Deployment has minimum availability."
        self.assertEqual(self.condition(self.web, "Available"), ("True", "MinimumReplicasAvailable", text))
        text = f'ReplicaSet "{self.new_name()}" has successfully progressed.'
        self.assertEqual(self.progress(), ("True", "NewReplicaSetAvailable", text))

    def test_rolling_update(self) -> None:
        """Never are more than a quarter of the pods missing or too many; at the end there are only new ones."""
        self.deploy(replicas=4)
        self.run_all()
        self.change(image(2))
        self.assertEqual(self.sizes(), {"1": 3, "2": 2})
        self.run_all()
        self.assertEqual(self.sizes(), {"1": 0, "2": 4})
        self.assertEqual(self.progress()[1], "NewReplicaSetAvailable")

    def test_rollback_by_template(self) -> None:
        """A template that was there before gets its ReplicaSet back, under the next revision."""
        self.deploy(replicas=1)
        self.change(image(2))
        self.change(image(1))
        self.run_all()
        self.assertEqual(self.sizes(), {"2": 0, "3": 1})
        history = self.world.naming.translate("deployment.orch.io/revision-history")
        annotations = self.get("replicasets", self.new_name())["metadata"]["annotations"]
        self.assertEqual(annotations[history], "1")

    def test_recreate(self) -> None:
        """All old pods end before the first new one begins."""
        self.deploy(replicas=2, strategy={"type": "Recreate"})
        self.run_all()
        self.merge("pods", self.pods[0]["metadata"]["name"], {"metadata": {"finalizers": ["example.com/f"]}}, "v1")
        self.change(image(2))
        self.assertEqual(self.sizes(), {"1": 0})
        self.merge("pods", self.pods[0]["metadata"]["name"], {"metadata": {"finalizers": None}}, "v1")
        self.delete_ended()
        self.run_all()
        self.assertEqual(self.sizes(), {"1": 0, "2": 2})

    def delete_ended(self) -> None:
        """End the pods that are being deleted, as their node does."""
        for pod in self.pods:
            if pod["metadata"].get("deletionTimestamp"):
                self.end(pod["metadata"]["name"])

    def test_pause(self) -> None:
        """A paused Deployment is scaled, but not updated."""
        self.deploy(replicas=2)
        self.run_all()
        self.change({"spec": {"paused": True}})
        self.assertEqual(self.progress(), ("Unknown", "DeploymentPaused", "Deployment is paused"))
        self.change({**image(2), "metadata": {}})
        self.change({"spec": {"replicas": 3}})
        self.assertEqual(self.sizes(), {"1": 3})
        self.change({"spec": {"paused": None}})
        self.run_all()
        self.assertEqual(self.sizes(), {"1": 0, "2": 3})

    def test_deadline(self) -> None:
        """An update that does not get on in time has failed; its pods come nevertheless."""
        self.deploy(replicas=1, progressDeadlineSeconds=10)
        self.settle(8)
        self.assertEqual(self.progress()[1], "ReplicaSetUpdated")
        self.settle(6)
        text = f'ReplicaSet "{self.new_name()}" has timed out progressing.'
        self.assertEqual(self.progress(), ("False", "ProgressDeadlineExceeded", text))
        self.run_all()
        self.assertEqual(self.progress()[1], "NewReplicaSetAvailable")

    def test_history(self) -> None:
        """As many old ReplicaSets stay as revisionHistoryLimit says."""
        self.deploy(replicas=1, revisionHistoryLimit=1)
        for version in (2, 3, 4):
            self.run_all()
            self.change(image(version))
        self.run_all()
        self.assertEqual(self.sizes(), {"3": 0, "4": 1})

    def test_proportional_scaling(self) -> None:
        """Scaled in the middle of an update, each ReplicaSet gets its part."""
        self.deploy(replicas=10, strategy={"rollingUpdate": {"maxSurge": 3, "maxUnavailable": 2}})
        self.run_all()
        self.change(image(2))
        self.assertEqual(self.sizes(), {"1": 8, "2": 5})
        self.change({"spec": {"replicas": 30}})
        self.assertEqual(self.sizes(), {"1": 20, "2": 13})

    def test_adoption(self) -> None:
        """A ReplicaSet without a controller is adopted, and serves as the new one if it has the template."""
        self.create("replicasets", {"metadata": {"name": "old", "labels": LABELS}, "spec": {
            "replicas": 1, "selector": {"matchLabels": LABELS}, "template": TEMPLATE,
        }})
        self.deploy(replicas=2)
        (each,) = self.all("replicasets")
        self.assertEqual((each["metadata"]["ownerReferences"][0]["name"], each["spec"]["replicas"]), ("web", 2))

    def test_collision(self) -> None:
        """A name that is taken is counted in the status, and another one found."""
        self.deploy(replicas=1)
        name = self.new_name()
        self.delete("deployments", "web")
        self.merge("replicasets", name, {"metadata": {"ownerReferences": None, "labels": {"app": "other"}}})
        self.deploy(replicas=1)
        self.settle(2)
        self.assertEqual(self.web["status"]["collisionCount"], 1)
        self.assertEqual(len(self.all("replicasets")), 2)

    def test_rollback_annotation(self) -> None:
        """The annotation of older API versions brings an earlier template back."""
        self.deploy(replicas=1)
        self.change(image(2))
        self.change({"metadata": {"annotations": {"deprecated.deployment.rollback.to": "1"}}})
        self.run_all()
        container = self.web["spec"]["template"]["spec"]["containers"][0]
        self.assertEqual(container["image"], "example.com/web:1")
        self.assertIn(("DeploymentRollback", 'Rolled back deployment "web" to revision 1'), self.events("web"))

    def test_everything_selected(self) -> None:
        """Annotations of the Deployment are copied to its ReplicaSet, but those of its own."""
        self.deploy(replicas=1)
        self.change({"metadata": {"annotations": {"example.com/a": "b"}}})
        self.assertEqual(self.all("replicasets")[0]["metadata"]["annotations"]["example.com/a"], "b")


class KubernetesDeploymentTests(DeploymentTests):
    vocabulary = "kubernetes"
