"""Resolution of Services to addresses, for all outbound calls (reference HOOK-26)."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from ipaddress import IPv4Network, IPv6Network
from random import Random
from typing import Protocol as Interface

import msgspec

from orchtw.outbound.addresses import is_within
from orchtw.values.causes import go_quote
from orchtw.wire.objects import Object


class Unresolved(Exception):
    """Error about a Service that has no usable address; the text is the reference server's."""


class ServiceReference(msgspec.Struct, frozen=True, kw_only=True):
    """A Service and the number of one of its ports."""

    namespace: str
    name: str
    port: int = 443

    @property
    def host(self) -> str:
        """The name that the Service's certificate is for."""
        return f"{self.name}.{self.namespace}.svc"


class ServicePlace(msgspec.Struct, frozen=True, kw_only=True):
    """Place to dial. With `public`, only addresses that pods and nodes can have (see `addresses`)."""

    host: str
    port: int
    public: bool = True


class ServiceObjects(Interface):
    """Objects that a resolver reads; None for a missing one."""

    async def service(self, namespace: str, name: str) -> Object | None:
        """Return the present state of a Service."""

    async def endpoints(self, namespace: str, name: str) -> Object | None:
        """Return the present Endpoints of a Service."""


Mapped = Callable[[ServiceReference], ServicePlace | None]
"""Returns the place that the administrator has given for a Service, if there is one."""


def unmapped(_wanted: ServiceReference) -> None:
    """Return None: no place is given for any Service."""


class Resolver:
    """Finds places by the administrator's word, then by the objects of the cluster.

    Ready addresses of the Service's Endpoints come first, since there may be no network that routes cluster
    addresses. A Service without Endpoints is dialled at its cluster address, unless only endpoints are to be used.
    `own` is the Service of this server itself, whose address may be loopback. `networks` are those of cluster
    addresses, which may be any too: the administrator has chosen them.
    """

    def __init__(
        self,
        objects: ServiceObjects,
        own: ServiceReference,
        random: Random,
        *,
        mapped: Mapped = unmapped,
        networks: Sequence[IPv4Network | IPv6Network] = (),
    ) -> None:
        self._objects = objects
        self._own = own
        self._random = random
        self._networks = networks
        self.mapped = mapped

    async def place(self, wanted: ServiceReference, *, endpoints_only: bool = False) -> ServicePlace:
        """Return the place to dial. Raises Unresolved. A mapped Service need not exist."""
        if (given := self.mapped(wanted)) is not None:
            return given
        service = await self._objects.service(wanted.namespace, wanted.name)
        if service is None:
            raise Unresolved(f"service {go_quote(wanted.name)} not found")
        spec = service["spec"]
        if spec.get("type") == "ExternalName":
            if endpoints_only:
                raise Unresolved('unsupported service type "ExternalName"')
            return ServicePlace(host=spec.get("externalName", ""), port=wanted.port)
        port = _port(service, wanted)
        endpoints = await self._objects.endpoints(wanted.namespace, wanted.name)
        if endpoints is not None:
            return self._endpoint(endpoints, port.get("name", ""), wanted)
        if endpoints_only:
            raise Unresolved(f"endpoints {go_quote(wanted.name)} not found")
        if spec.get("clusterIP", "None") in ("", "None"):
            raise Unresolved('cannot route to service with ClusterIP "None"')
        public = not is_within(spec["clusterIP"], self._networks)
        return ServicePlace(host=spec["clusterIP"], port=wanted.port, public=public)

    def _endpoint(self, endpoints: Object, port_name: str, wanted: ServiceReference) -> ServicePlace:
        for address, port in ready(endpoints, port_name, self._random):
            ours = (wanted.namespace, wanted.name) == (self._own.namespace, self._own.name)
            return ServicePlace(host=address["ip"], port=port["port"], public=not ours)
        raise Unresolved(f"no endpoints available for service {go_quote(wanted.name)}")


def ready(endpoints: Object, port_name: str, random: Random) -> Iterator[tuple[Object, Object]]:
    """Yield ready addresses, each with the port of that name, from a random one on."""
    for subset in _shuffled(endpoints.get("subsets") or [], random):
        for port in subset.get("ports") or ():
            if port.get("name", "") == port_name:
                for address in _shuffled(subset.get("addresses") or [], random):
                    yield address, port


def _shuffled(items: Sequence[Object], random: Random) -> Iterator[Object]:
    start = random.randrange(len(items)) if items else 0
    for at in range(len(items)):
        yield items[(start + at) % len(items)]


def _port(service: Object, wanted: ServiceReference) -> Object:
    for each in service["spec"].get("ports") or ():
        if each.get("port") == wanted.port:
            port: Object = each
            return port
    raise Unresolved(f"no service port {wanted.port} found for service {go_quote(wanted.name)}")
