"""NamespaceAutoProvision: a create in a missing namespace also creates the namespace (reference PLUG-3)."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from orchtw.admission.attributes import Attributes, Operation
from orchtw.admission.host import AdmissionHost
from orchtw.errors import StatusError
from orchtw.registry.listers.lister import Lister
from orchtw.registry.listers.namespaces import Namespaces, NamespaceState
from orchtw.schema.catalogue import ResourceType


class NamespaceAutoProvision:
    """Plugin NamespaceAutoProvision; `make` creates a namespace as the server unless it exists.

    A dry run creates none.
    """

    def __init__(self, namespaces: Lister[NamespaceState], make: Callable[[str], Awaitable[None]]) -> None:
        self._namespaces = namespaces
        self._make = make

    @classmethod
    def of(cls, host: AdmissionHost) -> NamespaceAutoProvision:
        """Return the plugin, backed by the server's namespaces."""
        return cls(Namespaces(host.targets), host.make_namespace)

    def handles(self, operation: Operation, resource: ResourceType, subresource: str) -> bool:
        """Handle creates in namespaces."""
        return operation == "CREATE" and resource.namespaced

    async def admit(self, attributes: Attributes) -> None:
        """Create the namespace if it is missing. Raises Forbidden (403) if it cannot be created."""
        namespace = attributes.namespace
        if attributes.dry_run or self._namespaces.get("", namespace) is not None:
            return
        try:
            await self._make(namespace)
        except StatusError as error:
            raise attributes.forbidden(error.message) from error
