"""Metrics of HorizontalPodAutoscalers: the nested form of v2 and the flat one of v2beta1 and v1's annotations.

Each function takes one metric in one form and returns it in the other, with keys in emission order. Values from
annotations come through here too, so every scalar is checked: a wrong type raises Mismatch.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from orchtw.schema.codec.mismatch import Mismatch
from orchtw.schema.values import int32_value, quantity_value, string_map_value, string_value, strings_value

Metric = dict[str, Any]
Read = Mapping[str, Any]
Part = Callable[[Read], Metric]


def nested_spec(flat: Read) -> Metric:
    """Convert a metric of a spec to v2's form."""
    return _metric(flat, _NESTED_SPEC)


def flat_spec(nested: Read) -> Metric:
    """Convert a metric of a spec to v2beta1's form."""
    return _metric(nested, _FLAT_SPEC)


def nested_status(flat: Read) -> Metric:
    """Convert a metric of a status to v2's form."""
    return _metric(flat, _NESTED_STATUS)


def flat_status(nested: Read) -> Metric:
    """Convert a metric of a status to v2beta1's form."""
    return _metric(nested, _FLAT_STATUS)


def _metric(metric: Read, parts: Mapping[str, Part]) -> Metric:
    out: Metric = {"type": _text(metric, "type")}
    for key, convert in parts.items():
        if (part := metric.get(key)) is not None:
            out[key] = convert(_map(part))
    return out


def _map(value: object) -> Read:
    if not isinstance(value, dict):
        raise Mismatch("an object", value)
    return value


def _list(value: object) -> list[Any]:
    if not isinstance(value, list):
        raise Mismatch("a list", value)
    return value


def _text(part: Read, key: str) -> str:
    value = part.get(key)
    return "" if value is None else string_value(value)


def _quantity(part: Read, key: str) -> str | None:
    value = part.get(key)
    return None if value is None else quantity_value(value)


def _integer(part: Read, key: str) -> int | None:
    value = part.get(key)
    return None if value is None else int32_value(value)


def _present(**values: Any) -> Metric:
    """Return `values` without those that are absent."""
    return {key: value for key, value in values.items() if value is not None}


def _selector(part: Read, key: str) -> Metric | None:
    """Return a LabelSelector in canonical form, without unknown fields."""
    selector = part.get(key)
    if selector is None:
        return None
    labels, expressions = _map(selector).get("matchLabels"), selector.get("matchExpressions")
    return _present(
        matchLabels=None if labels is None else string_map_value(labels) or None,
        matchExpressions=None if expressions is None else [_requirement(each) for each in _list(expressions)] or None,
    )


def _requirement(expression: object) -> Metric:
    entry = _map(expression)
    values = entry.get("values")
    shown = _present(values=None if values is None else strings_value(values) or None)
    return {"key": _text(entry, "key"), "operator": _text(entry, "operator"), **shown}


def _reference(part: Read, key: str) -> Metric:
    target = _map(part.get(key) or {})
    return {
        "kind": _text(target, "kind"),
        "name": _text(target, "name"),
        **_present(apiVersion=_text(target, "apiVersion") or None),
    }


def _identifier(flat: Read, selector: str) -> Metric:
    return {"name": _text(flat, "metricName"), **_present(selector=_selector(flat, selector))}


def _target(
    kind: str, *, value: str | None = None, average: str | None = None, utilization: int | None = None
) -> Metric:
    return {"type": kind, **_present(value=value, averageValue=average, averageUtilization=utilization)}


# Flat to nested, specs ------------------------------------------------------------------------------------------


def _object_spec(flat: Read) -> Metric:
    """Convert the target of an object metric.

    The flat form always has a value: "0" beside an average stands for none, and no target may be zero.
    """
    average = _quantity(flat, "averageValue")
    value = _quantity(flat, "targetValue") or "0"
    kind = "Value" if average is None else "AverageValue"
    return {
        "describedObject": _reference(flat, "target"),
        "target": _target(kind, value=None if average is not None and value == "0" else value, average=average),
        "metric": _identifier(flat, "selector"),
    }


def _pods_spec(flat: Read) -> Metric:
    average = _quantity(flat, "targetAverageValue") or "0"
    return {"metric": _identifier(flat, "selector"), "target": _target("AverageValue", average=average)}


def _resource_spec(flat: Read) -> Metric:
    utilization = _integer(flat, "targetAverageUtilization")
    kind = "AverageValue" if utilization is None else "Utilization"
    target = _target(kind, average=_quantity(flat, "targetAverageValue"), utilization=utilization)
    return {"name": _text(flat, "name"), "target": target}


def _external_spec(flat: Read) -> Metric:
    value = _quantity(flat, "targetValue")
    kind = "AverageValue" if value is None else "Value"
    target = _target(kind, value=value, average=_quantity(flat, "targetAverageValue"))
    return {"metric": _identifier(flat, "metricSelector"), "target": target}


# Flat to nested, statuses ---------------------------------------------------------------------------------------


def _object_status(flat: Read) -> Metric:
    current = _present(value=_quantity(flat, "currentValue") or "0", averageValue=_quantity(flat, "averageValue"))
    metric = _identifier(flat, "selector")
    return {"metric": metric, "current": current, "describedObject": _reference(flat, "target")}


def _pods_status(flat: Read) -> Metric:
    current = {"averageValue": _quantity(flat, "currentAverageValue") or "0"}
    return {"metric": _identifier(flat, "selector"), "current": current}


def _resource_status(flat: Read) -> Metric:
    current = _present(
        averageValue=_quantity(flat, "currentAverageValue") or "0",
        averageUtilization=_integer(flat, "currentAverageUtilization"),
    )
    return {"name": _text(flat, "name"), "current": current}


def _external_status(flat: Read) -> Metric:
    current = _present(
        value=_quantity(flat, "currentValue") or "0", averageValue=_quantity(flat, "currentAverageValue")
    )
    return {"metric": _identifier(flat, "metricSelector"), "current": current}


# Nested to flat -------------------------------------------------------------------------------------------------


def _named(nested: Read) -> tuple[str, Metric | None]:
    metric = _map(nested.get("metric") or {})
    return _text(metric, "name"), _selector(metric, "selector")


def _flat_object_spec(nested: Read) -> Metric:
    name, selector = _named(nested)
    target = _map(nested.get("target") or {})
    return {
        "target": _reference(nested, "describedObject"),
        "metricName": name,
        "targetValue": _quantity(target, "value") or "0",
        **_present(selector=selector, averageValue=_quantity(target, "averageValue")),
    }


def _flat_pods_spec(nested: Read) -> Metric:
    name, selector = _named(nested)
    average = _quantity(_map(nested.get("target") or {}), "averageValue") or "0"
    return {"metricName": name, "targetAverageValue": average, **_present(selector=selector)}


def _flat_resource_spec(nested: Read) -> Metric:
    target = _map(nested.get("target") or {})
    values = _present(
        targetAverageUtilization=_integer(target, "averageUtilization"),
        targetAverageValue=_quantity(target, "averageValue"),
    )
    return {"name": _text(nested, "name"), **values}


def _flat_external_spec(nested: Read) -> Metric:
    name, selector = _named(nested)
    target = _map(nested.get("target") or {})
    values = _present(
        metricSelector=selector,
        targetValue=_quantity(target, "value"),
        targetAverageValue=_quantity(target, "averageValue"),
    )
    return {"metricName": name, **values}


def _flat_object_status(nested: Read) -> Metric:
    name, selector = _named(nested)
    current = _map(nested.get("current") or {})
    return {
        "target": _reference(nested, "describedObject"),
        "metricName": name,
        "currentValue": _quantity(current, "value") or "0",
        **_present(selector=selector, averageValue=_quantity(current, "averageValue")),
    }


def _flat_pods_status(nested: Read) -> Metric:
    name, selector = _named(nested)
    average = _quantity(_map(nested.get("current") or {}), "averageValue") or "0"
    return {"metricName": name, "currentAverageValue": average, **_present(selector=selector)}


def _flat_resource_status(nested: Read) -> Metric:
    current = _map(nested.get("current") or {})
    return {
        "name": _text(nested, "name"),
        **_present(currentAverageUtilization=_integer(current, "averageUtilization")),
        "currentAverageValue": _quantity(current, "averageValue") or "0",
    }


def _flat_external_status(nested: Read) -> Metric:
    name, selector = _named(nested)
    current = _map(nested.get("current") or {})
    return {
        "metricName": name,
        **_present(metricSelector=selector),
        "currentValue": _quantity(current, "value") or "0",
        **_present(currentAverageValue=_quantity(current, "averageValue")),
    }


def _in_container(convert: Part) -> Part:
    """Extend a resource's conversion by the container's name."""
    return lambda part: {**convert(part), "container": _text(part, "container")}


def _parts(obj: Part, pods: Part, resource: Part, external: Part) -> dict[str, Part]:
    """Return the parts of a metric in emission order."""
    return {
        "object": obj,
        "pods": pods,
        "resource": resource,
        "containerResource": _in_container(resource),
        "external": external,
    }


_NESTED_SPEC = _parts(_object_spec, _pods_spec, _resource_spec, _external_spec)
_NESTED_STATUS = _parts(_object_status, _pods_status, _resource_status, _external_status)
_FLAT_SPEC = _parts(_flat_object_spec, _flat_pods_spec, _flat_resource_spec, _flat_external_spec)
_FLAT_STATUS = _parts(_flat_object_status, _flat_pods_status, _flat_resource_status, _flat_external_status)
