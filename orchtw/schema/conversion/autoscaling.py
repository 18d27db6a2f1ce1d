"""HorizontalPodAutoscaler in its four versions; annotations hold what an older one lacks (reference VER-12).

The annotations belong to the older form only: conversion to it writes them, conversion from it reads and drops them.
An unreadable one is ignored.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import orjson

from orchtw.naming.naming import Naming
from orchtw.schema.codec.mismatch import Mismatch
from orchtw.schema.conversion.autoscaling_metrics import flat_spec, flat_status, nested_spec, nested_status
from orchtw.schema.conversion.convert import Conversions
from orchtw.schema.values import int32_value, string_value, time_value
from orchtw.values.quantity import Quantity
from orchtw.wire.json_values import loads
from orchtw.wire.objects import Object

_PREFIX = "autoscaling.alpha.orch.io/"
METRICS = _PREFIX + "metrics"
CURRENT_METRICS = _PREFIX + "current-metrics"
CONDITIONS = _PREFIX + "conditions"
BEHAVIOR = _PREFIX + "behavior"
_ROUND_TRIP = (METRICS, CURRENT_METRICS, CONDITIONS, BEHAVIOR)

DEFAULT_CPU_UTILIZATION = 80  # percent, when a v1 object has no metric at all


def autoscaler_v1_to_v2(obj: Object, naming: Naming) -> Object:
    """Convert v1's one CPU percentage and its annotations to lists."""
    spec, status, meta = obj.get("spec", {}), obj.get("status", {}), obj["metadata"]
    metrics = _from_annotation(meta, METRICS, naming, _each(nested_spec)) or []
    percentage = spec.get("targetCPUUtilizationPercentage")
    if percentage is not None:
        metrics = [*metrics, _cpu_target(percentage)]
    behavior = _from_annotation(meta, BEHAVIOR, naming, _behavior_from_go)
    current = _from_annotation(meta, CURRENT_METRICS, naming, _each(nested_status))
    conditions = _from_annotation(meta, CONDITIONS, naming, _each(_condition))
    if not current and (percentage := status.get("currentCPUUtilizationPercentage")) is not None:
        current = [_cpu_current(percentage)]
    new_spec = _without(spec, "targetCPUUtilizationPercentage")
    new_spec["metrics"] = metrics or [_cpu_target(DEFAULT_CPU_UTILIZATION)]
    _put(new_spec, behavior=behavior)
    new_status = _v2_status({**status, "conditions": conditions}, current)
    return {**obj, "metadata": _dropped(meta, naming), "spec": new_spec, "status": new_status}


def autoscaler_v2_to_v1(obj: Object, naming: Naming) -> Object:
    """Convert the first CPU utilization to v1's percentage, and everything else to annotations."""
    spec, status = obj.get("spec", {}), obj.get("status", {})
    metrics, current = spec.get("metrics") or [], status.get("currentMetrics") or []
    others = [flat_spec(metric) for metric in metrics if _cpu_utilization(metric, "target") is None]
    kept = {
        METRICS: others,
        CURRENT_METRICS: [flat_status(metric) for metric in current],
        CONDITIONS: status.get("conditions"),
        BEHAVIOR: _behavior_to_go(spec["behavior"]) if spec.get("behavior") is not None else None,
    }
    new_spec = _without(spec, "metrics", "behavior")
    _put(new_spec, targetCPUUtilizationPercentage=_first(metrics, "target"))
    new_status = _v1_status(status)
    _put(new_status, currentCPUUtilizationPercentage=_first(current, "current"))
    meta = _annotated(obj["metadata"], kept, naming)
    return {**obj, "metadata": meta, "spec": new_spec, "status": new_status}


def autoscaler_v2beta1_to_v2(obj: Object, naming: Naming) -> Object:
    """Convert flat metrics to nested ones, and take the behavior out of its annotation."""
    spec, status, meta = dict(obj.get("spec", {})), obj.get("status", {}), obj["metadata"]
    if metrics := spec.get("metrics"):
        spec["metrics"] = [nested_spec(metric) for metric in metrics]
    _put(spec, behavior=_from_annotation(meta, BEHAVIOR, naming, _behavior_from_go))
    current = [nested_status(metric) for metric in status.get("currentMetrics") or ()]
    new_status = _v2_status(status, current)
    return {**obj, "metadata": _dropped(meta, naming), "spec": spec, "status": new_status}


def autoscaler_v2_to_v2beta1(obj: Object, naming: Naming) -> Object:
    """Convert nested metrics to flat ones, and put the behavior into its annotation."""
    spec = _without(obj.get("spec", {}), "behavior")
    if metrics := spec.get("metrics"):
        spec["metrics"] = [flat_spec(metric) for metric in metrics]
    behavior = obj.get("spec", {}).get("behavior")
    kept = {BEHAVIOR: _behavior_to_go(behavior) if behavior is not None else None}
    status = obj.get("status", {})
    current = [flat_status(metric) for metric in status.get("currentMetrics") or ()]
    new_status = _beta_status(status, current)
    return {**obj, "metadata": _annotated(obj["metadata"], kept, naming), "spec": spec, "status": new_status}


def autoscaler_v2beta2_to_v2(obj: Object, naming: Naming) -> Object:
    """Leave out the zeros that v2beta2 writes; the fields are the same."""
    status = obj.get("status", {})
    return {**obj, "status": _v2_status(status, status.get("currentMetrics"))}


def autoscaler_v2_to_v2beta2(obj: Object, naming: Naming) -> Object:
    """Write the zeros that v2 leaves out; the fields are the same, but for the tolerance of rules."""
    status, spec = obj.get("status", {}), obj.get("spec") or {}
    if behavior := spec.get("behavior"):
        rules = {key: part and _without(part, "tolerance") for key, part in behavior.items()}
        obj = {**obj, "spec": {**spec, "behavior": rules}}
    return {**obj, "status": _beta_status(status, status.get("currentMetrics"))}


def _v1_status(status: Object) -> Object:
    times: Object = {key: status[key] for key in ("observedGeneration", "lastScaleTime") if key in status}
    replicas = {key: status.get(key, 0) for key in ("currentReplicas", "desiredReplicas")}
    return {**times, **replicas}


def _v2_status(status: Object, current: list[Object] | None) -> Object:
    out = _v1_status(status)
    if not out["currentReplicas"]:
        del out["currentReplicas"]
    out["currentMetrics"] = current or None
    _put(out, conditions=status.get("conditions") or None)
    return out


def _beta_status(status: Object, current: list[Object] | None) -> Object:
    return {**_v1_status(status), "currentMetrics": current or None, "conditions": status.get("conditions") or None}


def _put(into: Object, **values: Any) -> None:
    into.update((key, value) for key, value in values.items() if value is not None)


def _without(part: Mapping[str, Any], *keys: str) -> Object:
    return {key: value for key, value in part.items() if key not in keys}


def _cpu_target(percentage: int) -> Object:
    target = {"type": "Utilization", "averageUtilization": percentage}
    return {"type": "Resource", "resource": {"name": "cpu", "target": target}}


def _cpu_current(percentage: int) -> Object:
    return {"type": "Resource", "resource": {"name": "cpu", "current": {"averageUtilization": percentage}}}


def _cpu_utilization(metric: Object, part: str) -> int | None:
    """Return the percentage of a metric that is the CPU's utilization, else None."""
    resource = metric.get("resource")
    if metric["type"] != "Resource" or not resource or resource.get("name") != "cpu":
        return None
    utilization: int | None = resource.get(part, {}).get("averageUtilization")
    return utilization


def _first(metrics: list[Object], part: str) -> int | None:
    percentages = (_cpu_utilization(metric, part) for metric in metrics)
    return next((percentage for percentage in percentages if percentage is not None), None)


# Annotations ----------------------------------------------------------------------------------------------------


def _dropped(meta: Object, naming: Naming) -> Object:
    """Return `meta` without the annotations of the older forms."""
    return _annotated(meta, {}, naming)


def _annotated(meta: Object, kept: Mapping[str, Any], naming: Naming) -> Object:
    """Return `meta` with exactly the annotations of the older forms whose values in `kept` are not empty."""
    before = meta.get("annotations") or {}
    mine = {naming.translate(key) for key in _ROUND_TRIP}
    after = {key: value for key, value in before.items() if key not in mine}
    for key, value in kept.items():
        if value:
            after[naming.translate(key)] = orjson.dumps(value).decode()
    if after == before:
        return meta
    return _with_annotations(meta, dict(sorted(after.items())))


def _with_annotations(meta: Object, annotations: Mapping[str, str]) -> Object:
    """Return `meta` with its annotations replaced, at their place in the emission order."""
    if "annotations" in meta:
        out = {**meta, "annotations": annotations}
        return out if annotations else _without(out, "annotations")
    out = {}
    for key, value in meta.items():
        if key in ("ownerReferences", "finalizers", "managedFields"):
            out.setdefault("annotations", annotations)
        out[key] = value
    out.setdefault("annotations", annotations)
    return out


def _from_annotation(meta: Object, key: str, naming: Naming, read: Callable[[Any], Any]) -> Any:
    """Return the value of an annotation, or None when it is absent or unreadable."""
    text = (meta.get("annotations") or {}).get(naming.translate(key))
    if text is None:
        return None
    try:
        return read(loads(text))
    except (ValueError, TypeError, AttributeError):
        return None


def _each(read: Callable[[Any], Object]) -> Callable[[Any], list[Object]]:
    def read_all(values: Any) -> list[Object]:
        if not isinstance(values, list):
            raise Mismatch("a list", values)
        return [read(value) for value in values]

    return read_all


def _condition(value: Mapping[str, Any]) -> Object:
    """Check a condition of an annotation, and return it in canonical form."""
    out: Object = {"type": string_value(value.get("type", "")), "status": string_value(value.get("status", ""))}
    time = value.get("lastTransitionTime")
    out["lastTransitionTime"] = None if time is None else time_value(time)
    out.update((key, string_value(value[key])) for key in ("reason", "message") if value.get(key))
    return out


def _behavior_to_go(behavior: Object) -> Object:
    """Return the behavior under Go's field names, as the annotation holds it."""
    return {name: _rules_to_go(behavior.get(key)) for key, name in _DIRECTIONS.items()}


def _rules_to_go(rules: Object | None) -> Object | None:
    if rules is None:
        return None
    policies, tolerance = rules.get("policies"), rules.get("tolerance")
    return {
        "StabilizationWindowSeconds": rules.get("stabilizationWindowSeconds"),
        "SelectPolicy": rules.get("selectPolicy"),
        "Policies": policies and [{name: policy[key] for key, name in _POLICY.items()} for policy in policies],
        **({} if tolerance is None else {"Tolerance": tolerance}),
    }


def _behavior_from_go(value: Mapping[str, Any]) -> Object:
    rules = {key: _rules_from_go(value.get(name)) for key, name in _DIRECTIONS.items()}
    return {key: part for key, part in rules.items() if part is not None}


def _rules_from_go(value: Mapping[str, Any] | None) -> Object | None:
    if value is None:
        return None
    out: Object = {}
    if (window := value.get("StabilizationWindowSeconds")) is not None:
        out["stabilizationWindowSeconds"] = int32_value(window)
    if (select := value.get("SelectPolicy")) is not None:
        out["selectPolicy"] = string_value(select)
    if policies := value.get("Policies"):
        out["policies"] = [_policy_from_go(policy) for policy in policies]
    if (tolerance := value.get("Tolerance")) is not None:
        out["tolerance"] = Quantity.parse(string_value(tolerance)).canonical()
    return out


def _policy_from_go(value: Mapping[str, Any]) -> Object:
    return {
        "type": string_value(value.get("Type", "")),
        "value": int32_value(value.get("Value", 0)),
        "periodSeconds": int32_value(value.get("PeriodSeconds", 0)),
    }


_DIRECTIONS = {"scaleUp": "ScaleUp", "scaleDown": "ScaleDown"}
_POLICY = {"type": "Type", "value": "Value", "periodSeconds": "PeriodSeconds"}


AUTOSCALER_HUB = "autoscaling/v2"

AUTOSCALER_CONVERSIONS = Conversions(
    {
        ("autoscaling/v1", "autoscaling/v2"): autoscaler_v1_to_v2,
        ("autoscaling/v2", "autoscaling/v1"): autoscaler_v2_to_v1,
        ("autoscaling/v2beta1", "autoscaling/v2"): autoscaler_v2beta1_to_v2,
        ("autoscaling/v2", "autoscaling/v2beta1"): autoscaler_v2_to_v2beta1,
        ("autoscaling/v2beta2", "autoscaling/v2"): autoscaler_v2beta2_to_v2,
        ("autoscaling/v2", "autoscaling/v2beta2"): autoscaler_v2_to_v2beta2,
    },
    hub=AUTOSCALER_HUB,
)
