"""Volumes that are, or are to be, attached to nodes."""

from __future__ import annotations

from typing import Final

from orchtw.errors import Cause
from orchtw.naming.naming import Naming
from orchtw.registry.groups.storage.sizes import MAX_BYTES, text_bytes
from orchtw.registry.kind import KindRecord
from orchtw.schema.tables import cells_cluster
from orchtw.values import utf8
from orchtw.values.causes import forbidden, invalid, required, too_long
from orchtw.values.names import csi_driver, dns_subdomain
from orchtw.wire.objects import Object

_MAX_DRIVER_NAME: Final = 63
_MAX_MESSAGE_BYTES: Final = 1024
_SOURCE: Final = "spec.source"
_INLINE: Final = f"{_SOURCE}.inlineVolumeSpec"
_ONE: Final = "must specify exactly one of inlineVolumeSpec and persistentVolumeName"
_INLINE_CONTEXT: Final = "in the context of inline volumes"
_POINTERS: Final = ("claimRef", "nodeAffinity")
_NOT_INLINE: Final = (*_POINTERS, "capacity", "storageClassName")


def validate_attachment(new: Object, old: Object | None, naming: Naming) -> list[Cause]:
    """Validate that there is one volume, by name or in full; forms of names are checked on new attachments only."""
    spec = new["spec"]
    source = spec.get("source") or {}
    causes = _source_causes(source)
    if old is not None:
        return causes
    attacher, name = spec.get("attacher"), source.get("persistentVolumeName")
    if attacher:
        if len(attacher) > _MAX_DRIVER_NAME:
            causes.append(too_long("spec.attacher", _MAX_DRIVER_NAME))
        causes += [invalid("spec.attacher", attacher, text) for text in csi_driver(attacher)]
    if name:
        causes += [invalid(f"{_SOURCE}.persistentVolumeName", name, text) for text in dns_subdomain(name)]
    return causes


def _source_causes(source: Object) -> list[Cause]:
    name, inline = source.get("persistentVolumeName"), source.get("inlineVolumeSpec")
    if name is not None and inline is not None:
        return [forbidden(_SOURCE, _ONE)]
    if inline is not None:
        return _inline_causes(inline)
    if name is None:
        return [required(_SOURCE, _ONE)]
    return (
        [] if name else [required(f"{_SOURCE}.persistentVolumeName", "must specify non empty persistentVolumeName")]
    )


def _inline_causes(volume: Object) -> list[Cause]:
    """Return the causes for a pod's own volume that is not of a CSI driver."""
    causes = [
        forbidden(f"{_INLINE}.{key}", f"may not be specified {_INLINE_CONTEXT}")
        for key in _NOT_INLINE
        if volume.get(key) or (key in _POINTERS and volume.get(key) is not None)
    ]
    if volume.get("csi") is None:
        causes.append(required(f"{_INLINE}.csi", f"has to be specified {_INLINE_CONTEXT}"))
    if not volume.get("accessModes"):
        causes.append(required(f"{_INLINE}.accessModes"))
    if volume.get("persistentVolumeReclaimPolicy") not in (None, "", "Retain"):
        field = f"{_INLINE}.persistentVolumeReclaimPolicy"
        causes.append(forbidden(field, f"may only be Retain {_INLINE_CONTEXT}"))
    if volume.get("volumeMode") not in (None, "Filesystem"):
        text = f"may not specify volumeMode other than Filesystem {_INLINE_CONTEXT}"
        causes.append(forbidden(f"{_INLINE}.volumeMode", text))
    return causes


def validate_attachment_status(new: Object, old: Object, naming: Naming) -> list[Cause]:
    """Check the size of texts from drivers."""
    status = new.get("status") or {}
    causes = []
    if text_bytes(status.get("attachmentMetadata") or {}) > MAX_BYTES:
        causes.append(too_long("status.attachmentMetadata", MAX_BYTES))
    for key in ("attachError", "detachError"):
        message = (status.get(key) or {}).get("message", "")
        if utf8.size(message) > _MAX_MESSAGE_BYTES:
            causes.append(too_long(f"status.{key}.message", MAX_BYTES))  # the limit that the release shows
    return causes


VOLUME_ATTACHMENT = KindRecord(
    group="storage.orch.io",
    kind="VolumeAttachment",
    unconditional_update=False,
    status_ignores=("spec", "metadata"),
    validate=validate_attachment,
    validate_status=validate_attachment_status,
    cells=cells_cluster.volume_attachment,
)
