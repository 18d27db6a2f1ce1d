"""PersistentVolumeLabel: zone labels from cloud providers, which this server does not have (reference PLUG-22)."""

from __future__ import annotations

from orchtw.admission.attributes import Operation
from orchtw.schema.catalogue import ResourceType


class PersistentVolumeLabel:
    """Plugin PersistentVolumeLabel, which does nothing, as in the release without a cloud provider."""

    def handles(self, operation: Operation, resource: ResourceType, subresource: str) -> bool:
        """Handle nothing: there are no cloud providers."""
        return False
