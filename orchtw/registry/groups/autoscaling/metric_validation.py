"""Validation of autoscaler metrics, in the fields of autoscaling/v2."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

from orchtw.errors import Cause
from orchtw.values.causes import forbidden, invalid, not_supported, required
from orchtw.values.names import dns_label, path_segment
from orchtw.values.quantity import Quantity
from orchtw.wire.objects import Object

CONTAINER: Final = "containerResource"
"""Source of a feature that release 1.24 leaves off: only allowed where one is stored already."""

_NEEDED = "must populate information for the given metric source"
_OFF = f"{_NEEDED} (only allowed when HPAContainerMetrics feature is enabled)"
_TARGET_TYPES = ("Utilization", "Value", "AverageValue")


def metric_causes(field: str, metric: Object, *, in_container: bool) -> list[Cause]:
    """Return the causes for a missing or second source; one for containers counts if `in_container`."""
    causes: list[Cause] = []
    kind = metric.get("type", "")
    if not kind:
        causes.append(required(f"{field}.type", "must specify a metric source type"))
    given = [key for key in _SOURCES if metric.get(key) is not None and (key != CONTAINER or in_container)]
    if given:
        causes += _SOURCES[given[0]](f"{field}.{given[0]}", metric[given[0]])
    expected = _TYPES.get(kind)
    if expected is None:
        causes += [not_supported(f"{field}.type", kind, sorted(_TYPES))] * 2
    elif expected not in given:
        needed = _OFF if expected == CONTAINER and not in_container else _NEEDED
        causes.append(required(f"{field}.{expected}", needed))
    if len(given) != 1:
        others = (key for key in given if key != expected)
        causes += [forbidden(f"{field}.{key}", "must populate the given metric source only") for key in others]
    return causes


def _object_causes(field: str, source: Object) -> list[Cause]:
    causes = reference_causes(f"{field}.describedObject", source.get("describedObject") or {})
    found, target = _measured(field, source)
    causes += found
    if target.get("value") is None and target.get("averageValue") is None:
        causes.append(required(f"{field}.target.averageValue", "must set either a target value or averageValue"))
    return causes


def _measured(field: str, source: Object) -> tuple[list[Cause], Object]:
    """Return the causes that reject a source's metric and target, and the target."""
    target = source.get("target") or {}
    causes = _identifier_causes(f"{field}.metric", source.get("metric") or {})
    return causes + _target_causes(f"{field}.target", target), target


def _external_causes(field: str, source: Object) -> list[Cause]:
    causes, target = _measured(field, source)
    value, average = target.get("value"), target.get("averageValue")
    if value is None and average is None:
        detail = "must set either a target value for metric or a per-pod target"
        causes.append(required(f"{field}.target.averageValue", detail))
    if value is not None and average is not None:
        detail = "may not set both a target value for metric and a per-pod target"
        causes.append(forbidden(f"{field}.target.value", detail))
    return causes


def _pods_causes(field: str, source: Object) -> list[Cause]:
    causes, target = _measured(field, source)
    average = target.get("averageValue")
    if average is None or not _is_positive(average):
        causes.append(required(f"{field}.target.averageValue", "must specify a positive target averageValue"))
    return causes


def _resource_causes(field: str, source: Object) -> list[Cause]:
    causes = [] if source.get("name") else [required(f"{field}.name", "must specify a resource name")]
    return causes + _use_causes(f"{field}.target", source.get("target") or {})


def _container_causes(field: str, source: Object) -> list[Cause]:
    causes = [] if source.get("name") else [required(f"{field}.name", "must specify a resource name")]
    if container := source.get("container"):
        causes += [invalid(f"{field}.container", container, text) for text in dns_label(container)]
    else:
        causes.append(required(f"{field}.container", "must specify a container"))
    return causes + _use_causes(f"{field}.target", source.get("target") or {})


def _use_causes(field: str, target: Object) -> list[Cause]:
    """Return the causes that reject the target for the use of a resource."""
    causes = _target_causes(field, target)
    utilization, average = target.get("averageUtilization"), target.get("averageValue")
    if utilization is None and average is None:
        detail = "must set either a target raw value or a target utilization"
        causes.append(required(f"{field}.averageUtilization", detail))
    if utilization is not None and average is not None:
        detail = "may not set both a target raw value and a target utilization"
        causes.append(forbidden(f"{field}.averageValue", detail))
    return causes


def _target_causes(field: str, target: Object) -> list[Cause]:
    causes = []
    kind, utilization = target.get("type", ""), target.get("averageUtilization")
    if not kind:
        causes.append(required(f"{field}.type", "must specify a metric target type"))
    if kind not in _TARGET_TYPES:
        causes.append(invalid(f"{field}.type", kind, "must be either Utilization, Value, or AverageValue"))
    for key in ("value", "averageValue"):
        if (amount := target.get(key)) is not None and not _is_positive(amount):
            causes.append(invalid(f"{field}.{key}", amount, "must be positive"))
    if utilization is not None and utilization < 1:
        causes.append(invalid(f"{field}.averageUtilization", utilization, "must be greater than 0"))
    return causes


def _is_positive(amount: str) -> bool:
    return Quantity.parse(amount).mantissa > 0


def _identifier_causes(field: str, metric: Object) -> list[Cause]:
    name = metric.get("name")
    if not name:
        return [required(f"{field}.name", "must specify a metric name")]
    return [invalid(f"{field}.name", name, text) for text in path_segment(name)]


def reference_causes(field: str, reference: Object) -> list[Cause]:
    """Return the causes that reject kind and name of an object; its apiVersion is free."""
    causes: list[Cause] = []
    for key in ("kind", "name"):
        value = reference.get(key)
        if not value:
            causes.append(required(f"{field}.{key}"))
        else:
            causes += [invalid(f"{field}.{key}", value, text) for text in path_segment(value)]
    return causes


_SOURCES: Final[Mapping[str, Callable[[str, Object], list[Cause]]]] = {
    "object": _object_causes,
    "external": _external_causes,
    "pods": _pods_causes,
    "resource": _resource_causes,
    CONTAINER: _container_causes,
}
_TYPES: Final = {key[0].upper() + key[1:]: key for key in _SOURCES}
"""Key of each source by the type that names it."""
