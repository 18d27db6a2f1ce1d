"""Conversion between served versions (reference VER-11)."""
# covers: orchtw.schema.conversion.autoscaling_metrics

from __future__ import annotations

import copy
import json
from typing import Any

import orjson
from twisted.trial.unittest import SynchronousTestCase

from orchtw.naming.naming import Naming
from orchtw.registry.strategies import KINDS
from orchtw.schema.catalogue import Catalogue
from orchtw.schema.codec.codecs import Codecs
from orchtw.schema.conversion.convert import SAME_FIELDS
from orchtw.wire.objects import Object

NAMING = Naming.orch()
CONVERSIONS = {record.kind: record.conversions for record in KINDS.values()}

META: Object = {"name": "x", "namespace": "default", "uid": "u", "creationTimestamp": None}
REFERENCE = {"kind": "Deployment", "name": "d", "apiVersion": "apps/v1"}


def convert(obj: Object, target: str, naming: Naming = NAMING) -> Object:
    """`obj` in version `target`; fails when the conversion changes its argument."""
    before = copy.deepcopy(obj)
    conversions = CONVERSIONS.get(obj["kind"], SAME_FIELDS)
    out = conversions.converter(obj["apiVersion"], target, naming=naming)(obj)
    if before != obj:
        raise AssertionError("the argument was changed")
    return out


def autoscaler(version: str, spec: Object, status: Object, annotations: Object | None = None) -> Object:
    meta = {**META, "annotations": annotations} if annotations else META
    return {
        "kind": "HorizontalPodAutoscaler",
        "apiVersion": f"autoscaling/{version}",
        "metadata": meta,
        "spec": {"scaleTargetRef": REFERENCE, "minReplicas": 1, "maxReplicas": 5, **spec},
        "status": status,
    }


SELECTOR = {"matchLabels": {"a": "b"}}
METRICS = [
    {"type": "Resource", "resource": {"name": "cpu", "target": {"type": "Utilization", "averageUtilization": 60}}},
    {"type": "Resource", "resource": {"name": "memory", "target": {"type": "AverageValue", "averageValue": "1Gi"}}},
    {
        "type": "Object",
        "object": {
            "describedObject": REFERENCE,
            "target": {"type": "Value", "value": "10"},
            "metric": {"name": "m", "selector": SELECTOR},
        },
    },
    {
        "type": "Object",
        "object": {
            "describedObject": REFERENCE,
            "target": {"type": "AverageValue", "averageValue": "2"},
            "metric": {"name": "m"},
        },
    },
    {
        "type": "Pods",
        "pods": {"metric": {"name": "m"}, "target": {"type": "AverageValue", "averageValue": "100m"}},
    },
    {
        "type": "ContainerResource",
        "containerResource": {
            "name": "cpu",
            "target": {"type": "Utilization", "averageUtilization": 7},
            "container": "c",
        },
    },
    {
        "type": "External",
        "external": {"metric": {"name": "m", "selector": SELECTOR}, "target": {"type": "Value", "value": "3"}},
    },
    {
        "type": "External",
        "external": {"metric": {"name": "m"}, "target": {"type": "AverageValue", "averageValue": "3"}},
    },
]
CURRENT = [
    {"type": "Resource", "resource": {"name": "cpu", "current": {"averageValue": "5m", "averageUtilization": 55}}},
    {"type": "Pods", "pods": {"metric": {"name": "m"}, "current": {"averageValue": "1"}}},
    {
        "type": "Object",
        "object": {
            "metric": {"name": "m"},
            "current": {"value": "1", "averageValue": "2"},
            "describedObject": REFERENCE,
        },
    },
    {
        "type": "External",
        "external": {"metric": {"name": "m", "selector": SELECTOR}, "current": {"value": "1"}},
    },
]
CONDITIONS = [{"type": "AbleToScale", "status": "True", "lastTransitionTime": "2024-01-01T00:00:00Z", "reason": "R"}]
BEHAVIOR = {
    "scaleUp": {"stabilizationWindowSeconds": 0, "selectPolicy": "Max"},
    "scaleDown": {"policies": [{"type": "Pods", "value": 4, "periodSeconds": 15}]},
}
FULL = autoscaler(
    "v2",
    {"metrics": METRICS, "behavior": BEHAVIOR},
    {"desiredReplicas": 2, "currentMetrics": CURRENT, "conditions": CONDITIONS},
    {"keep": "me"},
)


def moved_cpu_last(obj: Object) -> Object:
    """`obj` as it comes back through v1: the CPU utilization metric is the last one."""
    metrics = obj["spec"]["metrics"]
    return {**obj, "spec": {**obj["spec"], "metrics": [*metrics[1:], metrics[0]]}}


class AutoscalerTests(SynchronousTestCase):
    """Conversions of HorizontalPodAutoscalers between versions."""

    def test_v1_keeps_everything(self) -> None:
        """v2 → v1 → v2 loses nothing; only the CPU metric moves to the end (reference VER-12)."""
        self.assertEqual(convert(convert(FULL, "autoscaling/v1"), "autoscaling/v2"), moved_cpu_last(FULL))

    def test_beta_versions_keep_everything(self) -> None:
        """Through v2beta1 and v2beta2 and back nothing is lost or moved."""
        for version in ("autoscaling/v2beta1", "autoscaling/v2beta2"):
            self.assertEqual(convert(convert(FULL, version), "autoscaling/v2"), FULL)

    def test_emission_order(self) -> None:
        """Round trips keep the order in which keys are written."""
        for version in ("autoscaling/v2beta1", "autoscaling/v2beta2"):
            self.assertEqual(orjson.dumps(convert(convert(FULL, version), "autoscaling/v2")), orjson.dumps(FULL))

    def test_v1_form(self) -> None:
        """v1 has the CPU percentage as a field and the rest in its four annotations."""
        out = convert(FULL, "autoscaling/v1")
        self.assertEqual(out["spec"]["targetCPUUtilizationPercentage"], 60)
        self.assertEqual(
            out["status"], {"currentReplicas": 0, "desiredReplicas": 2, "currentCPUUtilizationPercentage": 55}
        )
        self.assertNotIn("metrics", out["spec"])
        annotations = out["metadata"]["annotations"]
        names = ("behavior", "conditions", "current-metrics", "metrics")
        self.assertEqual(list(annotations), [f"autoscaling.alpha.orch.io/{name}" for name in names] + ["keep"])
        self.assertEqual(
            json.loads(annotations["autoscaling.alpha.orch.io/metrics"])[0],
            {"type": "Resource", "resource": {"name": "memory", "targetAverageValue": "1Gi"}},
        )
        self.assertEqual(
            json.loads(annotations["autoscaling.alpha.orch.io/behavior"]),
            {
                "ScaleUp": {"StabilizationWindowSeconds": 0, "SelectPolicy": "Max", "Policies": None},
                "ScaleDown": {
                    "StabilizationWindowSeconds": None,
                    "SelectPolicy": None,
                    "Policies": [{"Type": "Pods", "Value": 4, "PeriodSeconds": 15}],
                },
            },
        )

    def test_v1_to_v2(self) -> None:
        """v1's percentages become CPU metrics, 80 % when v1 says nothing at all (reference VER-12)."""
        out = convert(
            autoscaler(
                "v1",
                {"targetCPUUtilizationPercentage": 60},
                {"currentReplicas": 1, "desiredReplicas": 1, "currentCPUUtilizationPercentage": 50},
            ),
            "autoscaling/v2",
        )
        self.assertEqual(out["spec"]["metrics"], METRICS[:1])
        self.assertEqual(
            out["status"],
            {
                "currentReplicas": 1,
                "desiredReplicas": 1,
                "currentMetrics": [
                    {"type": "Resource", "resource": {"name": "cpu", "current": {"averageUtilization": 50}}}
                ],
            },
        )
        out = convert(autoscaler("v1", {}, {"currentReplicas": 0, "desiredReplicas": 0}), "autoscaling/v2")
        self.assertEqual(out["spec"]["metrics"][0]["resource"]["target"]["averageUtilization"], 80)
        self.assertEqual(out["status"], {"desiredReplicas": 0, "currentMetrics": None})

    def test_through_the_hub(self) -> None:
        """v1 and v2beta1 convert into each other by way of v2."""
        beta = convert(convert(FULL, "autoscaling/v1"), "autoscaling/v2beta1")
        self.assertEqual(beta["apiVersion"], "autoscaling/v2beta1")
        self.assertEqual(len(beta["spec"]["metrics"]), len(METRICS))
        self.assertEqual(list(beta["metadata"]["annotations"]), ["autoscaling.alpha.orch.io/behavior", "keep"])

    def test_unreadable_annotations(self) -> None:
        """A client's nonsense in the annotations is ignored, and dropped with the form that it belongs to."""
        nonsense: list[Any] = ["{", "[1]", '{"a":1}', '[{"type":5}]', '[{"type":"Pods","pods":[]}]']
        nonsense.append('[{"type":"Pods","pods":{"metricName":"m","targetAverageValue":"x","currentAverageValue":"y"}}]')
        for text in nonsense:
            names = ("metrics", "current-metrics", "conditions", "behavior")
            annotations = {f"autoscaling.alpha.orch.io/{name}": text for name in names}
            out = convert(autoscaler("v1", {"targetCPUUtilizationPercentage": 60}, {}, annotations), "autoscaling/v2")
            self.assertEqual(out["spec"]["metrics"], METRICS[:1], text)
            self.assertEqual(out["status"]["currentMetrics"], None)
            self.assertNotIn("annotations", out["metadata"])

    def test_annotated_selectors(self) -> None:
        """A selector in an annotation comes out canonical, or the annotation is ignored: no read fails on it."""
        codec = Codecs(Catalogue.load(NAMING)).kind("autoscaling/v2", "HorizontalPodAutoscaler")
        for selector, expected in (
            ({"foo": 1}, {}),
            ({"matchLabels": None, "matchExpressions": []}, {}),
            ({"matchLabels": {"b": "1", "a": None}}, {"matchLabels": {"a": "", "b": "1"}}),
            (
                {"matchExpressions": [{"extra": 2, "key": None, "operator": None, "values": None}]},
                {"matchExpressions": [{"key": "", "operator": ""}]},
            ),
            ({"matchExpressions": [{"key": "a", "operator": "In", "values": "abc"}]}, None),
            ({"matchExpressions": 0}, None),
            ({"matchLabels": []}, None),
            ([], None),
        ):
            metrics = json.dumps([{"type": "Pods", "pods": {"metricName": "m", "selector": selector}}])
            given = autoscaler("v1", {}, {}, {"autoscaling.alpha.orch.io/metrics": metrics})
            out = convert(given, "autoscaling/v2")
            self.assertEqual(codec.decode_protobuf(codec.encode_protobuf(out)), out, selector)
            found = out["spec"]["metrics"][0].get("pods", {}).get("metric", {}).get("selector")
            self.assertEqual(found, expected, selector)

    def test_vocabulary(self) -> None:
        """The annotations are those of the served vocabulary."""
        out = convert(FULL, "autoscaling/v1", Naming.kubernetes())
        self.assertIn("autoscaling.alpha.kubernetes.io/metrics", out["metadata"]["annotations"])


def endpoint_slice(version: str, **endpoint: Any) -> Object:
    return {
        "kind": "EndpointSlice",
        "apiVersion": f"discovery.orch.io/{version}",
        "metadata": META,
        "addressType": "IPv4",
        "endpoints": [{"addresses": ["10.0.0.1"], "conditions": {}, **endpoint}],
        "ports": None,
    }


class EndpointSliceTests(SynchronousTestCase):
    """Conversions of EndpointSlices between versions."""

    def test_pairs(self) -> None:
        """The topology map and the fields for node and zone say the same both ways (reference VER-13)."""
        zone, host = "topology.orch.io/zone", "orch.io/hostname"
        cases: list[tuple[Object, Object]] = [
            ({}, {}),
            ({"topology": {host: "n", zone: "z"}, "nodeName": "n"}, {"nodeName": "n", "zone": "z"}),
            (
                {"topology": {"ex.io/rack": "r", host: "other"}, "nodeName": "n"},
                {"deprecatedTopology": {"ex.io/rack": "r", host: "other"}, "nodeName": "n"},
            ),
            ({"topology": {host: "n"}}, {"deprecatedTopology": {host: "n"}}),
        ]
        for old, new in cases:
            beta, stable = endpoint_slice("v1beta1", **old), endpoint_slice("v1", **new)
            self.assertEqual(orjson.dumps(convert(beta, "discovery.orch.io/v1")), orjson.dumps(stable))
            self.assertEqual(orjson.dumps(convert(stable, "discovery.orch.io/v1beta1")), orjson.dumps(beta))

    def test_host_name_is_added(self) -> None:
        """A v1 node name shows as the host name in v1beta1."""
        out = convert(endpoint_slice("v1", nodeName="n"), "discovery.orch.io/v1beta1")
        self.assertEqual(out["endpoints"][0]["topology"], {"orch.io/hostname": "n"})

    def test_no_endpoints(self) -> None:
        """A slice without endpoints converts."""
        empty = {**endpoint_slice("v1"), "endpoints": None}
        self.assertEqual(convert(empty, "discovery.orch.io/v1beta1")["endpoints"], None)


CORE_EVENT: Object = {
    "kind": "Event",
    "apiVersion": "v1",
    "metadata": META,
    "involvedObject": {"kind": "Pod", "name": "p"},
    "reason": "Started",
    "message": "text",
    "source": {"component": "agent", "host": "n"},
    "firstTimestamp": "2024-01-01T00:00:00Z",
    "lastTimestamp": None,
    "count": 3,
    "type": "Normal",
    "eventTime": None,
    "series": {"count": 2, "lastObservedTime": None},
    "action": "Start",
    "related": {"kind": "Node"},
    "reportingComponent": "agent",
    "reportingInstance": "n",
}
NEW_EVENT: Object = {
    "kind": "Event",
    "apiVersion": "events.orch.io/v1",
    "metadata": META,
    "eventTime": None,
    "series": {"count": 2, "lastObservedTime": None},
    "reportingController": "agent",
    "reportingInstance": "n",
    "action": "Start",
    "reason": "Started",
    "regarding": {"kind": "Pod", "name": "p"},
    "related": {"kind": "Node"},
    "note": "text",
    "type": "Normal",
    "deprecatedSource": {"component": "agent", "host": "n"},
    "deprecatedFirstTimestamp": "2024-01-01T00:00:00Z",
    "deprecatedLastTimestamp": None,
    "deprecatedCount": 3,
}


class EventTests(SynchronousTestCase):
    """Events through both of their groups."""

    def test_pair(self) -> None:
        """Every field has its counterpart, in each form's own order (reference VER-14)."""
        self.assertEqual(orjson.dumps(convert(CORE_EVENT, "events.orch.io/v1")), orjson.dumps(NEW_EVENT))
        self.assertEqual(orjson.dumps(convert(NEW_EVENT, "v1")), orjson.dumps(CORE_EVENT))

    def test_v1beta1(self) -> None:
        """events/v1beta1 has the fields of v1."""
        beta = {**NEW_EVENT, "apiVersion": "events.orch.io/v1beta1"}
        self.assertEqual(convert(CORE_EVENT, "events.orch.io/v1beta1"), beta)
        self.assertEqual(convert(beta, "v1"), CORE_EVENT)
        self.assertEqual(convert(beta, "events.orch.io/v1"), NEW_EVENT)

    def test_least(self) -> None:
        """An event without optional parts keeps what each form always writes."""
        core = convert({**{key: NEW_EVENT[key] for key in ("kind", "apiVersion", "metadata")}}, "v1")
        self.assertEqual(
            list(core),
            ["kind", "apiVersion", "metadata", "involvedObject", "source", "firstTimestamp", "lastTimestamp"]
            + ["eventTime", "reportingComponent", "reportingInstance"],
        )

    def test_vocabulary(self) -> None:
        """The group is that of the served vocabulary."""
        out = convert(CORE_EVENT, "events.k8s.io/v1", Naming.kubernetes())
        self.assertEqual(out, {**NEW_EVENT, "apiVersion": "events.k8s.io/v1"})


def budget(version: str, **spec: Any) -> Object:
    kind, api_version = "PodDisruptionBudget", f"policy/{version}"
    return {"kind": kind, "apiVersion": api_version, "metadata": META, "spec": spec, "status": {}}


def marker(operator: str) -> Object:
    key = "pdb.orch.io/deprecated-v1beta1-empty-selector-match"
    return {"matchExpressions": [{"key": key, "operator": operator}]}


class BudgetTests(SynchronousTestCase):
    """Conversions of PodDisruptionBudgets between versions."""

    def test_pairs(self) -> None:
        """`{}` means nothing in v1beta1 and everything in v1; each has a way to say the other (reference VER-15)."""
        cases: list[tuple[Object, Object]] = [
            ({}, {}),
            ({"selector": {}}, {"selector": marker("Exists")}),
            ({"selector": marker("DoesNotExist")}, {"selector": {}}),
            ({"selector": SELECTOR}, {"selector": SELECTOR}),
        ]
        for old, new in cases:
            self.assertEqual(convert(budget("v1beta1", **old), "policy/v1"), budget("v1", **new))
            self.assertEqual(convert(budget("v1", **new), "policy/v1beta1"), budget("v1beta1", **old))

    def test_marker_beside_others(self) -> None:
        """Beside other requirements the marker says nothing and goes."""
        mixed = budget("v1beta1", selector={**SELECTOR, **marker("Exists")})
        self.assertEqual(convert(mixed, "policy/v1"), budget("v1", selector=SELECTOR))


class IdentityTests(SynchronousTestCase):
    """Kinds whose versions have the same fields."""

    def test_only_the_version_changes(self) -> None:
        """A kind without conversions keeps every field (reference VER-11)."""
        for kind, source, target in [
            ("CronJob", "batch/v1beta1", "batch/v1"),
            ("CSIStorageCapacity", "storage.orch.io/v1", "storage.orch.io/v1beta1"),
            ("RuntimeClass", "node.orch.io/v1beta1", "node.orch.io/v1"),
            ("FlowSchema", "flowcontrol.apiserver.orch.io/v1beta1", "flowcontrol.apiserver.orch.io/v1beta2"),
        ]:
            obj = {"kind": kind, "apiVersion": source, "metadata": META, "spec": {"a": 1}}
            self.assertEqual(convert(obj, target), {**obj, "apiVersion": target})
            self.assertEqual(list(convert(obj, target)), list(obj))

    def test_every_way_has_one_back(self) -> None:
        """Each registered conversion can be undone."""
        for conversions in CONVERSIONS.values():
            for source, target in conversions.functions:
                self.assertIn((target, source), conversions.functions)
