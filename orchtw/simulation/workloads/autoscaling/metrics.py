"""Metrics of an autoscaler: what each asks for, and what its status shows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

import msgspec

from orchtw.naming.naming import Naming
from orchtw.simulation.pods.annotations import PREFIX
from orchtw.simulation.usage.usage import scaled
from orchtw.simulation.workloads.autoscaling.proposals import Tolerance, by_average, by_pods, by_value
from orchtw.simulation.workloads.autoscaling.samples import (
    MILLI,
    NoSample,
    Sample,
    requests_of,
    sample,
    usage_of,
)
from orchtw.values.quantity import Quantity
from orchtw.wire.objects import Object

METRIC: Final = f"{PREFIX}metric."
"""Annotations of an autoscaler with the values of metrics that no pod uses: `simulate.orch.io/metric.<name>`."""

_FIELDS: Final = {
    "Resource": "resource", "ContainerResource": "containerResource", "Pods": "pods", "Object": "object",
    "External": "external",
}  # fmt: skip


class Unmeasured(Exception):
    """Error: a metric cannot be evaluated; `reason` is that of the event and the condition."""

    def __init__(self, reason: str, message: str) -> None:
        super().__init__(message)
        self.reason = reason


class Proposal(msgspec.Struct, frozen=True):
    """Replicas that a metric asks for, the name by which messages call it, and its current value for the status."""

    replicas: int
    name: str
    current: Object


class Scene(msgspec.Struct, frozen=True, kw_only=True):
    """The target of an autoscaler as its metrics see it: its pods, its number of replicas and the annotations.

    `measured`: the use of pods is known.
    """

    pods: Sequence[Object]
    current: int
    notes: Mapping[str, str]
    tolerance: Tolerance
    now: float
    measured: bool
    naming: Naming


def propose(metric: Object, scene: Scene) -> Proposal:
    """Return what one metric asks for. Raises Unmeasured."""
    kind = metric["type"]
    source = metric[_FIELDS[kind]]
    try:
        if kind in ("Resource", "ContainerResource"):
            return _resource(kind, source, scene)
        return _pods(source, scene) if kind == "Pods" else _whole(kind, source, scene)
    except NoSample as error:
        name = source["name"] if kind in ("Resource", "ContainerResource") else source["metric"]["name"]
        what = f"failed to get {name} utilization" if "name" in source else f"unable to get metric {name}"
        raise Unmeasured(f"FailedGet{kind}Metric", f"{what}: {error}") from None


def _resource(kind: str, source: Object, scene: Scene) -> Proposal:
    name, container, target = source["name"], source.get("container", ""), source["target"]
    if not scene.measured:
        raise NoSample(
            f"unable to get metrics for resource {name}: unable to fetch metrics from resource metrics API: the "
            f"server could not find the requested resource (get pods.{scene.naming.group('metrics.orch.io')})"
        )
    found = sample(scene.pods, usage_of(scene.pods, name, container), name, scene.now)
    asked = target.get("averageUtilization")
    if asked is not None:
        return _utilization(kind, source, scene, found, asked)
    wanted = scaled(target["averageValue"], MILLI)
    replicas = by_pods(scene.current, found, lambda values: _mean(values) / wanted, lambda _: wanted, scene.tolerance)
    text = f"{name} {'container ' if container else ''}resource"
    return Proposal(replicas, text, _status(kind, source, {"averageValue": _text(_mean(found.ready))}))


def _utilization(kind: str, source: Object, scene: Scene, found: Sample, asked: int) -> Proposal:
    name, container = source["name"], source.get("container", "")
    requests = requests_of(scene.pods, name, container)

    def percent(values: Mapping[str, int]) -> float:
        total = sum(requests[pod] for pod in values)
        return int(sum(values.values()) * 100 / total) if total else 0

    replicas = by_pods(
        scene.current, found, lambda values: percent(values) / asked, lambda pod: requests[pod], scene.tolerance
    )
    current = {"averageUtilization": int(percent(found.ready)), "averageValue": _text(_mean(found.ready))}
    what = "container resource" if container else "resource"
    return Proposal(replicas, f"{name} {what} utilization (percentage of request)", _status(kind, source, current))


def _pods(source: Object, scene: Scene) -> Proposal:
    name, wanted = source["metric"]["name"], scaled(source["target"]["averageValue"], MILLI)
    value = _noted(name, scene, "custom")
    found = sample(scene.pods, {pod["metadata"]["name"]: value for pod in scene.pods}, name, scene.now)
    replicas = by_pods(scene.current, found, lambda values: _mean(values) / wanted, lambda _: wanted, scene.tolerance)
    current = {"metric": source["metric"], "current": {"averageValue": _text(value)}}
    return Proposal(replicas, f"pods metric {name}", {"type": "Pods", "pods": current})


def _whole(kind: str, source: Object, scene: Scene) -> Proposal:
    """Return what a metric of an object, or of something outside the cluster, asks for."""
    name, target = source["metric"]["name"], source["target"]
    value = _noted(name, scene, "custom" if kind == "Object" else "external")
    shown: Object = {"metric": source["metric"]}
    if kind == "Object":
        shown["describedObject"] = source["describedObject"]
    if target.get("value") is not None:
        ready = len(sample(scene.pods, {}, name, scene.now).missing)
        replicas = by_value(scene.current, ready, value, scaled(target["value"], MILLI), scene.tolerance)
        shown["current"] = {"value": _text(value)}
    else:
        replicas = by_average(scene.current, value, scaled(target["averageValue"], MILLI), scene.tolerance)
        shown["current"] = {"averageValue": _text(-(-value // max(1, scene.current)))}
    return Proposal(replicas, f"{kind.lower()} metric {name}", {"type": kind, _FIELDS[kind]: shown})


def _noted(name: str, scene: Scene, api: str) -> int:
    """Return the value that the annotations give for a metric. Raises NoSample."""
    text = scene.notes.get(METRIC + name)
    try:
        if text:
            return scaled(text, MILLI)
    except ValueError as error:
        raise NoSample(f"annotation {METRIC}{name}: {error}") from None
    group = scene.naming.group(f"{api}.metrics.orch.io")
    raise NoSample(f"unable to fetch metrics from {api} metrics API: no {api} metrics API ({group}) registered")


def _mean(values: Mapping[str, int]) -> int:
    return sum(values.values()) // len(values) if values else 0


def _status(kind: str, source: Object, current: Object) -> Object:
    made: dict[str, Any] = {"name": source["name"], "current": current}
    if "container" in source:
        made["container"] = source["container"]
    return {"type": kind, _FIELDS[kind]: made}


def _text(milli: int) -> str:
    return Quantity(milli, -MILLI, "decimal").canonical()
