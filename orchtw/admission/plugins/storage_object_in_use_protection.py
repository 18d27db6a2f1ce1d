"""StorageObjectInUseProtection: finalizers that keep claims and volumes while they are in use (reference PLUG-22).

Controllers remove the finalizers.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from orchtw.admission.attributes import Attributes, Operation
from orchtw.admission.host import AdmissionHost
from orchtw.registry.emission_order import put
from orchtw.rules.storage_protection import CLAIM_FINALIZER, VOLUME_FINALIZER
from orchtw.schema.catalogue import ResourceType

_FROM_FINALIZERS_ON: Final = ("finalizers", "clusterName", "managedFields")


class StorageObjectInUseProtection:
    """Plugin StorageObjectInUseProtection; `finalizers` has one for each resource."""

    def __init__(self, finalizers: Mapping[str, str]) -> None:
        self._finalizers = finalizers

    @classmethod
    def of(cls, host: AdmissionHost) -> StorageObjectInUseProtection:
        """Return the plugin with the finalizers of the server's vocabulary."""
        translate = host.naming.translate
        return cls(
            {"persistentvolumeclaims": translate(CLAIM_FINALIZER), "persistentvolumes": translate(VOLUME_FINALIZER)}
        )

    def handles(self, operation: Operation, resource: ResourceType, subresource: str) -> bool:
        """Handle creates of PersistentVolumeClaims and PersistentVolumes."""
        return operation == "CREATE" and not subresource and resource.qualified in self._finalizers

    async def admit(self, attributes: Attributes) -> None:
        """Add the finalizer, unless present."""
        obj = attributes.obj or {}
        meta = dict(obj.get("metadata") or {})
        finalizer = self._finalizers[attributes.resource.qualified]
        present = meta.get("finalizers") or []
        if finalizer not in present:
            put(meta, "finalizers", [*present, finalizer], _FROM_FINALIZERS_ON)
            attributes.fill({**obj, "metadata": meta})
