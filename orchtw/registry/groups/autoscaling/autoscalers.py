"""Horizontal pod autoscalers, in the version that the client sent."""

from __future__ import annotations

from collections.abc import Mapping

from orchtw.errors import Cause
from orchtw.naming.naming import Naming
from orchtw.registry.emission_order import put
from orchtw.registry.groups.autoscaling.metric_validation import CONTAINER
from orchtw.registry.groups.autoscaling.validation import as_hub, uses_containers, validate_sent_autoscaler
from orchtw.registry.kind import KindRecord
from orchtw.registry.strategy import Strategy
from orchtw.registry.traits import Sent
from orchtw.request import UserInfo
from orchtw.schema.conversion.autoscaling import (
    AUTOSCALER_CONVERSIONS,
    DEFAULT_CPU_UTILIZATION,
    autoscaler_v1_to_v2,
    autoscaler_v2_to_v1,
)
from orchtw.schema.tables import cells_workloads
from orchtw.wire.objects import Object

_PERCENTAGE = "targetCPUUtilizationPercentage"
_SPEC_TAIL = ("metrics", "behavior")
_RULES = ("stabilizationWindowSeconds", "selectPolicy", "policies", "tolerance")


def set_autoscaler_defaults(autoscaler: Object, naming: Naming) -> None:
    """Fill in the defaults: 80 % of CPU without a metric, and the rest of partly given scaling rules."""
    version = autoscaler["apiVersion"].rpartition("/")[2]
    spec = autoscaler["spec"]
    if version == "v1":
        _set_percentage_defaults(autoscaler, naming)
        return
    if not spec.get("metrics"):
        put(spec, "metrics", [_cpu_metric(version)], _SPEC_TAIL)
    behavior = spec.get("behavior")
    if behavior is not None:
        spec["behavior"] = {
            "scaleUp": _rules(behavior.get("scaleUp"), _scale_up()),
            "scaleDown": _rules(behavior.get("scaleDown"), _scale_down()),
        }


def _set_percentage_defaults(autoscaler: Object, naming: Naming) -> None:
    """Fill in the percentage of v1, whose metrics may also be in annotations (reference VER-12)."""
    if _PERCENTAGE not in autoscaler["spec"]:
        converted = autoscaler_v2_to_v1(autoscaler_v1_to_v2(autoscaler, naming), naming)
        if _PERCENTAGE in converted["spec"]:
            autoscaler["spec"][_PERCENTAGE] = converted["spec"][_PERCENTAGE]


def _cpu_metric(version: str) -> Object:
    if version == "v2beta1":
        return {"type": "Resource", "resource": {"name": "cpu", "targetAverageUtilization": DEFAULT_CPU_UTILIZATION}}
    target = {"type": "Utilization", "averageUtilization": DEFAULT_CPU_UTILIZATION}
    return {"type": "Resource", "resource": {"name": "cpu", "target": target}}


def _rules(given: Object | None, defaults: Object) -> Object:
    """Return the rules of one direction, completed, in emission order."""
    filled = {**defaults, **(given or {})}
    return {key: filled[key] for key in _RULES if key in filled}


def _scale_up() -> Object:
    policies = [
        {"type": "Pods", "value": 4, "periodSeconds": 15},
        {"type": "Percent", "value": 100, "periodSeconds": 15},
    ]
    return {"stabilizationWindowSeconds": 0, "selectPolicy": "Max", "policies": policies}


def _scale_down() -> Object:
    """Return the default scale-down; its stabilization window is the controller's."""
    return {"selectPolicy": "Max", "policies": [{"type": "Percent", "value": 100, "periodSeconds": 15}]}


class AutoscalerStrategy(Strategy):
    """Write rules of autoscalers; defaults of v1 depend on annotations, whose names are the vocabulary's.

    Metrics of containers are a feature that release 1.24 leaves off: they are dropped where none is stored yet.
    """

    _in_containers = False
    _to_zero = False

    def configure(self, gates: Mapping[str, bool]) -> None:
        self._in_containers = gates["HPAContainerMetrics"]
        self._to_zero = gates["HPAScaleToZero"]

    def validate_sent(self, new: Object, old: Object | None, sent: Sent) -> list[Cause]:
        return validate_sent_autoscaler(
            new, old, sent, self.naming, in_container=self._in_containers, to_zero=self._to_zero
        )

    def set_defaults(self, obj: Object) -> None:
        set_autoscaler_defaults(obj, self.naming)

    def prepare_for_create(self, obj: Object, user: UserInfo) -> None:
        super().prepare_for_create(obj, user)
        if not self._in_containers:
            self._drop_containers(obj)

    def prepare_for_update(self, new: Object, old: Object) -> None:
        if not self._in_containers and not uses_containers(as_hub(old, self.naming)["spec"]):
            self._drop_containers(new)
        super().prepare_for_update(new, old)

    def _drop_containers(self, obj: Object) -> None:
        hub = as_hub(obj, self.naming)
        if uses_containers(hub["spec"]):
            metrics = [{key: metric[key] for key in metric if key != CONTAINER} for metric in hub["spec"]["metrics"]]
            without = autoscaler_v2_to_v1({**hub, "spec": {**hub["spec"], "metrics": metrics}}, self.naming)
            obj.update(metadata=without["metadata"], spec=without["spec"])


HORIZONTAL_POD_AUTOSCALER = KindRecord(
    group="autoscaling",
    kind="HorizontalPodAutoscaler",
    strategy=AutoscalerStrategy,
    conversions=AUTOSCALER_CONVERSIONS,
    cells=cells_workloads.autoscaler,
)
