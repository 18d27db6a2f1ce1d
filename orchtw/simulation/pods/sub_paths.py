"""Paths inside volumes that a container's environment decides about (`subPathExpr`, reference SIM-20)."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

from orchtw.simulation.pods.plans import variables
from orchtw.wire.objects import Object

_REFERENCE: Final = re.compile(r"\$\(([^)]*)\)")


def bad_sub_path(pod: Object, container: Object) -> str:
    """Return why a path of a container's mounts cannot be used; empty if all can."""
    values: Mapping[str, str] | None = None
    for mount in container.get("volumeMounts") or ():
        if pattern := mount.get("subPathExpr"):
            values = variables(pod, container) if values is None else values
            if why := _problem(pattern, values):
                return f'subPathExpr {pattern!r} of volume "{mount["name"]}" {why}'
    return ""


def _problem(pattern: str, values: Mapping[str, str]) -> str:
    unknown = next((name for name in _REFERENCE.findall(pattern) if name not in values), None)
    if unknown is not None:
        return f'refers to variable "{unknown}", which is not set'
    path = _REFERENCE.sub(lambda found: values[found[1]], pattern)
    if path.startswith("/"):
        return f"gives the absolute path {path!r}"
    return f"gives {path!r}, which leaves the volume" if ".." in path.split("/") else ""
