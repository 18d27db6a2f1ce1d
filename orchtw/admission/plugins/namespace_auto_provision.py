"""NamespaceAutoProvision: who creates something in a namespace creates the namespace too (reference PLUG-3)."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from orchtw.admission.attributes import Attributes, Operation
from orchtw.admission.host import AdmissionHost
from orchtw.admission.plugins.namespace_lifecycle import NamespaceLookup
from orchtw.errors import StatusError
from orchtw.registry.namespace_lookup import Namespaces
from orchtw.schema.catalogue import ResourceType


class NamespaceAutoProvision:
    """`make` creates a namespace as the server, unless it is there. A dry run creates none."""

    def __init__(self, namespaces: NamespaceLookup, make: Callable[[str], Awaitable[None]]) -> None:
        self._namespaces = namespaces
        self._make = make

    @classmethod
    def of(cls, host: AdmissionHost) -> NamespaceAutoProvision:
        """The plugin over the server's own namespaces."""
        return cls(Namespaces(host.targets), host.make_namespace)

    def handles(self, operation: Operation, resource: ResourceType, subresource: str) -> bool:
        """Handle creates in namespaces."""
        return operation == "CREATE" and resource.namespaced

    async def admit(self, attributes: Attributes) -> None:
        """Create the namespace. Forbidden (403): it cannot be created."""
        namespace = attributes.namespace
        if attributes.dry_run or self._namespaces.phase_of(namespace) is not None:
            return
        try:
            await self._make(namespace)
        except StatusError as error:
            raise attributes.forbidden(error.message) from error
