"""NamespaceExists: no writes in a namespace that does not exist (reference PLUG-3)."""

from __future__ import annotations

from orchtw.admission.attributes import Attributes, Operation
from orchtw.admission.host import AdmissionHost
from orchtw.errors import NotFound
from orchtw.registry.listers.lister import Lister
from orchtw.registry.listers.namespaces import Namespaces, NamespaceState
from orchtw.schema.catalogue import ResourceType


class NamespaceExists:
    """Plugin NamespaceExists; a namespace just created by another process counts, even if not yet in the cache."""

    def __init__(self, namespaces: Lister[NamespaceState]) -> None:
        self._namespaces = namespaces

    @classmethod
    def of(cls, host: AdmissionHost) -> NamespaceExists:
        """Return the plugin, backed by the server's namespaces."""
        return cls(Namespaces(host.targets))

    def handles(self, operation: Operation, resource: ResourceType, subresource: str) -> bool:
        """Handle writes in namespaces, deletes included."""
        return resource.namespaced and operation != "CONNECT"

    async def validate(self, attributes: Attributes) -> None:
        """Raise NotFound (404) if the namespace does not exist."""
        if await attributes.find(self._namespaces, "", attributes.namespace) is None:
            raise NotFound.of("namespaces", "", attributes.namespace)
