"""Replication controllers, and the scale of all workloads (reference KIND-28, KIND-25)."""

from __future__ import annotations

from typing import Any

from orchtw.testing.in_process import ClientAnswer
from orchtw.wire.objects import Object
from tests.validation import case, workloads
from tests.validation.examples import Accepted, Base, Refused, Shown, Stored
from tests.validation.paths import GONE
from tests.validation.workloads import LABELS, SELECTOR, TEMPLATE, generation, more_than, negative

CONTROLLERS = "/api/v1/namespaces/default/replicationcontrollers"
APPS = "/apis/apps/v1/namespaces/default"
CONTROLLER = {
    "apiVersion": "v1",
    "kind": "ReplicationController",
    "metadata": {"name": "a"},
    "spec": {"selector": LABELS, "template": TEMPLATE},
}
MERGE = {"content-type": "application/merge-patch+json"}


class ControllerTests(case.EntryCase):
    file = "core-rest.json"
    kinds = ("ReplicationController", "Scale")
    bases = {"ReplicationController": Base(path=CONTROLLERS, obj=CONTROLLER)}
    examples = {
        97: negative("spec.minReadySeconds"),
        98: negative("spec.replicas"),
        99: [
            Refused(
                change={"spec.selector": GONE, "spec.template.metadata": {}},
                accepts={"spec.selector": GONE},
                detail="Required value",
            ),
            Stored(change={"spec.selector": GONE}, expected={"spec.selector": LABELS}),
        ],
        100: Refused(change={"spec.template": GONE}),
        101: workloads.UNSELECTED,
        102: workloads.POD_RULES,
        103: workloads.LASTING,
        104: workloads.DEADLINE,
        105: [workloads.SHARED_DISK, workloads.SINGLE_DISK],
        106: Accepted(change={"spec.selector": {"b": "c"}, "spec.template.metadata.labels": {"b": "c"}}),
        107: [
            *negative("status.replicas", "status.fullyLabeledReplicas", "status.readyReplicas"),
            *negative("status.availableReplicas", "status.observedGeneration"),
        ],
        108: more_than(
            "status.replicas", "status.fullyLabeledReplicas", "status.readyReplicas", "status.availableReplicas"
        ),
        109: more_than("status.readyReplicas", "status.availableReplicas"),
        110: Stored(change={"status.replicas": 5}, expected={"status": {"replicas": 0}}),
        111: Stored(expected={"metadata.generation": 1}),
        112: generation({"spec.replicas": 3}),
        113: Stored(change={"status.replicas": 5}, expected={"status": {"replicas": 0}}),
        114: Stored(change={"spec.replicas": 7, "status.replicas": 2}, expected={"spec.replicas": 1}),
        115: workloads.warned(),
        116: Shown(f"{__name__}.ControllerTests.test_negative_scale"),
        117: Shown(f"{__name__}.ControllerTests.test_names_of_a_scale"),
        118: Shown(f"{__name__}.ControllerTests.test_preconditions_of_a_scale"),
        119: Shown(f"{__name__}.ControllerTests.test_preconditions_of_a_scale"),
        120: Shown(f"{__name__}.ControllerTests.test_what_a_scale_writes"),
        121: Shown(f"{__name__}.ControllerTests.test_what_a_scale_shows"),
    }

    def deployment(self, **spec: Any) -> Object:
        """Create a Deployment with defaults."""
        spec = {"selector": SELECTOR, "template": TEMPLATE, **spec}
        return self.done("POST", f"{APPS}/deployments", {"metadata": {"name": "d"}, "spec": spec})

    def scaled(self, **changes: Any) -> ClientAnswer:
        """The answer to a PUT of the deployment's scale with changes to its metadata, or `replicas`."""
        scale = self.done("GET", f"{APPS}/deployments/d/scale")
        scale["spec"] = {"replicas": changes.pop("replicas", 1)}
        scale["metadata"].update(changes)
        return self.send("PUT", f"{APPS}/deployments/d/scale", scale)

    def test_negative_scale(self) -> None:
        """A workload has no fewer than no replicas."""
        self.deployment()
        cause = {
            "reason": "FieldValueInvalid",
            "message": "Invalid value: -1: must be greater than or equal to 0",
            "field": "spec.replicas",
        }
        self.assertEqual(self.scaled(replicas=-1).json["details"]["causes"], [cause])
        patched = self.send("PATCH", f"{APPS}/deployments/d/scale", {"spec": {"replicas": -1}}, MERGE)
        self.assertEqual(patched.json["details"]["causes"], [cause])
        self.assertEqual(self.scaled(replicas=0).code, 200)

    def test_names_of_a_scale(self) -> None:
        """A Scale has the name of its workload, and says its namespace."""
        self.deployment()
        self.assertEqual(self.scaled(name="D!").code, 400)
        (cause,) = self.scaled(namespace="").json["details"]["causes"]
        self.assertEqual((cause["reason"], cause["field"]), ("FieldValueRequired", "metadata.namespace"))

    def test_preconditions_of_a_scale(self) -> None:
        """Uid and resourceVersion, where they are given, are those of the workload."""
        made = self.deployment()
        refused = self.scaled(uid="u")
        self.assertEqual(refused.code, 409)
        text = f"Precondition failed: UID in precondition: u, UID in object meta: {made['metadata']['uid']}"
        self.assertIn(text, refused.json["message"])
        self.assertEqual(self.scaled(resourceVersion="1").code, 409)
        self.assertEqual(self.scaled(uid="", resourceVersion="", replicas=2).code, 200)

    def test_what_a_scale_writes(self) -> None:
        """The replicas and nothing else, of every workload; the generation rises if they change."""
        kinds: tuple[tuple[str, Object], ...] = (
            ("deployments", {}), ("replicasets", {}), ("statefulsets", {"serviceName": "s"}),
        )
        for plural, more in kinds:
            spec = {"selector": SELECTOR, "template": TEMPLATE, **more}
            self.done("POST", f"{APPS}/{plural}", {"metadata": {"name": "w"}, "spec": spec})
        self.done("POST", CONTROLLERS, {**CONTROLLER, "metadata": {"name": "w"}})
        for path in (*(f"{APPS}/{plural}/w" for plural, _ in kinds), f"{CONTROLLERS}/w"):
            for replicas, generations in ((3, 2), (3, 2), (0, 3)):
                scale = self.done("GET", f"{path}/scale")
                scale["metadata"]["labels"] = {"x": "y"}
                scale["spec"]["replicas"] = replicas
                scale["status"]["replicas"] = 7
                self.assertEqual(self.done("PUT", f"{path}/scale", scale)["spec"].get("replicas", 0), replicas)
                live = self.done("GET", path)
                self.assertEqual((live["spec"]["replicas"], live["metadata"]["generation"]), (replicas, generations))
                self.assertNotEqual(live["metadata"].get("labels"), {"x": "y"})
                self.assertEqual(live["status"].get("replicas", 0), 0)

    def test_what_a_scale_shows(self) -> None:
        """The replicas that are wanted and that are there, and the selector as text."""
        selector = {"matchLabels": LABELS, "matchExpressions": [{"key": "b", "operator": "DoesNotExist"}]}
        live = self.deployment(selector=selector, replicas=4)
        live["status"] = {"replicas": 2}
        self.done("PUT", f"{APPS}/deployments/d/status", live)
        scale = self.done("GET", f"{APPS}/deployments/d/scale")
        self.assertEqual(scale["spec"], {"replicas": 4})
        self.assertEqual(scale["status"], {"replicas": 2, "selector": "app=a,!b"})
        self.done("POST", CONTROLLERS, CONTROLLER)
        scale = self.done("GET", f"{CONTROLLERS}/a/scale")
        self.assertEqual(scale["status"], {"replicas": 0, "selector": "app=a"})
