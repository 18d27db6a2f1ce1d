"""From a Service to where it is dialled (reference AGG-10)."""

from __future__ import annotations

from collections.abc import Sequence
from random import Random

from orchtw.objects import Object
from orchtw.registry.aggregation.services import Backend
from orchtw.registry.stored import Stored
from orchtw.registry.targets import Targets
from orchtw.rules.causes import go_quote
from orchtw.watch.entry import Entry

Place = tuple[str, int]
"""A host, which may be a name, and a port."""


class Unresolved(Exception):
    """The Service leads nowhere; the text says why."""


class Resolver:
    """Finds the places of Services: their cluster address, or with `routing` one of their endpoints that is ready."""

    def __init__(self, targets: Targets, random: Random, *, routing: bool) -> None:
        self._services = targets.stored_target("", "v1", "services").stored
        self._endpoints = targets.stored_target("", "v1", "endpoints").stored
        self._random = random
        self._routing = routing
        self._known: dict[Backend, tuple[Entry | None, Entry | None, Sequence[Place]]] = {}

    def place(self, backend: Backend) -> Place:
        """One of its places, any of several. Raises Unresolved."""
        places = self.places(backend)
        return places[self._random.randrange(len(places))] if len(places) > 1 else places[0]

    def places(self, backend: Backend) -> Sequence[Place]:
        """All of them, one at least. Raises Unresolved."""
        service = self._services.get(backend.namespace, backend.service)
        endpoints = self._endpoints.get(backend.namespace, backend.service) if self._routing else None
        known = self._known.get(backend)
        if known is not None and known[0] is service and known[1] is endpoints:
            return known[2]
        if service is None:
            raise Unresolved(f"service {go_quote(backend.service)} not found")
        found = _places(backend, self._services.load(service), _loaded(self._endpoints, endpoints), self._routing)
        if len(self._known) > _KEPT:
            self._known.clear()
        self._known[backend] = service, endpoints, found
        return found


_KEPT = 1000


def _loaded(stored: Stored, entry: Entry | None) -> Object | None:
    return None if entry is None else stored.load(entry)


def _places(backend: Backend, service: Object, endpoints: Object | None, routing: bool) -> Sequence[Place]:
    spec = service["spec"]
    kind = spec.get("type", "ClusterIP")
    if kind == "ExternalName":
        return [(spec.get("externalName", ""), backend.port)]
    port = service_port(service, backend.port)
    if port is None:
        raise Unresolved(f"no service port {backend.port} found for service {go_quote(backend.service)}")
    if routing:
        return _ready(backend, str(port.get("name", "")), endpoints)
    address = spec.get("clusterIP", "")
    if address in ("", "None"):
        raise Unresolved('cannot route to service with ClusterIP "None"')
    return [(address, backend.port)]


def service_port(service: Object, number: int) -> Object | None:
    """The entry of a Service's port, if it has that one."""
    return next((each for each in service["spec"].get("ports") or () if each.get("port") == number), None)


def _ready(backend: Backend, port_name: str, endpoints: Object | None) -> Sequence[Place]:
    found = [
        (address["ip"], port["port"])
        for subset in (endpoints or {}).get("subsets") or ()
        for port in subset.get("ports") or ()
        if port.get("name", "") == port_name
        for address in subset.get("addresses") or ()
    ]
    if not found:
        raise Unresolved(f"no endpoints available for service {go_quote(backend.service)}")
    return found
