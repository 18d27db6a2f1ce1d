"""NamespaceLifecycle: nothing is created in a namespace that is missing or terminating (reference ERR-6, DEL-14)."""

from __future__ import annotations

from collections.abc import Callable

from orchtw.admission.attributes import Attributes, Operation
from orchtw.admission.host import Host
from orchtw.errors import Cause, NotFound
from orchtw.naming import Naming
from orchtw.registry.namespace_lookup import Namespaces
from orchtw.schema.catalogue import ResourceType


class NamespaceLifecycle:
    """`phase_of` gives a namespace's status.phase, or None where there is no such namespace."""

    def __init__(self, naming: Naming, phase_of: Callable[[str], str | None]) -> None:
        self._phase_of = phase_of
        self._immortal = frozenset({naming.default_namespace, naming.system_namespace, naming.public_namespace})
        self._exempt = f"localsubjectaccessreviews.{naming.group('authorization.orch.io')}"

    @classmethod
    def of(cls, host: Host) -> NamespaceLifecycle:
        """The plugin over the server's own namespaces."""
        return cls(host.naming, Namespaces(host.targets).phase_of)

    def handles(self, operation: Operation, resource: ResourceType, subresource: str) -> bool:
        """Creates in namespaces, and deletes of namespaces; a review must not tell which namespaces there are."""
        if operation == "CREATE":
            return resource.namespaced and resource.qualified != self._exempt
        return operation == "DELETE" and resource.qualified == "namespaces"

    async def admit(self, attributes: Attributes) -> None:
        """Refuse creates in missing (404) or terminating (403) namespaces, and the end of the built-in ones (403)."""
        if attributes.operation == "CREATE":
            self._check_namespace(attributes)
        elif attributes.name in self._immortal:
            raise attributes.forbidden("this namespace may not be deleted")

    def _check_namespace(self, attributes: Attributes) -> None:
        namespace = attributes.namespace
        phase = self._phase_of(namespace)
        if phase is None:
            raise NotFound.of("namespaces", "", namespace)
        if phase == "Terminating":
            why = f"unable to create new content in namespace {namespace} because it is being terminated"
            cause = Cause("NamespaceTerminating", f"namespace {namespace} is being terminated", "metadata.namespace")
            raise attributes.forbidden(why, [cause])
