"""Pauses and stop signals of containers, which depend on the rest of the pod (reference KIND-104)."""

from __future__ import annotations

from typing import Any, Final

from orchtw.errors import MAX_CAUSES, Cause
from orchtw.registry.groups.core.pod_annotations import containers_of
from orchtw.values.causes import forbidden, invalid, not_supported
from orchtw.wire.objects import Object

_ON_WINDOWS: Final = ("SIGKILL", "SIGTERM")


def lifecycle_causes(spec: Object, old: Object | None) -> list[Cause]:
    """Return the causes that reject pauses and signals, unless the stored spec has such already."""
    causes: list[Cause] = []
    grace_s, system = spec.get("terminationGracePeriodSeconds"), (spec.get("os") or {}).get("name")
    for place, container in containers_of(spec):
        if lifecycle := container.get("lifecycle"):
            causes += _pause_causes(lifecycle, grace_s, f"{place}.lifecycle")
            if (signal := lifecycle.get("stopSignal")) is not None:
                causes += _signal_causes(signal, system, f"{place}.lifecycle.stopSignal")
        if len(causes) > MAX_CAUSES:
            break
    return [] if causes and old is not None and lifecycle_causes(old, None) else causes


def _pause_causes(lifecycle: Object, grace_s: Any, path: str) -> list[Cause]:
    if grace_s is None:
        return []
    text = f"must be non-negative and less than terminationGracePeriodSeconds ({grace_s})"
    pauses = ((key, (lifecycle.get(key) or {}).get("sleep")) for key in ("postStart", "preStop"))
    found = ((key, sleep.get("seconds", 0)) for key, sleep in pauses if sleep is not None)
    return [invalid(f"{path}.{key}.sleep", pause_s, text) for key, pause_s in found if not 0 <= pause_s <= grace_s]


def _signal_causes(signal: str, system: str | None, path: str) -> list[Cause]:
    if not system:
        return [forbidden(path, "may not be set for containers with empty `spec.os.name`")]
    if system == "windows" and signal not in _ON_WINDOWS:
        return [not_supported(path, signal, _ON_WINDOWS)]
    return []
