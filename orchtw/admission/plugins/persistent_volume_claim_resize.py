"""PersistentVolumeClaimResize: claims grow where their class lets them (reference PLUG-22)."""

from __future__ import annotations

from typing import Final

from orchtw.admission.attributes import Attributes, Operation
from orchtw.admission.host import AdmissionHost
from orchtw.registry.groups.core.claim_validation import CLASS_ANNOTATION
from orchtw.registry.storage_class_lookup import StorageClasses
from orchtw.schema.catalogue import ResourceType
from orchtw.values.quantity import Quantity
from orchtw.wire.objects import Object

_UNBOUND: Final = "Only bound persistent volume claims can be expanded"
_STATIC: Final = (
    "only dynamically provisioned pvc can be resized and the storageclass that provisions the pvc must support resize"
)


class PersistentVolumeClaimResize:
    """A claim's class may stand in the annotation of old, which counts before the field."""

    def __init__(self, classes: StorageClasses, annotation: str) -> None:
        self._classes = classes
        self._annotation = annotation

    @classmethod
    def of(cls, host: AdmissionHost) -> PersistentVolumeClaimResize:
        """The plugin over the server's own classes."""
        return cls(StorageClasses(host.targets, host.naming), host.naming.translate(CLASS_ANNOTATION))

    def handles(self, operation: Operation, resource: ResourceType, subresource: str) -> bool:
        """Handle updates of PersistentVolumeClaims."""
        return operation == "UPDATE" and not subresource and resource.qualified == "persistentvolumeclaims"

    async def validate(self, attributes: Attributes) -> None:
        """Forbidden (403): the claim grows, and is not bound, or its class does not let it."""
        claim, before = attributes.obj or {}, attributes.old or {}
        if _size(claim).compare(_size(before)) <= 0:
            return
        if (before.get("status") or {}).get("phase") != "Bound":
            raise attributes.forbidden(_UNBOUND)
        name = self._class_of(claim)
        if not name or name != self._class_of(before) or not await self._classes.may_expand(name):
            raise attributes.forbidden(_STATIC)

    def _class_of(self, claim: Object) -> str:
        annotated = (claim.get("metadata", {}).get("annotations") or {}).get(self._annotation)
        return str(annotated if annotated is not None else (claim.get("spec") or {}).get("storageClassName") or "")


def _size(claim: Object) -> Quantity:
    requests = ((claim.get("spec") or {}).get("resources") or {}).get("requests") or {}
    return Quantity.parse(requests.get("storage", "0"))
