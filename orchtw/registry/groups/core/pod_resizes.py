"""Resizes of pods: changes of cpu and memory of running containers (reference KIND-99)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

from orchtw.errors import Cause
from orchtw.registry.groups.core.pod_updates import different_keys, shown_changes
from orchtw.values.causes import forbidden, invalid
from orchtw.wire.objects import Object

_COMPUTE: Final = ("cpu", "memory")
_LISTS: Final = ("containers", "initContainers")
_ONLY_COMPUTE: Final = "only cpu and memory resources are mutable"
_AMOUNTS: Final = {"requests": "resource requests", "limits": "resource limits"}


def resized(new: Object, old: Object) -> Object:
    """Return the pod that a resize stores: the old one with the resources of the new one's containers."""
    spec, wanted = dict(old.get("spec") or {}), new.get("spec") or {}
    for key in _LISTS:
        before, after = spec.get(key) or [], wanted.get(key) or []
        if [each.get("name") for each in before] != [each.get("name") for each in after]:
            spec[key] = after  # to be refused
        elif before:
            spec[key] = [_with_resources(one, other) for one, other in zip(before, after, strict=True)]
    if wanted.get("resources") is not None and spec.get("resources") is not None:
        spec["resources"] = wanted["resources"]
    return {**old, "spec": spec}


def _with_resources(container: Object, wanted: Object) -> Object:
    found = {**container, "resources": wanted.get("resources") or {}}
    if "resizePolicy" in wanted and "resizePolicy" in container:
        found["resizePolicy"] = wanted["resizePolicy"]
    return found


def resize_causes(new: Object, old: Object, qos: Callable[[Object], str], mirror: str) -> list[Cause]:
    """Return the causes against a resize; `mirror` is the annotation of pods that a node runs by itself."""
    if mirror in (old["metadata"].get("annotations") or {}):
        return [forbidden("", "static pods cannot be resized")]
    spec, before = new.get("spec") or {}, old.get("spec") or {}
    for key in _LISTS:
        if len(spec.get(key) or ()) != len(before.get(key) or ()):
            return [forbidden("spec", f"{key} may not be added or removed on resize")]
    causes: list[Cause] = []
    if qos(spec) != (old.get("status") or {}).get("qosClass", qos(before)):
        causes.append(invalid("spec", qos(spec), "Pod QOS Class may not change as a result of resizing"))
    for key in _LISTS:
        causes += _container_causes(spec.get(key) or (), before.get(key) or (), key)
    if _without_compute(spec) != _without_compute(before):
        lines = shown_changes(spec, before, list(different_keys(spec, before)))
        causes.append(forbidden("spec", f"{_ONLY_COMPUTE}\n{lines}"))
    return causes


def _container_causes(after: Sequence[Object], before: Sequence[Object], kind: str) -> list[Cause]:
    causes: list[Cause] = []
    for index, (container, stored) in enumerate(zip(after, before, strict=True)):
        resources, old = container.get("resources") or {}, stored.get("resources") or {}
        place = f"spec.{kind}[{index}].resources"
        if kind == "initContainers" and container.get("restartPolicy") != "Always":
            if resources != old:
                causes.append(forbidden(place, "resources for non-sidecar init containers are immutable"))
            continue
        for key, noun in _AMOUNTS.items():
            had, has = old.get(key) or {}, resources.get(key) or {}
            if any(name in had and name not in has for name in _COMPUTE):
                causes.append(forbidden(f"{place}.{key}", f"{noun} cannot be removed"))
    return causes


def _without_compute(spec: Object) -> Object:
    """Return a spec without amounts of cpu and memory."""
    found = dict(spec)
    if found.get("resources") is not None:
        found["resources"] = _other(found["resources"])
    for key in _LISTS:
        if containers := found.get(key):
            found[key] = [
                {**each, "resizePolicy": None, "resources": _other(each.get("resources") or {})}
                for each in containers
            ]
    return found


def _other(resources: Object) -> Object:
    kept = {
        key: {name: amount for name, amount in (resources.get(key) or {}).items() if name not in _COMPUTE}
        for key in _AMOUNTS
    }
    return {**resources, **kept}
