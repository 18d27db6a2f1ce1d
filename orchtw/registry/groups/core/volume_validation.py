"""Validation of persistent volumes: one source each, which does not change (reference KIND-73)."""

from __future__ import annotations

import posixpath
from typing import Final

from orchtw.errors import Cause
from orchtw.naming.naming import Naming
from orchtw.registry.groups.core.access_modes import check_access_modes
from orchtw.registry.groups.core.volume_sources import gce_disk_causes
from orchtw.schema.validation.problems import IMMUTABLE, at, within
from orchtw.values.causes import forbidden, go_value, invalid, not_supported, required
from orchtw.values.names import dns_subdomain
from orchtw.values.quantity import quantity
from orchtw.wire.objects import Object

SOURCES: Final = (
    *("hostPath", "gcePersistentDisk", "awsElasticBlockStore", "glusterfs", "flocker", "nfs", "rbd", "quobyte"),
    *("cephfs", "iscsi", "cinder", "fc", "flexVolume", "azureFile", "vsphereVolume", "photonPersistentDisk"),
    *("portworxVolume", "azureDisk", "scaleIO", "local", "storageos", "csi"),
)
"""Sources in the order in which they are counted."""

_WITH_OPTIONS: Final = frozenset(
    (
        *("gcePersistentDisk", "awsElasticBlockStore", "glusterfs", "nfs", "rbd", "quobyte", "iscsi", "cinder"),
        *("cephfs", "azureFile", "vsphereVolume", "azureDisk", "photonPersistentDisk"),
    )
)
"""Sources that are mounted with options of their own."""

_OPTIONS_ANNOTATION: Final = "volume.beta.orch.io/mount-options"
_POLICIES: Final = ("Delete", "Recycle", "Retain")
_MODES: Final = ("Block", "Filesystem")
_LONGEST_INTERFACE: Final = 64
_TOO_LONG: Final = (
    "Total length of <volume name>:<iscsi.targetPortal> must be under 64 characters if iscsi.initiatorName is "
    "specified."
)


def validate_volume(new: Object, old: Object | None, naming: Naming) -> list[Cause]:
    """Validate a PersistentVolume and the immutability of its source."""
    spec = new["spec"]
    given = [source for source in SOURCES if spec.get(source) is not None]
    causes = within("spec", _check_spec(spec) + _check_sources(spec, given, new["metadata"].get("name", "")))
    annotation = naming.translate(_OPTIONS_ANNOTATION)
    if annotation in (new["metadata"].get("annotations") or ()) and _WITH_OPTIONS.isdisjoint(given):
        text = "may not specify mount options for this volume type"
        causes.append(forbidden(f"metadata.annotations.{annotation}", text))
    return causes if old is None else causes + _check_change(spec, old["spec"])


def _check_spec(spec: Object) -> list[Cause]:
    causes = check_access_modes(spec.get("accessModes") or ())
    causes += _check_capacity(spec.get("capacity") or {})
    policy = spec.get("persistentVolumeReclaimPolicy")
    if policy and policy not in _POLICIES:
        causes.append(not_supported("persistentVolumeReclaimPolicy", policy, _POLICIES))
    if storage_class := spec.get("storageClassName"):
        causes += [invalid("storageClassName", storage_class, text) for text in dns_subdomain(storage_class)]
    mode = spec.get("volumeMode")
    if mode is not None and mode not in _MODES:
        causes.append(not_supported("volumeMode", mode, _MODES))
    return causes


def _check_capacity(capacity: dict[str, str]) -> list[Cause]:
    causes = [] if capacity else [required("capacity")]
    if capacity.keys() != {"storage"}:
        causes.append(not_supported("capacity", capacity, ["storage"]))
    for name in sorted(capacity)[:2]:
        text = capacity[name]
        amount = quantity(text).mantissa
        if amount < 0:
            causes.append(invalid(f"capacity{at(name)}", text, "must be a valid resource quantity"))
        if amount <= 0:
            causes.append(invalid(f"capacity{at(name)}", text, "must be greater than zero"))
    return causes


def _check_sources(spec: Object, given: list[str], name: str) -> list[Cause]:
    """Return the causes for a wrong number of sources, and for fields that depend on the source."""
    if not given:
        return [required("", "must specify a volume type")]
    text = "may not specify more than 1 volume type"
    causes = [forbidden(source, text) for source in given[1:] if source != "flexVolume"]
    path = (spec.get("hostPath") or {}).get("path")
    if path and posixpath.normpath(path).strip("/") == "" and spec.get("persistentVolumeReclaimPolicy") == "Recycle":
        causes.append(forbidden("persistentVolumeReclaimPolicy", "may not be 'recycle' for a hostPath mount of '/'"))
    if "local" in given and spec.get("nodeAffinity") is None:
        causes.append(required("nodeAffinity", "Local volume requires node affinity"))
    if (disk := spec.get("gcePersistentDisk")) is not None:
        causes += gce_disk_causes(disk)
    disk = spec.get("iscsi") or {}
    portal = disk.get("targetPortal", "")
    if disk.get("initiatorName") is not None and len(f"{name}:{portal}") > _LONGEST_INTERFACE:
        causes.append(invalid("iscsi.targetportal", portal, _TOO_LONG))
    return causes


def _check_change(spec: Object, before: Object) -> list[Cause]:
    causes = []
    if any(_settled(spec, before, source) != before.get(source) for source in SOURCES):
        text = "spec.persistentvolumesource is immutable after creation"
        causes.append(forbidden("spec.persistentvolumesource", text))
    if spec.get("volumeMode") != before.get("volumeMode"):
        causes.append(invalid("volumeMode", spec.get("volumeMode"), IMMUTABLE))
    had, affinity = before.get("nodeAffinity"), spec.get("nodeAffinity")
    if had is not None and affinity != had:
        causes.append(Cause("FieldValueInvalid", f"Invalid value: {go_value(affinity)}: {IMMUTABLE}", "nodeAffinity"))
    return causes


def _settled(spec: Object, before: Object, source: str) -> Object | None:
    """Return the source without a field that may be added once: the Secret for growing a CSI volume."""
    found: Object | None = spec.get(source)
    late = "controllerExpandSecretRef"
    if source != "csi" or found is None or (before.get(source) or {late: {}}).get(late) is not None:
        return found
    return {key: value for key, value in found.items() if key != late}
