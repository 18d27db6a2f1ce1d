"""NamespaceLifecycle: nothing is created where no namespace is, or where one is ending (supplement A4, A14)."""

from __future__ import annotations

from collections.abc import Callable

from orchtw.admission.chain import Attributes
from orchtw.errors import Cause, Forbidden, NotFound
from orchtw.naming import Naming


class NamespaceLifecycle:
    """`phase_of` gives a namespace's status.phase, or None where there is no such namespace."""

    def __init__(self, naming: Naming, phase_of: Callable[[str], str | None]) -> None:
        self._phase_of = phase_of
        self._immortal = frozenset({naming.default_namespace, naming.system_namespace, naming.public_namespace})

    async def admit(self, attributes: Attributes) -> None:
        """Refuse creates in missing (404) or terminating (403) namespaces, and the end of the built-in ones (403)."""
        resource = attributes.resource
        if attributes.operation == "CREATE" and resource.namespaced:
            self._check_namespace(attributes)
        elif attributes.operation == "DELETE" and (resource.group, resource.plural) == ("", "namespaces"):
            if attributes.name in self._immortal:
                raise Forbidden.of("namespaces", "", attributes.name, "this namespace may not be deleted")

    async def validate(self, attributes: Attributes) -> None:
        """Nothing more to say about a finished object."""

    def _check_namespace(self, attributes: Attributes) -> None:
        namespace = attributes.namespace
        phase = self._phase_of(namespace)
        if phase is None:
            raise NotFound.of("namespaces", "", namespace)
        if phase == "Terminating":
            why = f"unable to create new content in namespace {namespace} because it is being terminated"
            cause = Cause("NamespaceTerminating", f"namespace {namespace} is being terminated", "metadata.namespace")
            resource, name = attributes.resource, attributes.shown_name
            raise Forbidden.of(resource.plural, resource.group, name, why, [cause])
