"""PersistentVolumeLabel: labels of cloud providers' zones, of which this server knows none (reference PLUG-22)."""

from __future__ import annotations

from orchtw.admission.attributes import Operation
from orchtw.schema.catalogue import ResourceType


class PersistentVolumeLabel:
    """Without a cloud provider there is nothing to add, in the release neither."""

    def handles(self, operation: Operation, resource: ResourceType, subresource: str) -> bool:
        """Handle nothing: labels come from cloud providers."""
        return False
