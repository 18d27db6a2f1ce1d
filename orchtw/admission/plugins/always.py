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
    """Refuses every write, for tests of clients; but not those of `own`, the server's user, that no request asks for.

    Without the namespaces, roles and the like that it makes for itself a server would never be ready.
    """

    def __init__(self, own: str) -> None:
        self._own = own

    def handles(self, operation: Operation, resource: ResourceType, subresource: str) -> bool:
        """Handle every kind of write."""
        return True

    async def admit(self, attributes: Attributes) -> None:
        """Raise Forbidden (403) for every write."""
        if attributes.request is None and attributes.user.name == self._own:
            return
        raise attributes.forbidden("admission control is denying all modifications")

    validate = admit
