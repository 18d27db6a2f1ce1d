"""Rows of the kinds that run pods, and of autoscalers (reference TABLE-8)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from orchtw.schema.conversion.autoscaling import AUTOSCALER_CONVERSIONS, AUTOSCALER_HUB
from orchtw.schema.tables.cells import (
    NONE,
    UNKNOWN,
    UNSET,
    Cells,
    TableView,
    human_duration,
    images,
    names,
    pairs,
    selector,
)
from orchtw.values.times import parse_time
from orchtw.wire.objects import Object


def _parts(obj: Object) -> tuple[Object, Object, str]:
    """Return spec, status and name."""
    return obj.get("spec") or {}, obj.get("status") or {}, obj["metadata"].get("name", "")


def _containers(template: Object | None) -> list[Object]:
    return ((template or {}).get("spec") or {}).get("containers") or []


def _template(obj: Object) -> list[str]:
    """Return the containers and images of the pod template."""
    containers = _containers((obj.get("spec") or {}).get("template"))
    return [names(containers), images(containers)]


def pod_template(obj: Object, view: TableView) -> list[Any]:
    """Return the cells Name, Containers, Images, Pod Labels."""
    template = obj.get("template") or {}
    containers = _containers(template)
    labels = (template.get("metadata") or {}).get("labels")
    return [obj["metadata"].get("name", ""), names(containers), images(containers), pairs(labels)]


def _replicas(write_selector: Callable[[Any], str]) -> Cells:
    def cells(obj: Object, view: TableView) -> list[Any]:
        """Return the cells Name, Desired, Current, Ready, Age, Containers, Images, Selector."""
        spec, status, name = _parts(obj)
        counts = [spec.get("replicas", 0), status.get("replicas", 0), status.get("readyReplicas", 0)]
        return [name, *counts, view.age(obj), *_template(obj), write_selector(spec.get("selector"))]

    return cells


replication_controller = _replicas(pairs)
replica_set = _replicas(selector)


def daemon_set(obj: Object, view: TableView) -> list[Any]:
    """Return the cells Name, five counts, Node Selector, Age, Containers, Images, Selector."""
    spec, status, name = _parts(obj)
    counted = ("desiredNumberScheduled", "currentNumberScheduled", "numberReady", "updatedNumberScheduled")
    counts = [status.get(key, 0) for key in (*counted, "numberAvailable")]
    node_selector = pairs(((spec.get("template") or {}).get("spec") or {}).get("nodeSelector"))
    return [name, *counts, node_selector, view.age(obj), *_template(obj), selector(spec.get("selector"))]


def deployment(obj: Object, view: TableView) -> list[Any]:
    """Return the cells Name, Ready, Up-to-date, Available, Age, Containers, Images, Selector."""
    spec, status, name = _parts(obj)
    ready = f"{status.get('readyReplicas', 0)}/{spec.get('replicas', 0)}"
    counts = [status.get("updatedReplicas", 0), status.get("availableReplicas", 0)]
    return [name, ready, *counts, view.age(obj), *_template(obj), selector(spec.get("selector"))]


def stateful_set(obj: Object, view: TableView) -> list[Any]:
    """Return the cells Name, Ready, Age, Containers, Images."""
    spec, status, name = _parts(obj)
    return [name, f"{status.get('readyReplicas', 0)}/{spec.get('replicas', 0)}", view.age(obj), *_template(obj)]


def job(obj: Object, view: TableView) -> list[Any]:
    """Return the cells Name, Completions, Duration, Age, Containers, Images, Selector."""
    spec, status, name = _parts(obj)
    done, wanted, parallel = status.get("succeeded", 0), spec.get("completions"), spec.get("parallelism", 0)
    if wanted is not None:
        completions = f"{done}/{wanted}"
    else:
        completions = f"{done}/1 of {parallel}" if parallel > 1 else f"{done}/1"
    return [
        name,
        completions,
        _job_duration(status, view),
        view.age(obj),
        *_template(obj),
        selector(spec.get("selector")),
    ]


def _job_duration(status: Object, view: TableView) -> str:
    start, end = status.get("startTime"), status.get("completionTime")
    if not start:
        return ""
    return human_duration((parse_time(end)[0] if end else view.now_s) - parse_time(start)[0])


def cron_job(obj: Object, view: TableView) -> list[Any]:
    """Return the cells Name, Schedule, Suspend, Active, Last Schedule, Age, Containers, Images, Selector."""
    spec, status, name = _parts(obj)
    suspend = spec.get("suspend")
    last = status.get("lastScheduleTime")
    job_template = spec.get("jobTemplate") or {}
    return [
        name,
        spec.get("schedule", ""),
        UNSET if suspend is None else str(suspend),
        len(status.get("active") or ()),
        view.since(last) if last else NONE,
        view.age(obj),
        *_template(job_template),
        selector((job_template.get("spec") or {}).get("selector")),
    ]


def controller_revision(obj: Object, view: TableView) -> list[Any]:
    """Return the cells Name, Controller, Revision, Age."""
    owners = obj["metadata"].get("ownerReferences") or ()
    owner = next((entry for entry in owners if entry.get("controller")), None)
    shown = NONE
    if owner is not None:
        group = owner["apiVersion"].rpartition("/")[0]
        shown = f"{owner['kind'].lower()}{'.' if group else ''}{group}/{owner['name']}"
    return [obj["metadata"].get("name", ""), shown, obj.get("revision", 0), view.age(obj)]


def disruption_budget(obj: Object, view: TableView) -> list[Any]:
    """Return the cells Name, Min Available, Max Unavailable, Allowed Disruptions, Age."""
    spec, status, name = _parts(obj)
    limits = [str(spec[key]) if key in spec else "N/A" for key in ("minAvailable", "maxUnavailable")]
    return [name, *limits, status.get("disruptionsAllowed", 0), view.age(obj)]


def autoscaler(obj: Object, view: TableView) -> list[Any]:
    """Return the cells Name, Reference, Targets, MinPods, MaxPods, Replicas, Age."""
    if obj["apiVersion"] != AUTOSCALER_HUB:
        obj = AUTOSCALER_CONVERSIONS.converter(obj["apiVersion"], AUTOSCALER_HUB, naming=view.naming)(obj)
    spec, status, name = _parts(obj)
    reference = spec.get("scaleTargetRef") or {}
    minimum = spec.get("minReplicas")
    return [
        name,
        f"{reference.get('kind', '')}/{reference.get('name', '')}",
        _targets(spec.get("metrics") or [], status.get("currentMetrics") or []),
        UNSET if minimum is None else str(minimum),
        spec.get("maxReplicas", 0),
        status.get("currentReplicas", 0),
        view.age(obj),
    ]


def scale(obj: Object, view: TableView) -> list[Any]:
    """Return the cells Name, Desired, Available, Age."""
    spec, status, name = _parts(obj)
    return [name, spec.get("replicas", 0), status.get("replicas", 0), view.age(obj)]


def _targets(metrics: list[Object], current: list[Object]) -> str:
    """Return `current/target` of the first two metrics, and the number of others."""
    if not metrics:
        return NONE
    shown = [_target(metric, current[index] if index < len(current) else {}) for index, metric in enumerate(metrics)]
    more = len(shown) - 2
    return ", ".join(shown[:2]) + (f" + {more} more..." if more > 0 else "")


_SOURCES = {
    "External": "external",
    "Pods": "pods",
    "Object": "object",
    "Resource": "resource",
    "ContainerResource": "containerResource",
}


def _target(metric: Object, current: Object) -> str:
    source = _SOURCES.get(metric["type"])
    if source is None:
        return "<unknown type>"
    target = (metric.get(source) or {}).get("target") or {}
    now = (current.get(source) or {}).get("current") or {}
    averaged = source in ("external", "object")
    if (value := target.get("averageValue")) is not None and (
        averaged or source == "pods" or "averageUtilization" not in target
    ):
        return f"{now.get('averageValue', UNKNOWN)}/{value}" + (" (avg)" if averaged else "")
    if source in ("resource", "containerResource"):
        used, wanted = now.get("averageUtilization"), target.get("averageUtilization")
        return f"{UNKNOWN if used is None else f'{used}%'}/{'<auto>' if wanted is None else f'{wanted}%'}"
    return f"{now.get('value', UNKNOWN)}/{target.get('value', UNKNOWN)}"
