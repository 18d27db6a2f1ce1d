"""AlwaysAdmit and AlwaysDeny: the plugins that admit and refuse every write (reference PLUG-1)."""

from __future__ import annotations

from orchtw.admission.attributes import Attributes, Operation
from orchtw.schema.catalogue import ResourceType


class AlwaysAdmit:
    """Plugin AlwaysAdmit, which does nothing and remains for old command lines."""

    def handles(self, operation: Operation, resource: ResourceType, subresource: str) -> bool:
        """Handle nothing, so that writes skip the plugin."""
        return False


class AlwaysDeny:
    """Plugin AlwaysDeny, for tests of clients: refuses all writes but those that the server makes itself, as `own`.

    Without the namespaces, roles and the like that it makes, a server would never be ready.
    """

    def __init__(self, own: str) -> None:
        self._own = own

    def handles(self, operation: Operation, resource: ResourceType, subresource: str) -> bool:
        """Handle every kind of write."""
        return True

    async def admit(self, attributes: Attributes) -> None:
        """Raise Forbidden (403) for every write but the server's own."""
        if attributes.request is None and attributes.user.name == self._own:
            return
        raise attributes.forbidden("admission control is denying all modifications")

    validate = admit
