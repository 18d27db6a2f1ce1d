"""Rules of Nodes (reference KIND-34)."""
# covers: orchtw.registry.groups.core.node_validation

from __future__ import annotations

from typing import Any
from unittest.mock import patch

from twisted.trial.unittest import SynchronousTestCase

from orchtw.naming.naming import Naming
from orchtw.registry.groups.core.node_validation import node_warnings, validate_node
from orchtw.registry.groups.core.nodes import NODE
from orchtw.wire.objects import Object
from tests.validation import case
from tests.validation.examples import GONE, Accepted, Base, Refused, Shown, Stored

NODES = "/api/v1/nodes"
NODE_OBJECT = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n"}}
TAINTS = "scheduler.alpha.orch.io/taints"
AVOIDING = "scheduler.alpha.orch.io/preferAvoidPods"
SOURCE = {"namespace": "a", "name": "b", "orchletConfigKey": "c"}
def taint(**fields: Any) -> dict[str, Any]:
    return {"spec.taints": [{"key": "a.b/c", "effect": "NoSchedule", **fields}]}


def annotated(name: str, text: str) -> dict[str, Any]:
    return {"metadata.annotations": {name: text}}


def test(name: str) -> Shown:
    return Shown(f"{__name__}.NodeSettingsTests.{name}")


class NodeTests(case.EntryCase):
    file = "node.json"
    beyond = (33, 34)  # what admission does to nodes
    bases = {"Node": Base(path=NODES, obj=NODE_OBJECT)}
    examples = {
        0: [
            Refused(change=taint(key=key), accepts=taint(), field="metadata.taints[0].key", detail=detail)
            for key, detail in (("a b", "name part must consist"), ("", "name part must be non-empty"))
        ],
        1: Refused(change=taint(value="a b"), accepts=taint(value="b"), field="metadata.taints[0].value"),
        2: Refused(change=taint(effect=""), field="metadata.taints[0].effect"),
        3: [
            Refused(
                change=taint(effect="Other"),
                accepts=taint(effect=effect),
                field="metadata.taints[0].effect",
                detail='supported values: "NoSchedule", "PreferNoSchedule", "NoExecute"',
            )
            for effect in ("NoSchedule", "PreferNoSchedule", "NoExecute")
        ],
        4: Refused(
            change={"spec.taints": [{"key": "a", "effect": "NoExecute", "value": value} for value in ("b", "c")]},
            accepts={"spec.taints": [{"key": "a", "effect": effect} for effect in ("NoExecute", "NoSchedule")]},
            field="metadata.taints[1]",
        ),
        5: [
            Refused(
                change=annotated(TAINTS, text),
                accepts=annotated(TAINTS, '[{"key": "a", "effect": "NoExecute"}]'),
                field="metadata.annotations",
            )
            for text in ("x", "{}", '["a"]', '[{"key": 1}]')
        ]
        + [
            Refused(
                change=annotated(TAINTS, '[{"key": "a b", "effect": "NoExecute"}]'),
                field=f"metadata.annotations.{TAINTS}[0].key",
            )
        ],
        6: [
            Refused(change=annotated(AVOIDING, text), field="metadata.annotations.AvoidPods", detail="in JSON")
            for text in ("x", "[]", '{"preferAvoidPods": ["a"]}')
        ]
        + [
            Refused(
                change=annotated(AVOIDING, '{"preferAvoidPods": [{"podSignature": {"podController": {}}}]}'),
                accepts=annotated(
                    AVOIDING, '{"preferAvoidPods": [{"podSignature": {"podController": {"controller": true}}}]}'
                ),
                field=f"metadata.annotations.{AVOIDING}[0].PodSignature.PodController.Controller",
            )
        ],
        7: [
            Refused(
                change={"status.capacity": {name: amount}},
                accepts={"status.capacity": {name: "1k"}},
                field=f"status.capacity.{name}",
                detail=detail,
            )
            for name, amount, detail in (
                ("cpu", "-1", "must be greater than or equal to 0"),
                ("pods", "1500m", "must be an integer"),
                ("example.com/gpu", "1500m", "must be an integer"),
            )
        ],
        8: Refused(
            change={"status.allocatable": {"pods": "1500m"}},
            accepts={"status.allocatable": {"pods": "1", "cpu": "1500m"}},
            field="status.allocatable.pods",
        ),
        9: [
            Refused(
                on=on,
                change={"spec.podCIDRs": ["10.0.0.0/8", "x"]},
                accepts={"spec.podCIDRs": ["10.0.0.0/8", "fd00::/8"]},
                field="spec.podCIDRs[1]",
            )
            for on in ("create", "update")
        ],
        10: [
            Refused(change={"spec.podCIDRs": ranges}, accepts={"spec.podCIDRs": ranges[:1]})
            for ranges in (["10.0.0.0/8", "11.0.0.0/8"], ["10.0.0.0/8", "fd00::/8", "fd01::/8"])
        ],
        11: Refused(change={"spec.podCIDRs": ["10.0.0.0/8", "10.0.0.0/8"]}, field="spec.podCIDRs[1]"),
        12: [
            Stored(change={"spec.podCIDR": "10.0.0.0/8"}, expected={"spec.podCIDRs": ["10.0.0.0/8"]}),
            Stored(change={"spec.podCIDRs": ["10.0.0.0/8", "fd00::/8"]}, expected={"spec.podCIDR": "10.0.0.0/8"}),
            Stored(
                change={"spec.podCIDR": "10.0.0.0/8", "spec.podCIDRs": ["11.0.0.0/8", "fd00::/8"]},
                expected={"spec.podCIDRs": ["10.0.0.0/8"]},
            ),
        ],
        13: Accepted(change={"spec.externalID": "any $ text", "spec.unschedulable": True}),
        14: [
            Refused(
                before={"spec.podCIDRs": ["10.0.0.0/8"]},
                change={"spec.podCIDRs": ranges, "spec.podCIDR": ranges[0] if ranges else GONE},
            )
            for ranges in (["11.0.0.0/8"], ["10.0.0.0/8", "fd00::/8"], [])
        ]
        + [Accepted(change={"spec.podCIDR": "10.0.0.0/8"})],
        15: [Refused(before={"spec.providerID": "a"}, change={"spec.providerID": value}) for value in ("b", GONE)]
        + [Accepted(change={"spec.providerID": "a"})],
        16: Accepted(
            before={"spec.unschedulable": True, **taint()}, change={"spec.unschedulable": False, "spec.taints": []}
        ),
        17: [
            Refused(change={"spec.externalID": "a"}),
            Refused(before={"spec.externalID": "a"}, change={"spec.externalID": GONE}),
        ],
        18: test("test_spec"),
        19: test("test_spec"),
        20: test("test_spec"),
        21: test("test_required"),
        22: test("test_required"),
        23: test("test_required"),
        24: [
            Stored(on=on, change={"spec.configSource": {"configMap": SOURCE}}, expected={"spec.configSource": GONE})
            for on in ("create", "update")
        ]
        + [Shown(f"{__name__}.NodeTests.test_settings_from_before")],
        25: Refused(
            change={"status.addresses": [{"type": "InternalIP", "address": "10.0.0.1"}] * 2},
            accepts={"status.addresses": [{"type": "ExternalIP", "address": "10.0.0.1"}]},
            field="status.addresses[1]",
        ),
        26: test("test_status"),
        27: Shown(f"{__name__}.NodeTests.test_same_rules_for_status"),
        28: Stored(change={"status.phase": "Running"}, expected={"status.phase": "Running"}),
        29: Stored(change={"status.phase": "Running"}, expected={"status.phase": GONE}),
        30: Stored(change={"spec.unschedulable": True}, expected={"spec.unschedulable": GONE}),
        31: Stored(
            change={
                "spec.configSource": {"configMap": SOURCE},
                "status.config": {"active": {"configMap": SOURCE}},
            },
            expected={"spec.configSource": GONE, "status.config": GONE},
        ),
        32: Stored(expected={"metadata.generation": GONE}),
        35: test("test_warning"),
        36: Shown(f"{__name__}.NodeTests.test_deprecated_labels"),
    }

    def test_same_rules_for_status(self) -> None:
        """A write to /status must be a valid node in all."""
        made = self.done("POST", NODES, NODE_OBJECT)
        made["status"]["capacity"] = {"pods": "500m"}
        answer = self.send("PUT", f"{NODES}/n/status", made)
        (cause,) = [each for each in answer.json["details"]["causes"] if "capacity" in each["field"]]
        self.assertEqual((answer.code, cause["field"]), (422, "status.capacity.pods"))

    def test_settings_from_before(self) -> None:
        """A node that has settings for its agent keeps them, and may change them; it is warned of them."""
        before = {**NODE_OBJECT, "spec": {"configSource": {"configMap": SOURCE}}}
        with patch("orchtw.registry.groups.core.nodes._drop_settings", lambda node, old: None):
            self.done("POST", NODES, before)
        found = self.done("GET", f"{NODES}/n")
        found["spec"]["configSource"]["configMap"]["name"] = "other"
        answer = self.send("PUT", f"{NODES}/n", found)
        self.assertEqual((answer.code, answer.json["spec"]), (200, found["spec"]))
        self.assertIn("spec.configSource: deprecated in v1.22", answer.headers["warning"])

    def test_deprecated_labels(self) -> None:
        """Labels that are deprecated elsewhere are nodes' own."""
        labels = {"beta.orch.io/os": "linux", "beta.orch.io/arch": "amd64"}
        answer = self.send("POST", NODES, {**NODE_OBJECT, "metadata": {"name": "n", "labels": labels}})
        self.assertEqual((answer.code, answer.headers.get("warning")), (201, None))


class NodeSettingsTests(SynchronousTestCase):
    """Settings for the node agent, which only nodes from before the release can have."""

    def causes(self, spec: Object, status: Object) -> list[tuple[str, str, str]]:
        node = {"metadata": {"name": "n"}, "spec": spec, "status": status}
        found = validate_node(node, {"metadata": {}, "spec": {}, "status": {}}, Naming.orch())
        return [(cause.field, cause.reason, cause.message.partition(": ")[2]) for cause in found]

    def test_spec(self) -> None:
        """In the spec there is one source, without uid and version."""
        self.assertEqual(self.causes({"configSource": {"configMap": SOURCE}}, {}), [])
        (cause,) = self.causes({"configSource": {}}, {})
        self.assertEqual(cause[:2], ("spec.configSource", "FieldValueInvalid"))
        self.assertIn("exactly one reference subfield must be non-nil", cause[2])
        found = self.causes({"configSource": {"configMap": {**SOURCE, "uid": "a", "resourceVersion": "1"}}}, {})
        place = "spec.configSource.configMap"
        self.assertEqual(
            found,
            [
                (f"{place}.uid", "FieldValueForbidden", "uid must not be set in spec"),
                (f"{place}.resourceVersion", "FieldValueForbidden", "resourceVersion must not be set in spec"),
            ],
        )

    def test_required(self) -> None:
        """Namespace, name and key are there, and have their forms."""
        place = "spec.configSource.configMap"
        names = ("namespace", "name", "orchletConfigKey")
        found = self.causes({"configSource": {"configMap": {}}}, {})
        expected = [
            (f"{place}.{name}", "FieldValueRequired", f"{name} must be set in node config source") for name in names
        ]
        self.assertEqual(found, expected)
        found = self.causes({"configSource": {"configMap": dict.fromkeys(names, "a b")}}, {})
        self.assertEqual([cause[0] for cause in found], [f"{place}.{name}" for name in names])

    def test_status(self) -> None:
        """In the status there is one source, with uid and version."""
        full = {"configMap": {**SOURCE, "uid": "a", "resourceVersion": "1"}}
        self.assertEqual(self.causes({}, {"config": {"assigned": full, "active": full, "lastKnownGood": full}}), [])
        for name in ("assigned", "active", "lastKnownGood"):
            place = f"status.config.{name}"
            self.assertEqual([cause[0] for cause in self.causes({}, {"config": {name: {}}})], [place])
            self.assertEqual(
                self.causes({}, {"config": {name: {"configMap": SOURCE}}}),
                [
                    (f"{place}.configMap.uid", "FieldValueRequired", "uid must be set in status"),
                    (
                        f"{place}.configMap.resourceVersion",
                        "FieldValueRequired",
                        "resourceVersion must be set in status",
                    ),
                ],
            )

    def test_warning(self) -> None:
        """A Node written with dynamic configuration is warned about."""
        node: Object = {"metadata": {}, "spec": {"configSource": {}}}
        text = "spec.configSource: deprecated in v1.22, support removal is planned in v1.23"
        self.assertEqual(node_warnings(node, None, Naming.orch()), [text])
        self.assertIs(NODE.warn, node_warnings)
        self.assertEqual(node_warnings({"metadata": {}, "spec": {}}, None, Naming.orch()), [])
