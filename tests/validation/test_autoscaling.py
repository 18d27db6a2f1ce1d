"""Horizontal pod autoscalers (reference KIND-64, VER-12)."""
# covers: orchtw.registry.groups.autoscaling.metric_validation
# covers: orchtw.registry.groups.autoscaling.validation

from __future__ import annotations

from typing import Any

import orjson

from orchtw.naming.naming import Naming
from orchtw.registry.groups.autoscaling.validation import validate_sent_autoscaler
from orchtw.registry.traits import Sent
from orchtw.wire.objects import Object
from tests.registry.groups.test_defaults import codec_and_strategy, resource_of
from tests.validation import case
from tests.validation.examples import GONE, Accepted, Base, Example, Refused, Shown, Stored
from tests.validation.workloads import negative

SCALERS = "/apis/autoscaling/{}/namespaces/default/horizontalpodautoscalers"
NAMING = Naming.orch()
SPEC: Object = {"scaleTargetRef": {"kind": "Deployment", "name": "a"}, "maxReplicas": 3}
SCALER: Object = {
    "apiVersion": "autoscaling/v2",
    "kind": "HorizontalPodAutoscaler",
    "metadata": {"name": "a"},
    "spec": SPEC,
}
VALUE = {"type": "Value", "value": "5"}
USE = {"type": "Utilization", "averageUtilization": 50}
METRIC = {"name": "m"}
OBJECT = {
    "type": "Object",
    "object": {"describedObject": {"kind": "K", "name": "n"}, "metric": METRIC, "target": VALUE},
}
EXTERNAL = {"type": "External", "external": {"metric": METRIC, "target": VALUE}}
PODS: Object = {"type": "Pods", "pods": {"metric": METRIC, "target": {"type": "AverageValue", "averageValue": "5"}}}
RESOURCE = {"type": "Resource", "resource": {"name": "cpu", "target": USE}}
CONTAINER = {"type": "ContainerResource", "containerResource": {"name": "cpu", "container": "c", "target": USE}}
SOURCES = {"object": OBJECT, "external": EXTERNAL, "pods": PODS, "resource": RESOURCE}
POLICY = {"type": "Pods", "value": 4, "periodSeconds": 60}
METRICS, FIRST = "spec.metrics", "spec.metrics[0]"
UP, DOWN = "spec.behavior.scaleUp", "spec.behavior.scaleDown"
ANNOTATIONS = "metadata.annotations"
KEPT = "autoscaling.alpha.orch.io/"


def of_metric(source: str, path: str, value: Any, accepted: Any = GONE, **more: Any) -> Refused:
    """The metric of a source without what lies at a path of it, or with another value; `accepted` in its place."""
    given, field = {METRICS: [SOURCES[source]]}, f"{FIRST}.{source}.{path}"
    accepts = given if accepted is GONE else {**given, field: accepted}
    return Refused(change={**given, field: value}, accepts=accepts, **{"field": field, **more})


def both_ways(key: str, value: Any, accepted: Any, field: str = "", **more: Any) -> list[Example]:
    """The same rule for both directions."""
    examples: list[Example] = []
    for way in (UP, DOWN):
        at = f"{way}.{field or key}"
        change, accepts = {f"{way}.{key}": value}, {f"{way}.{key}": accepted}
        examples.append(Refused(change=change, accepts=accepts, field=at, **more))
    return examples


class AutoscalingTests(case.EntryCase):
    file = "autoscaling.json"
    bases = {"HorizontalPodAutoscaler": Base(path=SCALERS.format("v2"), obj=SCALER)}
    examples = {
        0: Refused(change={"spec.minReplicas": 0}, accepts={"spec.minReplicas": 1}),
        1: Shown(f"{__name__}.AutoscalingTests.test_scaled_to_zero"),
        2: Refused(change={"spec.maxReplicas": 0, "spec.minReplicas": GONE}),
        3: Refused(
            change={"spec.maxReplicas": 3, "spec.minReplicas": 4},
            accepts={"spec.maxReplicas": 4, "spec.minReplicas": 4},
        ),
        4: Refused(change={"spec.scaleTargetRef.kind": ""}),
        5: Refused(change={"spec.scaleTargetRef.kind": "a/b"}),
        6: Refused(change={"spec.scaleTargetRef.name": ""}),
        7: Refused(change={"spec.scaleTargetRef.name": ".."}),
        8: Accepted(change={"spec.scaleTargetRef.apiVersion": "a//b$"}),
        9: Refused(change={"spec.minReplicas": 0}),
        10: Refused(change={METRICS: [{"resource": RESOURCE["resource"]}]}),
        11: Refused(change={METRICS: [{**RESOURCE, "type": "Weather"}]}),
        12: [
            Refused(
                change={METRICS: [{"type": type_}]},
                accepts={METRICS: [SOURCES[type_.lower()]]},
                field=f"{FIRST}.{type_.lower()}",
            )
            for type_ in ("Object", "External", "Pods", "Resource")
        ],  # fmt: skip
        13: Refused(change={METRICS: [{**RESOURCE, **PODS}]}, field=f"{FIRST}.resource"),
        14: Refused(change={METRICS: [CONTAINER]}),
        15: [
            of_metric("object", "describedObject.kind", ""),
            Shown(f"{__name__}.AutoscalingTests.test_references"),
        ],
        16: of_metric("object", "describedObject.name", ""),
        17: of_metric("object", "metric.name", ""),
        18: of_metric("object", "metric.name", "a%b", "a b"),
        19: of_metric(
            "object",
            "target",
            {"type": "Value"},
            {"type": "Value", "averageValue": "1"},
            field=f"{FIRST}.object.target.averageValue",
        ),
        20: of_metric("external", "metric.name", ""),
        21: of_metric(
            "external",
            "target",
            {"type": "Value"},
            {"type": "Value", "averageValue": "1"},
            field=f"{FIRST}.external.target.averageValue",
        ),
        22: of_metric(
            "external",
            "target",
            {"type": "Value", "value": "1", "averageValue": "1"},
            field=f"{FIRST}.external.target.value",
        ),
        23: of_metric("pods", "metric.name", ""),
        24: [of_metric("pods", "target.averageValue", value) for value in (GONE, "0", "-1")],
        25: of_metric("resource", "name", ""),
        26: of_metric("resource", "target.averageUtilization", GONE),
        27: of_metric("resource", "target.averageValue", "5"),
        28: Shown(f"{__name__}.AutoscalingTests.test_metrics_of_containers"),
        29: Shown(f"{__name__}.AutoscalingTests.test_metrics_of_containers"),
        30: Shown(f"{__name__}.AutoscalingTests.test_metrics_of_containers"),
        31: Shown(f"{__name__}.AutoscalingTests.test_metrics_of_containers"),
        32: [of_metric(source, "target.type", "") for source in SOURCES],
        33: of_metric("resource", "target.type", "Mean", "Value"),
        34: of_metric("object", "target.value", "0", "1m"),
        35: of_metric(
            "external",
            "target",
            {"type": "Value", "averageValue": "-1k"},
            field=f"{FIRST}.external.target.averageValue",
        ),
        36: of_metric("resource", "target.averageUtilization", 0, 1),
        37: Accepted(
            change={
                METRICS: [
                    {
                        "type": "Pods",
                        "pods": {
                            **PODS["pods"],
                            "metric": {
                                "name": "m",
                                "selector": {"matchExpressions": [{"key": "a b", "operator": "Like"}]},
                            },
                        },
                    }
                ]
            }
        ),
        38: [
            *both_ways("stabilizationWindowSeconds", -1, 0, detail="must be greater than or equal to zero"),
            *both_ways("stabilizationWindowSeconds", 3601, 3600, detail="must be less than or equal to 3600"),
        ],
        39: both_ways("selectPolicy", "Mean", "Disabled"),
        40: [
            Shown(f"{__name__}.AutoscalingTests.test_no_policies"),
            *[
                Stored(
                    change={f"{way}.policies": []},
                    expected={f"{way}.policies[0].periodSeconds": 15},
                )
                for way in (UP, DOWN)
            ],
        ],
        41: both_ways("policies", [{**POLICY, "type": "Nodes"}], [POLICY], "policies[0].type"),
        42: both_ways("policies", [{**POLICY, "value": 0}], [POLICY], "policies[0].value"),
        43: [
            *both_ways(
                "policies",
                [{**POLICY, "periodSeconds": 0}],
                [POLICY],
                "policies[0].periodSeconds",
                detail="must be greater than zero",
            ),
            *both_ways(
                "policies",
                [{**POLICY, "periodSeconds": 1801}],
                [{**POLICY, "periodSeconds": 1800}],
                "policies[0].periodSeconds",
                detail="must be less than or equal to 1800",
            ),
        ],
        44: negative("status.currentReplicas", "status.desiredReplicas"),
        45: Stored(change={"status.desiredReplicas": 5}, expected={"status.desiredReplicas": 0}),
        46: Stored(change={"status.desiredReplicas": 5}, expected={"status.desiredReplicas": 0}),
        47: Stored(
            change={"spec.maxReplicas": 9, "status.desiredReplicas": 5},
            expected={"spec.maxReplicas": 3, "status.desiredReplicas": 5},
        ),
        48: Stored(expected={"metadata.generation": GONE}),
        49: Stored(
            change={METRICS: [{**RESOURCE, "containerResource": CONTAINER["containerResource"]}]},
            expected={f"{FIRST}.containerResource": GONE, f"{FIRST}.resource": RESOURCE["resource"]},
        ),
        50: Shown(f"{__name__}.AutoscalingTests.test_what_v1_cannot_hold"),
        51: Shown(f"{__name__}.AutoscalingTests.test_annotations_of_v1"),
        52: Shown(f"{__name__}.AutoscalingTests.test_older_versions"),
    }

    def refused(self, spec: Object, old: Object | None = None) -> dict[str, str]:
        """Messages of the causes by field, for specs of autoscaling/v2."""
        new, before = (each and {**SCALER, "spec": {**SPEC, **each}} for each in (spec, old))
        sent = Sent(new or {}, resource_of("autoscaling/v2", "HorizontalPodAutoscaler"))
        causes = validate_sent_autoscaler(sent.obj, before, sent, NAMING)
        return {cause.field: cause.message for cause in causes}

    def test_scaled_to_zero(self) -> None:
        """An autoscaler that was stored with no replicas keeps them, as long as something can be measured then."""
        zero = {"minReplicas": 0, "metrics": [EXTERNAL]}
        self.assertEqual(list(self.refused(zero)), ["spec.minReplicas"])
        self.assertEqual(self.refused(zero, {"minReplicas": 0}), {})
        text = "Forbidden: must specify at least one Object or External metric to support scaling to zero replicas"
        self.assertEqual(self.refused({"minReplicas": 0, "metrics": [PODS]}, zero), {"spec.metrics": text})
        text = "Invalid value: -1: must be greater than or equal to 0"
        self.assertEqual(self.refused({**zero, "minReplicas": -1}, zero), {"spec.minReplicas": text})

    def test_references(self) -> None:
        """Kind and name of what is measured can stand in a path."""
        odd = {**OBJECT, "object": {**OBJECT["object"], "describedObject": {"kind": "a/b", "name": ".."}}}  # type: ignore[dict-item]
        at = f"{FIRST}.object.describedObject"
        self.assertEqual(
            self.refused({"metrics": [odd]}),
            {
                f"{at}.kind": "Invalid value: \"a/b\": may not contain '/'",
                f"{at}.name": "Invalid value: \"..\": may not be '..'",
            },
        )

    def test_no_policies(self) -> None:
        """Rules without a policy say nothing."""
        refused = self.refused({"behavior": {"scaleUp": {"policies": []}, "scaleDown": {}}})
        text = "Required value: must specify at least one Policy"
        self.assertEqual(refused, {f"{UP}.policies": text, f"{DOWN}.policies": text})

    def test_metrics_of_containers(self) -> None:
        """Where one is stored already, they are as those of resources, with the name of a container."""
        before = {"metrics": [CONTAINER]}
        self.assertEqual(self.refused(before, before), {})
        at = f"{FIRST}.containerResource"
        none = {"type": "ContainerResource", "containerResource": {"target": {"type": "Value"}}}
        self.assertEqual(
            self.refused({"metrics": [none]}, before),
            {
                f"{at}.name": "Required value: must specify a resource name",
                f"{at}.container": "Required value: must specify a container",
                f"{at}.target.averageUtilization": (
                    "Required value: must set either a target raw value or a target utilization"
                ),
            },
        )
        odd = {**CONTAINER, "containerResource": {**CONTAINER["containerResource"], "container": "A"}}  # type: ignore[dict-item]
        self.assertEqual(list(self.refused({"metrics": [odd]}, before)), [f"{at}.container"])
        missing = "Required value: must populate information for the given metric source"
        self.assertEqual(self.refused({"metrics": [{"type": "ContainerResource"}]}, before), {at: missing})

    def test_stored_metrics_of_containers(self) -> None:
        """An update drops them unless the stored object has one."""
        _, strategy = codec_and_strategy("autoscaling/v1", "HorizontalPodAutoscaler")
        flat = {"type": "ContainerResource", "containerResource": {"name": "cpu", "container": "c"}}
        for before, expected in (([], [{"type": "ContainerResource"}]), ([flat], [flat])):
            pair: list[Object] = [
                {
                    "apiVersion": "autoscaling/v1",
                    "metadata": {"annotations": {f"{KEPT}metrics": orjson.dumps(metrics).decode()}},
                    "spec": SPEC,
                }
                for metrics in (before, [flat])
            ]
            old, new = pair
            strategy.prepare_for_update(new, old)
            self.assertEqual(orjson.loads(new["metadata"]["annotations"][f"{KEPT}metrics"]), expected)

    def test_annotations_of_v1(self) -> None:
        """Annotations of v1 are fields of v2, and no annotations there."""
        metrics = orjson.dumps([{"type": "Pods", "pods": {"metricName": "m", "targetAverageValue": "5"}}]).decode()
        meta = {"name": "b", "annotations": {f"{KEPT}metrics": metrics, "c": "d"}}
        self.done("POST", SCALERS.format("v1"), {**SCALER, "apiVersion": "autoscaling/v1", "metadata": meta})
        shown = self.done("GET", f"{SCALERS.format('v2')}/b")
        self.assertEqual((shown["metadata"]["annotations"], shown["spec"]["metrics"]), ({"c": "d"}, [PODS]))
        given = {"name": "c", "annotations": {f"{KEPT}metrics": metrics}}
        shown = self.done("POST", SCALERS.format("v2"), {**SCALER, "metadata": given})
        self.assertNotIn("annotations", shown["metadata"])
        self.assertEqual([metric["type"] for metric in shown["spec"]["metrics"]], ["Resource"])

    def test_what_v1_cannot_hold(self) -> None:
        """Metrics, behavior and what is observed of them are in annotations of v1, and come back from there."""
        spec = {**SPEC, "metrics": [EXTERNAL], "behavior": {"scaleUp": {"policies": [POLICY]}}}
        live = self.done("POST", SCALERS.format("v2"), {**SCALER, "metadata": {"name": "d"}, "spec": spec})
        condition = {"type": "AbleToScale", "status": "True", "lastTransitionTime": None}
        current = {"type": "Resource", "resource": {"name": "cpu", "current": {"averageValue": "5"}}}
        live["status"] = {"desiredReplicas": 1, "currentMetrics": [current], "conditions": [condition]}
        live = self.done("PUT", f"{SCALERS.format('v2')}/d/status", live)
        shown = self.done("GET", f"{SCALERS.format('v1')}/d")
        keys = {f"{KEPT}{key}" for key in ("metrics", "current-metrics", "conditions", "behavior")}
        self.assertEqual(set(shown["metadata"]["annotations"]), keys)
        shown["spec"]["maxReplicas"] = 5
        self.done("PUT", f"{SCALERS.format('v1')}/d", shown)
        again = self.done("GET", f"{SCALERS.format('v2')}/d")
        self.assertEqual((again["spec"], again["status"]), ({**live["spec"], "maxReplicas": 5}, live["status"]))

    def test_causes_of_older_versions(self) -> None:
        """They tell the fields of v2, whatever was sent."""
        percentage = {**SPEC, "targetCPUUtilizationPercentage": 0}
        answer = self.send(
            "POST", SCALERS.format("v1"), {**SCALER, "apiVersion": "autoscaling/v1", "spec": percentage}
        )
        (cause,) = answer.json["details"]["causes"]
        self.assertEqual(cause["field"], f"{FIRST}.resource.target.averageUtilization")

    def test_older_versions(self) -> None:
        """The beta versions are deprecated."""
        for version, since, until in (("v2beta1", "1.22", "1.25"), ("v2beta2", "1.23", "1.26")):
            path = SCALERS.format(version)
            answer = self.send(
                "POST", path, {**SCALER, "apiVersion": f"autoscaling/{version}", "metadata": {"name": version}}
            )
            text = f"deprecated in v{since}+, unavailable in v{until}+; use autoscaling/v2 HorizontalPodAutoscaler"
            self.assertIn(text, answer.headers["warning"])
