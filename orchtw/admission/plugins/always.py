"""AlwaysAdmit and AlwaysDeny: everything passes, and nothing does (reference PLUG-1)."""

from __future__ import annotations

from orchtw.admission.attributes import Attributes, Operation
from orchtw.schema.catalogue import ResourceType


class AlwaysAdmit:
    """Has no opinion; it is there for command lines of old."""

    def handles(self, operation: Operation, resource: ResourceType, subresource: str) -> bool:
        """Nothing, which spares writes the question."""
        return False


class AlwaysDeny:
    """Refuses every write, for tests of clients."""

    def handles(self, operation: Operation, resource: ResourceType, subresource: str) -> bool:
        """Everything."""
        return True

    async def admit(self, attributes: Attributes) -> None:
        """Forbidden (403)."""
        raise attributes.forbidden("admission control is denying all modifications")

    validate = admit
