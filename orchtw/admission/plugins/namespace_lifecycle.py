"""NamespaceLifecycle: no writes in missing namespaces, no creates in terminating ones (reference ERR-6, DEL-14)."""

from __future__ import annotations

from orchtw.admission.attributes import Attributes, Operation
from orchtw.admission.host import AdmissionHost
from orchtw.errors import Cause, InternalError, NotFound
from orchtw.naming.naming import Naming
from orchtw.registry.listers.lister import Lister
from orchtw.registry.listers.namespaces import Namespaces, NamespaceState
from orchtw.schema.catalogue import ResourceType


class NamespaceLifecycle:
    """Plugin NamespaceLifecycle; a namespace just created by another process counts, even if not yet in the cache."""

    def __init__(self, naming: Naming, namespaces: Lister[NamespaceState]) -> None:
        self._namespaces = namespaces
        self._immortal = frozenset({naming.default_namespace, naming.system_namespace, naming.public_namespace})
        self._exempt = f"localsubjectaccessreviews.{naming.group('authorization.orch.io')}"

    @classmethod
    def of(cls, host: AdmissionHost) -> NamespaceLifecycle:
        """Return the plugin, backed by the server's namespaces."""
        return cls(host.naming, Namespaces(host.targets))

    def handles(self, operation: Operation, resource: ResourceType, subresource: str) -> bool:
        """Handle creates and updates in namespaces, and deletes of Namespaces.

        LocalSubjectAccessReviews are exempt: they must not reveal which namespaces exist.
        """
        if operation in ("CREATE", "UPDATE"):
            return resource.namespaced and resource.qualified != self._exempt
        return operation == "DELETE" and resource.qualified == "namespaces"

    def idle(self, attributes: Attributes) -> bool:
        """Report whether a write is into a namespace that is known and may take it."""
        operation = attributes.operation
        if operation == "DELETE":
            return False
        try:
            found = self._namespaces.get("", attributes.namespace)
        except InternalError:
            return False
        return found is not None and (operation == "UPDATE" or found.phase != "Terminating")

    async def admit(self, attributes: Attributes) -> None:
        """Refuse writes in missing (404) and creates in terminating (403) namespaces.

        Deletes of the built-in namespaces are refused too (403).
        """
        if attributes.operation != "DELETE":
            await self._check_namespace(attributes)
        elif attributes.name in self._immortal:
            raise attributes.forbidden("this namespace may not be deleted")

    async def _check_namespace(self, attributes: Attributes) -> None:
        namespace = attributes.namespace
        try:
            found = await attributes.find(self._namespaces, "", namespace)
        except InternalError:
            if attributes.operation == "UPDATE":
                return  # it exists but cannot be read: its objects can still be updated
            raise
        if found is None:
            raise NotFound.of("namespaces", "", namespace)
        if found.phase == "Terminating" and attributes.operation == "CREATE":
            why = f"unable to create new content in namespace {namespace} because it is being terminated"
            cause = Cause("NamespaceTerminating", f"namespace {namespace} is being terminated", "metadata.namespace")
            raise attributes.forbidden(why, [cause])
