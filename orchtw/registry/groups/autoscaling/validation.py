"""Validation of autoscalers in autoscaling/v2: the stored version cannot express all that a client may send."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Final

from orchtw.errors import MAX_CAUSES, Cause
from orchtw.naming.naming import Naming
from orchtw.registry.groups.autoscaling.metric_validation import CONTAINER, metric_causes, reference_causes
from orchtw.registry.traits import Sent
from orchtw.schema.conversion.autoscaling import AUTOSCALER_CONVERSIONS, AUTOSCALER_HUB
from orchtw.values.causes import forbidden, invalid, not_supported, required
from orchtw.values.quantity import Quantity
from orchtw.wire.objects import Object

LONGEST_STABILIZATION_S: Final = 3600
LONGEST_PERIOD_S: Final = 1800

_ANY_REPLICAS = ("Object", "External")
"""Metrics that do not need a pod to be measured."""

_SELECT_POLICIES = ("Disabled", "Max", "Min")
_POLICY_TYPES = ("Pods", "Percent")
_POSITIVE = "must be greater than zero"


def validate_sent_autoscaler(
    new: Object, old: Object | None, sent: Sent, naming: Naming, *, in_container: bool = False, to_zero: bool = False
) -> list[Cause]:
    """Validate an autoscaler of any version; causes name the fields of autoscaling/v2.

    `in_container`: metrics of single containers are allowed. `to_zero`: so is a minimum of no replicas, which one
    that has it may keep.
    """
    if sent.subresource:
        return []
    spec = as_hub(sent.obj, naming).get("spec") or {}
    before = {} if old is None else as_hub(old, naming).get("spec") or {}
    causes = _replica_causes(spec, 0 if to_zero or before.get("minReplicas") == 0 else 1)
    causes += reference_causes("spec.scaleTargetRef", spec.get("scaleTargetRef") or {})
    causes += _metrics_causes(spec, in_container=in_container or uses_containers(before))
    for direction, rules in (spec.get("behavior") or {}).items():
        if rules is not None:
            causes += _rules_causes(f"spec.behavior.{direction}", rules)
    return causes


def as_hub(obj: Object, naming: Naming) -> Object:
    """Return an autoscaler of any version in autoscaling/v2."""
    return _converter(obj["apiVersion"], naming)(obj)


@lru_cache(maxsize=16)
def _converter(api_version: str, naming: Naming) -> Callable[[Object], Object]:
    return AUTOSCALER_CONVERSIONS.converter(api_version, AUTOSCALER_HUB, naming=naming)


def uses_containers(spec: Object) -> bool:
    """Report whether a metric of an autoscaling/v2 spec is about one container of each pod."""
    return any(CONTAINER in metric for metric in spec.get("metrics") or ())


def _replica_causes(spec: Object, least: int) -> list[Cause]:
    causes = []
    low, high = spec.get("minReplicas"), spec.get("maxReplicas") or 0
    if low is not None and low < least:
        causes.append(invalid("spec.minReplicas", low, f"must be greater than or equal to {least}"))
    if high < 1:
        causes.append(invalid("spec.maxReplicas", high, "must be greater than 0"))
    if low is not None and high < low:
        causes.append(invalid("spec.maxReplicas", high, "must be greater than or equal to `minReplicas`"))
    return causes


def _metrics_causes(spec: Object, *, in_container: bool) -> list[Cause]:
    metrics = spec.get("metrics") or []
    causes: list[Cause] = []
    for index, metric in enumerate(metrics):
        causes += metric_causes(f"spec.metrics[{index}]", metric, in_container=in_container)
        if len(causes) > MAX_CAUSES:
            break
    if spec.get("minReplicas") == 0 and not any(metric.get("type") in _ANY_REPLICAS for metric in metrics):
        detail = "must specify at least one Object or External metric to support scaling to zero replicas"
        causes.append(forbidden("spec.metrics", detail))
    return causes


def _rules_causes(field: str, rules: Object) -> list[Cause]:
    """Return the causes that reject the scaling rules of one direction."""
    causes: list[Cause] = []
    window, select = rules.get("stabilizationWindowSeconds"), rules.get("selectPolicy")
    if window is not None and window < 0:
        causes.append(invalid(f"{field}.stabilizationWindowSeconds", window, "must be greater than or equal to zero"))
    if window is not None and window > LONGEST_STABILIZATION_S:
        limit = f"must be less than or equal to {LONGEST_STABILIZATION_S}"
        causes.append(invalid(f"{field}.stabilizationWindowSeconds", window, limit))
    if select is not None and select not in _SELECT_POLICIES:
        causes.append(not_supported(f"{field}.selectPolicy", select, _SELECT_POLICIES))
    if (tolerance := rules.get("tolerance")) is not None and Quantity.parse(tolerance).mantissa < 0:
        causes.append(invalid(f"{field}.tolerance", tolerance, "must be greater or equal to zero"))
    policies = rules.get("policies") or []
    if not policies:
        causes.append(required(f"{field}.policies", "must specify at least one Policy"))
    for index, policy in enumerate(policies):
        causes += _policy_causes(f"{field}.policies[{index}]", policy)
        if len(causes) > MAX_CAUSES:
            break
    return causes


def _policy_causes(field: str, policy: Object) -> list[Cause]:
    causes = []
    kind, value, period = policy.get("type", ""), policy.get("value") or 0, policy.get("periodSeconds") or 0
    if kind not in _POLICY_TYPES:
        causes.append(not_supported(f"{field}.type", kind, _POLICY_TYPES))
    if value <= 0:
        causes.append(invalid(f"{field}.value", value, _POSITIVE))
    if period <= 0:
        causes.append(invalid(f"{field}.periodSeconds", period, _POSITIVE))
    if period > LONGEST_PERIOD_S:
        limit = f"must be less than or equal to {LONGEST_PERIOD_S}"
        causes.append(invalid(f"{field}.periodSeconds", period, limit))
    return causes
