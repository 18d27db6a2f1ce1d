"""The volume that a claim is bound to, and whether both belong together."""

from __future__ import annotations

from collections.abc import Sequence

from orchtw.simulation.scheduling.static_volumes import capacity_of, matching, size_of
from orchtw.wire.objects import Object


def best_match(claim: Object, volumes: Sequence[Object], *, reserved_only: bool) -> Object | None:
    """Find the volume reserved for a claim, else the smallest that fits; None while every volume is unsuitable."""
    found = matching(claim, volumes)
    reserved = next((each for each in found if each["spec"].get("claimRef") is not None), None)
    if reserved is not None or reserved_only:
        return reserved
    return found[0] if found else None


def is_for(volume: Object, claim: Object) -> bool:
    """Report whether a volume is bound to a claim, or reserved for it."""
    holder, meta = volume["spec"].get("claimRef"), claim["metadata"]
    if holder is None or (holder.get("namespace"), holder.get("name")) != (meta["namespace"], meta["name"]):
        return False
    return holder.get("uid") in (None, "", meta["uid"])


def misfit(volume: Object, claim: Object) -> str:
    """Return why a volume that a claim asks for by name does not suit it; empty if it does."""
    spec, wanted = volume["spec"], claim["spec"]
    if capacity_of(volume) < size_of(claim):
        return "requested PV is too small"
    if (spec.get("storageClassName") or "") != (wanted.get("storageClassName") or ""):
        return "storageClassName does not match"
    if (spec.get("volumeMode") or "Filesystem") != (wanted.get("volumeMode") or "Filesystem"):
        return "incompatible volumeMode"
    if not set(wanted.get("accessModes") or ()) <= set(spec.get("accessModes") or ()):
        return "incompatible accessMode"
    return ""


def holder_of(claim: Object) -> Object:
    """Return the reference to a claim as its volume has it."""
    meta = claim["metadata"]
    return {
        "kind": "PersistentVolumeClaim", "apiVersion": "v1", "namespace": meta["namespace"], "name": meta["name"],
        "uid": meta["uid"], "resourceVersion": meta["resourceVersion"],
    }  # fmt: skip
