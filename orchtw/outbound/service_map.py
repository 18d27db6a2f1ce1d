"""Places that the administrator gives for Services (reference HOOK-36)."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from orchtw.config.service_map import ServiceMapping
from orchtw.outbound.services import ServicePlace, ServiceReference


class ServiceMap:
    """Places to dial by Service and port, whether there is such a Service or not; they may be loopback.

    `look` is called before each answer, so that a file that has just been replaced counts for the next call.
    """

    def __init__(self, given: Sequence[ServiceMapping] = (), look: Callable[[], None] | None = None) -> None:
        self._given = tuple(given)
        self._look = look
        self._listeners: tuple[Callable[[], None], ...] = ()
        self._places: dict[ServiceReference, ServicePlace] = {}
        self._further: Sequence[ServiceMapping] = ()
        self.replace(())

    def replace(self, further: Sequence[ServiceMapping]) -> None:
        """Take over mappings, in place of earlier ones that were not given at the start; they take precedence."""
        before, self._further = self._places, further
        self._places = {_reference(each): _place(each) for each in (*self._given, *further)}
        if before != self._places:
            for changed in self._listeners:
                changed()

    def give(self, mapping: ServiceMapping) -> None:
        """Add a mapping of this process itself; those of the administrator take precedence."""
        self._given = (mapping, *self._given)
        self.replace(self._further)

    def listen(self, changed: Callable[[], None]) -> None:
        """Call `changed`, which must not raise, after each change."""
        self._listeners = (*self._listeners, changed)

    def place(self, wanted: ServiceReference) -> ServicePlace | None:
        """Return the place that is given for a Service's port, or None."""
        if self._look is not None:
            self._look()
        return self._places.get(wanted)

    def ports(self, namespace: str, name: str) -> frozenset[int]:
        """Return the ports of a Service that have a place."""
        if self._look is not None:
            self._look()
        return frozenset(each.port for each in self._places if (each.namespace, each.name) == (namespace, name))


def _reference(mapping: ServiceMapping) -> ServiceReference:
    return ServiceReference(namespace=mapping.namespace, name=mapping.name, port=mapping.port)


def _place(mapping: ServiceMapping) -> ServicePlace:
    return ServicePlace(host=mapping.to_host, port=mapping.to_port, public=False)
