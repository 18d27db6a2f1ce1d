"""Persistent volumes and the claims on them, wherever they stand."""

from __future__ import annotations

from orchtw.objects import Object
from orchtw.registry.defaults.places import put
from orchtw.registry.defaults.quantities import round_up

_VOLUME_TAIL = ("persistentVolumeReclaimPolicy", "storageClassName", "mountOptions", "volumeMode", "nodeAffinity")


def fill_volume(volume: Object) -> None:
    """A persistent volume; the spec of one inside a volume attachment gets none of this."""
    spec = volume["spec"]
    if "persistentVolumeReclaimPolicy" not in spec:
        put(spec, "persistentVolumeReclaimPolicy", "Retain", _VOLUME_TAIL)
    if "volumeMode" not in spec:
        put(spec, "volumeMode", "Filesystem", _VOLUME_TAIL)
    round_up(spec, "capacity")


def fill_claim(claim: Object) -> None:
    """A claim."""
    fill_claim_spec(claim["spec"])
    round_up(claim["status"], "capacity", "allocatedResources")


def fill_claim_spec(spec: Object) -> None:
    """What is asked of a volume."""
    round_up(spec["resources"], "limits", "requests")
