"""PersistentVolumeClaimResize: claims grow only if their class allows expansion (reference PLUG-22)."""

from __future__ import annotations

from typing import Final

from orchtw.admission.attributes import Attributes, Operation
from orchtw.admission.host import AdmissionHost
from orchtw.registry.groups.core.claim_validation import CLASS_ANNOTATION
from orchtw.registry.listers.lister import Lister
from orchtw.registry.listers.storage_classes import expandable_classes
from orchtw.schema.catalogue import ResourceType
from orchtw.values.quantity import Quantity
from orchtw.wire.objects import Object

_UNBOUND: Final = "Only bound persistent volume claims can be expanded"
_STATIC: Final = (
    "only dynamically provisioned pvc can be resized and the storageclass that provisions the pvc must support resize"
)


class PersistentVolumeClaimResize:
    """Plugin PersistentVolumeClaimResize; the older class annotation takes precedence over the field."""

    def __init__(self, classes: Lister[bool], annotation: str) -> None:
        self._classes = classes
        self._annotation = annotation

    @classmethod
    def of(cls, host: AdmissionHost) -> PersistentVolumeClaimResize:
        """Return the plugin, backed by the server's classes."""
        return cls(expandable_classes(host.targets, host.naming), host.naming.translate(CLASS_ANNOTATION))

    def handles(self, operation: Operation, resource: ResourceType, subresource: str) -> bool:
        """Handle updates of PersistentVolumeClaims."""
        return operation == "UPDATE" and not subresource and resource.qualified == "persistentvolumeclaims"

    async def validate(self, attributes: Attributes) -> None:
        """Raise Forbidden (403) for the growth of an unbound claim, or one whose class does not allow expansion."""
        claim, before = attributes.obj or {}, attributes.old or {}
        if _size(claim).compare(_size(before)) <= 0:
            return
        if (before.get("status") or {}).get("phase") != "Bound":
            raise attributes.forbidden(_UNBOUND)
        name = self._class_of(claim)
        if not name or name != self._class_of(before) or not await attributes.find(self._classes, "", name):
            raise attributes.forbidden(_STATIC)

    def _class_of(self, claim: Object) -> str:
        annotated = (claim.get("metadata", {}).get("annotations") or {}).get(self._annotation)
        return str(annotated if annotated is not None else (claim.get("spec") or {}).get("storageClassName") or "")


def _size(claim: Object) -> Quantity:
    requests = ((claim.get("spec") or {}).get("resources") or {}).get("requests") or {}
    return Quantity.parse(requests.get("storage", "0"))
