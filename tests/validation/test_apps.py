"""Workloads of the apps group (reference KIND-28, KIND-61)."""
# covers: orchtw.registry.groups.apps.daemon_sets, orchtw.registry.groups.apps.deployments
# covers: orchtw.registry.groups.apps.stateful_sets, orchtw.registry.groups.core.controller_rules

from __future__ import annotations

from orchtw.wire.objects import Object
from tests.validation import case, workloads
from tests.validation.examples import GONE, Accepted, Base, Refused, Shown, Stored
from tests.validation.paths import changed
from tests.validation.workloads import (
    LABELS,
    NO_SUCH,
    SELECTOR,
    TEMPLATE,
    generation,
    kept_status,
    more_than,
    negative,
)

APPS = "/apis/apps/v1/namespaces/default"
COUNTED = "deprecated.daemonset.template.generation"
ROLLING = "spec.strategy.rollingUpdate"
UPDATE = "spec.updateStrategy"
CLAIM = {"metadata": {"name": "data"}, "spec": {}}


def workload(kind: str, **spec: object) -> Object:
    """The smallest valid one."""
    spec = {"selector": SELECTOR, "template": TEMPLATE, **spec}
    return {"apiVersion": "apps/v1", "kind": kind, "metadata": {"name": "a"}, "spec": spec}


REVISION = {
    "apiVersion": "apps/v1",
    "kind": "ControllerRevision",
    "metadata": {"name": "a"},
    "data": {},
    "revision": 1,
}


class AppsTests(case.EntryCase):
    file = "apps.json"
    bases = {
        "Deployment": Base(path=f"{APPS}/deployments", obj=workload("Deployment")),
        "ReplicaSet": Base(path=f"{APPS}/replicasets", obj=workload("ReplicaSet")),
        "StatefulSet": Base(path=f"{APPS}/statefulsets", obj=workload("StatefulSet", serviceName="s")),
        "DaemonSet": Base(path=f"{APPS}/daemonsets", obj=workload("DaemonSet")),
        "ControllerRevision": Base(path=f"{APPS}/controllerrevisions", obj=REVISION),
    }
    examples = {
        0: negative("spec.replicas"),
        1: Refused(change={"spec.selector": GONE}),
        2: workloads.SELECTOR_RULES,
        3: Refused(change={"spec.selector": {}}),
        4: [
            Refused(change={"spec.selector": NO_SUCH}),
            Refused(
                change={
                    "spec.selector": {"matchExpressions": [{"key": "app", "operator": "In", "values": ["a", "b!"]}]}
                }
            ),
        ],
        5: workloads.UNSELECTED,
        6: workloads.POD_RULES,
        7: workloads.LASTING,
        8: workloads.DEADLINE,
        9: [workloads.SHARED_DISK, workloads.SINGLE_DISK],
        10: Refused(change={"spec.strategy": {"type": "Slowly"}}),
        11: Refused(
            change={"spec.strategy": {"type": "Recreate", "rollingUpdate": {"maxSurge": 1}}},
            accepts={"spec.strategy": {"type": "Recreate"}},
        ),
        12: Stored(
            change={"spec.strategy": {"type": "RollingUpdate"}},
            expected={ROLLING: {"maxUnavailable": "25%", "maxSurge": "25%"}},
        ),
        13: [
            Refused(change={f"{ROLLING}.maxUnavailable": "a few"}, detail="a valid percent string must be a numeric"),
            Refused(change={f"{ROLLING}.maxUnavailable": -1}, detail="must be greater than or equal to 0"),
        ],
        14: [
            Refused(change={f"{ROLLING}.maxSurge": "5"}, accepts={f"{ROLLING}.maxSurge": 5}),
            Refused(change={f"{ROLLING}.maxSurge": -5}, detail="must be greater than or equal to 0"),
        ],
        15: [
            Refused(
                change={ROLLING: {"maxUnavailable": 0, "maxSurge": "0%"}},
                accepts={ROLLING: {"maxUnavailable": 1, "maxSurge": 0}},
            ),
            Refused(change={ROLLING: {"maxUnavailable": "none", "maxSurge": 0}}),
        ],
        16: [
            Refused(
                change={f"{ROLLING}.maxUnavailable": "101%"},
                accepts={f"{ROLLING}.maxUnavailable": "0100%"},
            ),
            Refused(change={f"{ROLLING}.maxUnavailable": "9" * 5000 + "%"}),
        ],
        17: Accepted(change={f"{ROLLING}.maxSurge": "200%"}),
        18: negative("spec.minReadySeconds"),
        19: negative("spec.revisionHistoryLimit"),
        20: Refused(change={"spec.progressDeadlineSeconds": -1}),
        21: Refused(
            change={"spec.progressDeadlineSeconds": 5, "spec.minReadySeconds": 5},
            accepts={"spec.progressDeadlineSeconds": 6, "spec.minReadySeconds": 5},
        ),
        22: workloads.FIXED_SELECTOR,
        23: Accepted(
            change={
                "spec.replicas": 3,
                "spec.template.spec.hostNetwork": True,
                "spec.strategy": {"type": "Recreate"},
                "spec.minReadySeconds": 1,
                "spec.revisionHistoryLimit": 0,
                "spec.paused": True,
                "spec.progressDeadlineSeconds": 5,
            }
        ),
        24: [
            *negative("status.observedGeneration", "status.replicas", "status.updatedReplicas"),
            *negative("status.readyReplicas", "status.availableReplicas", "status.unavailableReplicas"),
            *negative("status.collisionCount"),
        ],
        25: more_than(
            "status.replicas", "status.updatedReplicas", "status.readyReplicas", "status.availableReplicas"
        ),
        26: more_than("status.readyReplicas", "status.availableReplicas"),
        27: Shown(f"{__name__}.AppsTests.test_collisions"),
        28: kept_status({"status.replicas": 3, "status.observedGeneration": 1}),
        29: Stored(change={"metadata.generation": 7}, expected={"metadata.generation": 1}),
        30: [
            *generation({"spec.replicas": 3}),
            Stored(change={"metadata.annotations": {"a": "b"}}, expected={"metadata.generation": 2}),
        ],
        31: Shown(f"{__name__}.AppsTests.test_what_status_keeps"),
        32: Stored(
            change={"spec.replicas": 7, "status.replicas": 2, "metadata.annotations": {"a": "b"}},
            expected={"spec.replicas": 1, "metadata.generation": 1, "metadata.annotations": {"a": "b"}},
        ),
        33: Stored(
            before={"metadata.labels": LABELS},
            change={"metadata.labels": {"b": "c"}},
            expected={"metadata.labels": LABELS},
        ),
        34: [
            *[workloads.warned(kind=kind) for kind in ("Deployment", "ReplicaSet", "DaemonSet", "StatefulSet")],
            workloads.warned(on="update"),
            Shown(f"{__name__}.AppsTests.test_warnings_of_updates"),
        ],
        35: negative("spec.replicas"),
        36: negative("spec.minReadySeconds"),
        37: Refused(change={"spec.selector": GONE}),
        38: workloads.SELECTOR_RULES,
        39: Refused(change={"spec.selector": {}}),
        40: workloads.UNSELECTED,
        41: workloads.POD_RULES,
        42: workloads.LASTING,
        43: workloads.DEADLINE,
        44: [workloads.SHARED_DISK, workloads.SINGLE_DISK],
        45: workloads.FIXED_SELECTOR,
        46: Accepted(change={"spec.template.spec.hostNetwork": True, "spec.replicas": 4, "spec.minReadySeconds": 4}),
        47: [
            *negative("status.replicas", "status.fullyLabeledReplicas", "status.readyReplicas"),
            *negative("status.availableReplicas", "status.observedGeneration"),
        ],
        48: more_than(
            "status.replicas", "status.fullyLabeledReplicas", "status.readyReplicas", "status.availableReplicas"
        ),
        49: more_than("status.readyReplicas", "status.availableReplicas"),
        50: Stored(change={"status.replicas": 5}, expected={"status": {"replicas": 0}}),
        51: Stored(expected={"metadata.generation": 1}),
        52: generation({"spec.replicas": 3}),
        53: Stored(change={"status.replicas": 5}, expected={"status": {"replicas": 0}}),
        54: Stored(change={"spec.replicas": 7, "status.replicas": 2}, expected={"spec.replicas": 1}),
        55: Stored(expected={"spec.podManagementPolicy": "OrderedReady"}),
        56: Refused(change={"spec.podManagementPolicy": "Random"}, accepts={"spec.podManagementPolicy": "Parallel"}),
        57: Stored(expected={f"{UPDATE}.type": "RollingUpdate"}),
        58: Refused(change={f"{UPDATE}.type": "Recreate"}, accepts={f"{UPDATE}.type": "OnDelete"}),
        59: Refused(change={UPDATE: {"type": "OnDelete", "rollingUpdate": {}}}),
        60: negative(f"{UPDATE}.rollingUpdate.partition"),
        61: Stored(
            change={f"{UPDATE}.rollingUpdate.maxUnavailable": "101%"},
            expected={f"{UPDATE}.rollingUpdate.maxUnavailable": GONE},
        ),
        62: Stored(
            change={"spec.persistentVolumeClaimRetentionPolicy": {"whenDeleted": "Sell"}},
            expected={"spec.persistentVolumeClaimRetentionPolicy": GONE},
        ),
        63: Stored(
            change={"spec.persistentVolumeClaimRetentionPolicy": {"whenScaled": "Sell"}},
            expected={"spec.persistentVolumeClaimRetentionPolicy": GONE},
        ),
        64: negative("spec.replicas"),
        65: negative("spec.minReadySeconds"),
        66: Refused(change={"spec.selector": GONE}),
        67: workloads.SELECTOR_RULES,
        68: Refused(change={"spec.selector": {}}),
        69: workloads.UNSELECTED,
        70: [
            Refused(
                change={"spec.template.metadata.labels": {"app": "a", "b": "no!"}},
                field="spec.template.labels",
            ),
            Refused(
                change={"spec.template.metadata.annotations": {"a b": "c"}},
                field="spec.template.annotations",
            ),
            Refused(
                change={"spec.template.metadata.annotations": {"seccomp.security.alpha.orch.io/pod": "mine"}},
                field="spec.template.annotations[seccomp.security.alpha.orch.io/pod]",
            ),
        ],
        71: Accepted(change={"spec.template.spec": {"containers": [{"name": "No Name"}], "volumes": [{"name": ""}]}}),
        72: workloads.LASTING,
        73: workloads.DEADLINE,
        74: Accepted(
            change={
                "spec.serviceName": "no $ name",
                "spec.volumeClaimTemplates": [CLAIM, CLAIM],
                "spec.revisionHistoryLimit": -3,
            }
        ),
        75: [
            Refused(change={"spec.serviceName": "t"}),
            Refused(change={"spec.volumeClaimTemplates": [CLAIM]}),
            Refused(
                change={"spec.selector": {"matchLabels": {"b": "c"}}, "spec.template.metadata.labels": {"b": "c"}}
            ),
            Accepted(
                change={
                    "spec.replicas": 3,
                    "spec.template.spec.hostNetwork": True,
                    UPDATE: {"type": "OnDelete"},
                    "spec.minReadySeconds": 3,
                }
            ),
        ],
        76: [
            *negative("status.replicas", "status.readyReplicas", "status.currentReplicas", "status.updatedReplicas"),
            *negative("status.observedGeneration", "status.collisionCount"),
        ],
        77: negative("status.availableReplicas"),
        78: more_than("status.replicas", "status.readyReplicas", "status.currentReplicas", "status.updatedReplicas"),
        79: more_than("status.replicas", "status.availableReplicas"),
        80: more_than("status.readyReplicas", "status.availableReplicas"),
        81: Shown(f"{__name__}.AppsTests.test_collisions"),
        82: Stored(change={"status.replicas": 5}, expected={"status.replicas": 0}),
        83: Stored(expected={"metadata.generation": 1}),
        84: generation({"spec.replicas": 3}),
        85: Stored(change={"status.replicas": 5}, expected={"status.replicas": 0}),
        86: Stored(change={"spec.replicas": 7, "status.replicas": 2}, expected={"spec.replicas": 1}),
        87: Stored(
            on="update",
            change={
                "spec.persistentVolumeClaimRetentionPolicy": {"whenDeleted": "Delete"},
                f"{UPDATE}.rollingUpdate.maxUnavailable": 2,
                "spec.minReadySeconds": 2,
            },
            expected={
                "spec.persistentVolumeClaimRetentionPolicy": GONE,
                f"{UPDATE}.rollingUpdate": {"partition": 0},
                "spec.minReadySeconds": 2,
            },
        ),
        88: Shown(f"{__name__}.AppsTests.test_claims_give_no_warnings"),
        89: workloads.SELECTOR_RULES,
        90: Refused(change={"spec.selector": {}}),
        91: Refused(change={"spec.selector": GONE}),
        92: workloads.UNSELECTED,
        93: workloads.POD_RULES,
        94: Refused(
            change={"spec.template.spec.volumes": [workloads.DISK]},
            accepts={"spec.template.spec.volumes": [workloads.READ_ONLY_DISK]},
        ),
        95: workloads.LASTING,
        96: workloads.DEADLINE,
        97: negative("spec.minReadySeconds"),
        98: negative("spec.revisionHistoryLimit"),
        99: Refused(change={UPDATE: {"type": "Slowly"}}, accepts={UPDATE: {"type": "OnDelete"}}),
        100: Stored(
            change={UPDATE: {"type": "RollingUpdate"}},
            expected={f"{UPDATE}.rollingUpdate": {"maxUnavailable": 1, "maxSurge": 0}},
        ),
        101: [
            Refused(
                change={f"{UPDATE}.rollingUpdate.maxUnavailable": "101%"}, detail="must not be greater than 100%"
            ),
            Refused(change={f"{UPDATE}.rollingUpdate.maxUnavailable": -1}, detail="greater than or equal to 0"),
            Refused(change={f"{UPDATE}.rollingUpdate.maxUnavailable": "%"}, detail="a valid percent string"),
        ],
        102: [
            Refused(
                change={f"{UPDATE}.rollingUpdate": {"maxUnavailable": 0, "maxSurge": "101%"}},
                accepts={f"{UPDATE}.rollingUpdate": {"maxUnavailable": 0, "maxSurge": "100%"}},
                detail="must not be greater than 100%",
            ),
            Refused(change={f"{UPDATE}.rollingUpdate": {"maxUnavailable": 0, "maxSurge": -1}}),
        ],
        103: Refused(
            change={f"{UPDATE}.rollingUpdate": {"maxUnavailable": 0, "maxSurge": 0}},
            detail="cannot be 0 when maxSurge is 0",
        ),
        104: Refused(
            change={f"{UPDATE}.rollingUpdate": {"maxUnavailable": 1, "maxSurge": 1}},
            detail="may not be set when maxUnavailable is non-zero",
        ),
        105: workloads.FIXED_SELECTOR,
        106: Accepted(
            change={
                "spec.template.spec.hostNetwork": True,
                UPDATE: {"type": "OnDelete"},
                "spec.minReadySeconds": 3,
                "spec.revisionHistoryLimit": 3,
            }
        ),
        107: [
            *negative("status.currentNumberScheduled", "status.numberMisscheduled", "status.desiredNumberScheduled"),
            *negative("status.numberReady", "status.observedGeneration", "status.updatedNumberScheduled"),
            *negative("status.numberAvailable", "status.numberUnavailable", "status.collisionCount"),
        ],
        108: Shown(f"{__name__}.AppsTests.test_collisions"),
        109: Stored(change={"status.numberReady": 5}, expected={"status.numberReady": 0}),
        110: Stored(expected={"metadata.generation": 1}),
        111: Shown(f"{__name__}.AppsTests.test_templates_are_counted"),
        112: [
            *generation({"spec.minReadySeconds": 3}),
            Stored(change={"spec.template.spec.hostNetwork": True}, expected={"metadata.generation": 2}),
        ],
        113: Stored(change={"status.numberReady": 5}, expected={"status.numberReady": 0}),
        114: Stored(
            change={"spec.minReadySeconds": 7, "status.numberReady": 2},
            expected={"spec.minReadySeconds": GONE, "status.numberReady": 2},
        ),
        115: [Refused(change={"data": GONE}), Refused(change={"data": None})],
        116: negative("revision"),
        117: Refused(change={"data": {"a": "b"}}),
        118: Accepted(change={"revision": 7}),
        119: Stored(expected={"metadata.generation": GONE}),
    }

    def test_collisions(self) -> None:
        """A count of collisions neither falls nor vanishes."""
        for kind in ("Deployment", "StatefulSet", "DaemonSet"):
            plural, obj = f"{kind.lower()}s", self.bases[kind].obj
            self.done("POST", f"{APPS}/{plural}", {**obj, "metadata": {"name": "c"}})
            status = f"{APPS}/{plural}/c/status"
            live = self.done("GET", status)
            live["status"]["collisionCount"] = 2
            live = self.done("PUT", status, live)
            for count in (1, None):
                answer = self.send("PUT", status, {**live, "status": {**live["status"], "collisionCount": count}})
                self.assertEqual(answer.code, 422)
                cause = {
                    "reason": "FieldValueInvalid",
                    "message": f"Invalid value: {count or 0}: cannot be decremented",
                    "field": "status.collisionCount",
                }
                self.assertEqual(answer.json["details"]["causes"], [cause])
            live["status"]["collisionCount"] = 3
            self.done("PUT", status, live)

    def test_what_status_keeps(self) -> None:
        """An update of the main path leaves the status as it is."""
        self.done("POST", f"{APPS}/deployments", {**workload("Deployment"), "metadata": {"name": "s"}})
        live = self.done("GET", f"{APPS}/deployments/s")
        live["status"] = {"replicas": 4}
        live = self.done("PUT", f"{APPS}/deployments/s/status", live)
        live["status"] = {"replicas": 9}
        live["spec"]["replicas"] = 2
        stored = self.done("PUT", f"{APPS}/deployments/s", live)
        self.assertEqual((stored["status"], stored["spec"]["replicas"]), ({"replicas": 4}, 2))

    def test_templates_are_counted(self) -> None:
        """From 1, each change of the template, whatever the annotation of a client says (reference KIND-61)."""
        given = {"name": "t", "annotations": {COUNTED: "5", "z": "1"}}
        live = self.done("POST", f"{APPS}/daemonsets", {**workload("DaemonSet"), "metadata": given})
        self.assertEqual(live["metadata"]["annotations"], {COUNTED: "5", "z": "1"})
        live["metadata"]["annotations"] = {COUNTED: "99"}
        live["spec"]["template"]["spec"]["hostNetwork"] = True
        live = self.done("PUT", f"{APPS}/daemonsets/t", live)
        self.assertEqual(live["metadata"]["annotations"], {COUNTED: "6"})
        del live["metadata"]["annotations"]
        live["spec"]["minReadySeconds"] = 4
        live = self.done("PUT", f"{APPS}/daemonsets/t", live)
        self.assertEqual(live["metadata"]["annotations"], {COUNTED: "6"})
        del live["metadata"]["annotations"]
        live = self.done("PUT", f"{APPS}/daemonsets/t/status", live)
        self.assertEqual(live["metadata"]["annotations"], {COUNTED: "6"})
        fresh = self.done("POST", f"{APPS}/daemonsets", {**workload("DaemonSet"), "metadata": {"name": "u"}})
        self.assertEqual(fresh["metadata"]["annotations"], {COUNTED: "1"})

    def test_warnings_of_updates(self) -> None:
        """A write that changes something else is not warned again."""
        made = self.done("POST", f"{APPS}/deployments", changed(workload("Deployment"), workloads.WARNED))
        made["metadata"]["labels"] = {"a": "b"}
        answer = self.send("PUT", f"{APPS}/deployments/a", made)
        self.assertNotIn("warning", answer.headers)
        made = {**answer.json, "spec": {**made["spec"], "replicas": 2}}
        self.assertIn("warning", self.send("PUT", f"{APPS}/deployments/a", made).headers)

    def test_claims_give_no_warnings(self) -> None:
        """Amounts of storage that are not whole bytes are not told."""
        claim = {**CLAIM, "spec": {"resources": {"requests": {"storage": "1m"}}}}
        obj = workload("StatefulSet", serviceName="s", volumeClaimTemplates=[claim])
        answer = self.send("POST", f"{APPS}/statefulsets", {**obj, "metadata": {"name": "w"}})
        self.assertEqual((answer.code, "warning" in answer.headers), (201, False))

    def test_rollbacks(self) -> None:
        """The annotation that asks for one is a revision (reference KIND-61)."""
        key = "deprecated.deployment.rollback.to"
        for text, field in (("-1", "spec.rollback.version"), ("last", f"metadata.annotations[{key}]"), ("3", "")):
            meta = {"name": "r", "annotations": {key: text}}
            answer = self.send("POST", f"{APPS}/deployments", {**workload("Deployment"), "metadata": meta})
            found = [cause["field"] for cause in answer.json.get("details", {}).get("causes", [])]
            self.assertEqual((answer.code, found), (422, [field]) if field else (201, []))
