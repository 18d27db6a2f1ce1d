"""Validation of pods beyond that of templates (reference KIND-35, KIND-38)."""

from __future__ import annotations

from orchtw.errors import MAX_CAUSES, Cause
from orchtw.naming.naming import Naming
from orchtw.registry.groups.core.newer_pods import gated_node_causes
from orchtw.registry.groups.core.pod_annotations import (
    annotation_causes,
    annotation_update_causes,
    annotations_of,
    keys_in,
    seccomp_causes,
)
from orchtw.registry.groups.core.pod_containers import image_causes
from orchtw.registry.groups.core.pod_updates import spec_update_causes
from orchtw.values import names
from orchtw.values.causes import forbidden, go_quote, invalid, required
from orchtw.wire.objects import Object


def validate_pod(new: Object, old: Object | None, naming: Naming) -> list[Cause]:
    """Validate a new pod, or an update of `old` on the main path."""
    causes = pod_causes(new, old, naming)
    if old is not None:
        return causes + spec_update_causes(new.get("spec") or {}, old.get("spec") or {})
    if new["spec"].get("ephemeralContainers"):
        causes.append(forbidden("spec.ephemeralContainers", "cannot be set on create"))
    return causes


def pod_causes(new: Object, old: Object | None, naming: Naming) -> list[Cause]:
    """Return the causes that reject a pod, whichever path it was written through."""
    causes = image_causes(new["spec"]) + _volume_causes(new) + gated_node_causes(new["spec"])
    if annotations_of(new):
        keys = keys_in(naming.vocabulary)
        causes += annotation_causes(new, old, "metadata.annotations", keys)
        if old is None:
            causes += seccomp_causes(new, keys)
    return causes if old is None else causes + annotation_update_causes(new, old, naming)


def _volume_causes(pod: Object) -> list[Cause]:
    spec = pod.get("spec") or {}
    volumes = spec.get("volumes") or ()
    name = pod["metadata"].get("name", "")
    anonymous = not spec.get("serviceAccountName")
    causes: list[Cause] = []
    claims: set[str] = set()
    for index, volume in enumerate(volumes):
        if len(causes) > MAX_CAUSES:
            break
        if "ephemeral" in volume:
            claims.add(claim := f"{name}-{volume.get('name', '')}")
            texts = (f"PVC name {go_quote(claim)}: {text}" for text in names.dns_subdomain(claim))
            if name and volume.get("name"):
                causes += [invalid(f"spec.volumes[{index}].name", volume["name"], text) for text in texts]
        elif "image" in volume and not (volume["image"] or {}).get("reference"):
            causes.append(required(f"spec.volumes[{index}].image.reference"))
        elif "projected" in volume and anonymous:
            causes += _tokens(volume["projected"], f"spec.volumes[{index}].projected")
    return causes + _shared_claims(pod, claims) if claims else causes


def _tokens(projected: Object, place: str) -> list[Cause]:
    text = "must not be specified when serviceAccountName is not set"
    return [
        forbidden(f"{place}.sources[{index}].serviceAccountToken", text)
        for index, source in enumerate(projected.get("sources") or ())
        if source.get("serviceAccountToken") is not None
    ][: MAX_CAUSES + 1]


def _shared_claims(pod: Object, claims: set[str]) -> list[Cause]:
    """Return the causes for volumes that use the claim made for another volume of the pod."""
    text = "must not reference a PVC that gets created for an ephemeral volume"
    causes = []
    for index, volume in enumerate(pod["spec"]["volumes"]):
        claim = (volume.get("persistentVolumeClaim") or {}).get("claimName")
        if claim in claims:
            causes.append(invalid(f"spec.volumes[{index}].persistentVolumeClaim.claimName", claim, text))
    return causes[: MAX_CAUSES + 1]
