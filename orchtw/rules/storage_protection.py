"""Finalizers that protect storage in use, and the claims that a pod uses (reference CTRL-28, PLUG-22)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from orchtw.wire.objects import Object

CLAIM_FINALIZER: Final = "orch.io/pvc-protection"
VOLUME_FINALIZER: Final = "orch.io/pv-protection"
_OVER: Final = ("Succeeded", "Failed")


def claims_of(pod: Object) -> Iterator[str]:
    """Yield the names of the claims that a pod uses; a terminated pod uses none."""
    if (pod.get("status") or {}).get("phase") in _OVER:
        return
    for volume in (pod.get("spec") or {}).get("volumes") or ():
        if claim := volume.get("persistentVolumeClaim"):
            yield claim.get("claimName", "")
        elif volume.get("ephemeral"):
            yield f"{pod['metadata']['name']}-{volume['name']}"
