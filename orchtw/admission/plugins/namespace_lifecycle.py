"""NamespaceLifecycle: nothing is created in a namespace that is missing or terminating (reference ERR-6, DEL-14)."""

from __future__ import annotations

from collections.abc import Awaitable
from typing import Protocol

from orchtw.admission.attributes import Attributes, Operation
from orchtw.admission.host import AdmissionHost
from orchtw.errors import Cause, InternalError, NotFound
from orchtw.naming.names import Naming
from orchtw.registry.namespace_lookup import Namespaces
from orchtw.schema.catalogue import ResourceType


class NamespaceLookup(Protocol):
    """The namespaces there are."""

    def phase_of(self, name: str) -> str | None:
        """The namespace's status.phase, or None where there is no such namespace."""

    def due(self) -> Awaitable[None] | None:
        """Return what to await before a namespace counts as missing, or None."""


class NamespaceLifecycle:
    """A namespace that another process has just made counts too, though the cache may not know of it yet."""

    def __init__(self, naming: Naming, namespaces: NamespaceLookup) -> None:
        self._namespaces = namespaces
        self._immortal = frozenset({naming.default_namespace, naming.system_namespace, naming.public_namespace})
        self._exempt = f"localsubjectaccessreviews.{naming.group('authorization.orch.io')}"

    @classmethod
    def of(cls, host: AdmissionHost) -> NamespaceLifecycle:
        """The plugin over the server's own namespaces."""
        return cls(host.naming, Namespaces(host.targets))

    def handles(self, operation: Operation, resource: ResourceType, subresource: str) -> bool:
        """Creates and updates in namespaces, and deletes of namespaces; a review must not tell which namespaces
        there are.
        """
        if operation in ("CREATE", "UPDATE"):
            return resource.namespaced and resource.qualified != self._exempt
        return operation == "DELETE" and resource.qualified == "namespaces"

    async def admit(self, attributes: Attributes) -> None:
        """Refuse writes in missing (404) and creates in terminating (403) namespaces, and the end of the built-in
        ones (403).
        """
        if attributes.operation != "DELETE":
            await self._check_namespace(attributes)
        elif attributes.name in self._immortal:
            raise attributes.forbidden("this namespace may not be deleted")

    async def _check_namespace(self, attributes: Attributes) -> None:
        namespace = attributes.namespace
        try:
            phase = await self._phase_of(attributes, namespace)
        except InternalError:
            if attributes.operation == "UPDATE":
                return  # it is there, though nobody can read it: its objects are looked after
            raise
        if phase is None:
            raise NotFound.of("namespaces", "", namespace)
        if phase == "Terminating" and attributes.operation == "CREATE":
            why = f"unable to create new content in namespace {namespace} because it is being terminated"
            cause = Cause("NamespaceTerminating", f"namespace {namespace} is being terminated", "metadata.namespace")
            raise attributes.forbidden(why, [cause])

    async def _phase_of(self, attributes: Attributes, namespace: str) -> str | None:
        phase = self._namespaces.phase_of(namespace)
        if phase is None and (due := self._namespaces.due()) is not None:
            await attributes.until_known(due)
            phase = self._namespaces.phase_of(namespace)
        return phase
