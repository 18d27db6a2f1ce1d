"""NamespaceExists: nothing is written where there is no namespace (reference PLUG-3)."""

from __future__ import annotations

from orchtw.admission.attributes import Attributes, Operation
from orchtw.admission.host import AdmissionHost
from orchtw.admission.plugins.namespace_lifecycle import NamespaceLookup
from orchtw.errors import NotFound
from orchtw.registry.namespace_lookup import Namespaces
from orchtw.schema.catalogue import ResourceType


class NamespaceExists:
    """A namespace that another process has just made counts too, though the cache may not know of it yet."""

    def __init__(self, namespaces: NamespaceLookup) -> None:
        self._namespaces = namespaces

    @classmethod
    def of(cls, host: AdmissionHost) -> NamespaceExists:
        """The plugin over the server's own namespaces."""
        return cls(Namespaces(host.targets))

    def handles(self, operation: Operation, resource: ResourceType, subresource: str) -> bool:
        """Writes in namespaces, deletions as well."""
        return resource.namespaced and operation != "CONNECT"

    async def validate(self, attributes: Attributes) -> None:
        """NotFound (404): there is no such namespace."""
        if self._namespaces.phase_of(attributes.namespace) is not None:
            return
        if (due := self._namespaces.due()) is not None:
            await attributes.until_known(due)
            if self._namespaces.phase_of(attributes.namespace) is not None:
                return
        raise NotFound.of("namespaces", "", attributes.namespace)
