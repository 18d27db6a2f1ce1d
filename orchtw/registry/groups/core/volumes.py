"""Persistent volumes and the claims on them, wherever they stand."""

from __future__ import annotations

from orchtw.objects import Object
from orchtw.registry.amounts import round_up
from orchtw.registry.emission_order import put
from orchtw.registry.kind import Kind
from orchtw.schema.tables import cells_core

_VOLUME_TAIL = ("persistentVolumeReclaimPolicy", "storageClassName", "mountOptions", "volumeMode", "nodeAffinity")


def set_volume_defaults(volume: Object) -> None:
    """A persistent volume; the spec of one inside a volume attachment gets none of this."""
    spec = volume["spec"]
    if "persistentVolumeReclaimPolicy" not in spec:
        put(spec, "persistentVolumeReclaimPolicy", "Retain", _VOLUME_TAIL)
    if "volumeMode" not in spec:
        put(spec, "volumeMode", "Filesystem", _VOLUME_TAIL)
    round_up(spec, "capacity")


def set_claim_defaults(claim: Object) -> None:
    """A claim."""
    set_claim_spec_defaults(claim["spec"])
    round_up(claim["status"], "capacity", "allocatedResources")


def set_claim_spec_defaults(spec: Object) -> None:
    """What is asked of a volume."""
    round_up(spec["resources"], "limits", "requests")


PERSISTENT_VOLUME = Kind(
    group="", kind="PersistentVolume", set_defaults=set_volume_defaults, cells=cells_core.volume
)
PERSISTENT_VOLUME_CLAIM = Kind(
    group="", kind="PersistentVolumeClaim", set_defaults=set_claim_defaults, cells=cells_core.claim
)
