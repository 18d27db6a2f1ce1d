"""Mounts of containers: folders and devices, by the volumes of their pod (reference KIND-42)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from orchtw.errors import MAX_CAUSES, Cause
from orchtw.registry.groups.core.newer_pods import mount_causes as recursion_causes
from orchtw.values.causes import forbidden, invalid, not_found, not_supported, required
from orchtw.values.file_paths import descending_path, no_backsteps
from orchtw.wire.objects import Object

_PLAIN: Final = frozenset(("name", "mountPath", "readOnly"))
_PROPAGATIONS: Final = ("Bidirectional", "HostToContainer", "None")
_UNIQUE: Final = "must be unique"
_NOT_BLOCK: Final = "can only use volume source type of PersistentVolumeClaim for block mode"
_BLOCK_SOURCES: Final = ("persistentVolumeClaim", "ephemeral")


def mount_causes(container: Object) -> list[Cause]:
    """Return the causes that reject the mounts and devices of one container, whatever volumes there are."""
    mounts, devices = container.get("volumeMounts") or (), container.get("volumeDevices")
    if not devices and _are_plain(mounts):
        return []
    return _folder_causes(container, mounts, devices or ()) + _device_causes(mounts, devices or ())


def _are_plain(mounts: Sequence[Object]) -> bool:
    """Report whether all mounts are complete, distinct and usual."""
    seen = set()
    for mount in mounts:
        path = mount.get("mountPath")
        if not path or path in seen or not mount.get("name") or not mount.keys() <= _PLAIN:
            return False
        seen.add(path)
    return True


def _values(items: Sequence[Object], key: str) -> frozenset[Any]:
    return frozenset(item.get(key, "") for item in items)


def _folder_causes(container: Object, mounts: Sequence[Object], devices: Sequence[Object]) -> list[Cause]:
    device_names, device_paths = _values(devices, "name"), _values(devices, "devicePath")
    causes: list[Cause] = []
    seen = set()
    for index, mount in enumerate(mounts):
        if len(causes) > MAX_CAUSES:
            break
        place, name, path = f"volumeMounts[{index}]", mount.get("name", ""), mount.get("mountPath", "")
        if not name:
            causes.append(required(f"{place}.name"))
        if not path:
            causes.append(required(f"{place}.mountPath"))
        if path in seen:
            causes.append(invalid(f"{place}.mountPath", path, _UNIQUE))
        seen.add(path)
        if name in device_names:
            causes.append(invalid(f"{place}.name", name, "must not already exist in volumeDevices"))
        if path in device_paths:
            causes.append(invalid(f"{place}.mountPath", path, "must not already exist as a path in volumeDevices"))
        if not mount.keys() <= _PLAIN:
            causes += _unusual_causes(place, mount, container)
    return causes


def _unusual_causes(place: str, mount: Object, container: Object) -> list[Cause]:
    """Return the causes for sub-paths of volumes and for mount propagation."""
    causes: list[Cause] = []
    for key in ("subPath", "subPathExpr"):
        if path := mount.get(key):
            causes += [invalid(f"volumeMounts.{key}", path, text) for text in descending_path(path)]
    expression, propagation = mount.get("subPathExpr"), mount.get("mountPropagation")
    if expression and mount.get("subPath"):
        causes.append(invalid(f"{place}.subPathExpr", expression, "subPathExpr and subPath are mutually exclusive"))
    if propagation is not None and propagation not in _PROPAGATIONS:
        causes.append(not_supported(f"{place}.mountPropagation", propagation, _PROPAGATIONS))
    causes += recursion_causes(mount, place)
    if propagation == "Bidirectional" and not (container.get("securityContext") or {}).get("privileged"):
        text = "Bidirectional mount propagation is available only to privileged containers"
        causes.append(forbidden(f"{place}.mountPropagation", text))
    return causes


def _device_causes(mounts: Sequence[Object], devices: Sequence[Object]) -> list[Cause]:
    mount_names, mount_paths = _values(mounts, "name"), _values(mounts, "mountPath")
    causes: list[Cause] = []
    names, paths = set(), set()
    for index, device in enumerate(devices):
        if len(causes) > MAX_CAUSES:
            break
        place, name, path = f"volumeDevices[{index}]", device.get("name", ""), device.get("devicePath", "")
        if not name:
            causes.append(required(f"{place}.name"))
        elif name in names:
            causes.append(invalid(f"{place}.name", name, _UNIQUE))
        names.add(name)
        if not path:
            causes.append(required(f"{place}.devicePath"))
        elif path in paths:
            causes.append(invalid(f"{place}.devicePath", path, _UNIQUE))
        paths.add(path)
        if no_backsteps(path):
            causes.append(invalid(f"{place}.devicePath", path, "can not contain backsteps ('..')"))
        if name in mount_names:
            causes.append(invalid(f"{place}.name", name, "must not already exist in volumeMounts"))
        if path in mount_paths:
            causes.append(invalid(f"{place}.devicePath", path, "must not already exist as a path in volumeMounts"))
    return causes


def reference_causes(container: Object, volumes: Mapping[str, Object]) -> list[Cause]:
    """Return the causes for mounts of missing volumes; `volumes` are those of the pod by name."""
    causes: list[Cause] = []
    for index, mount in enumerate(container.get("volumeMounts") or ()):
        if (name := mount.get("name", "")) not in volumes:
            causes.append(not_found(f"volumeMounts[{index}].name", name))
            if len(causes) > MAX_CAUSES:
                break
    for index, device in enumerate(container.get("volumeDevices") or ()):
        name = device.get("name", "")
        if name not in volumes:
            causes.append(not_found(f"volumeDevices[{index}].name", name))
        elif not any(key in volumes[name] for key in _BLOCK_SOURCES):
            causes.append(invalid(f"volumeDevices[{index}].name", name, _NOT_BLOCK))
        if len(causes) > MAX_CAUSES:
            break
    return causes
