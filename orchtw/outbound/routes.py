"""Keys of the caller's connections, and the destination of each."""

from __future__ import annotations

from typing import Final

import msgspec

from orchtw.outbound.destination import Destination
from orchtw.outbound.policy import TLSPolicy
from orchtw.outbound.services import Resolver, ServicePlace, ServiceReference

DIAL_S: Final = 30.0
"""Time limit of a connection attempt, for any call."""


class TransportSettings(msgspec.Struct, frozen=True, kw_only=True):
    """Service and TLS settings of a remote, regardless of the URL: connections are shared only where they are equal.

    `mapped` is the place that the administrator has given for the Service; a new one leaves old connections behind.
    """

    tls: TLSPolicy
    service: ServiceReference | None = None
    endpoints_only: bool = False
    mapped: ServicePlace | None = None


class Route(msgspec.Struct, frozen=True, cache_hash=True):
    """Key of connections that may carry each other's requests: transport settings, scheme, host and port."""

    transport: TransportSettings
    scheme: str
    host: str
    port: int


class Routes:
    """Finds the destinations of routes by the Services of the cluster."""

    def __init__(self, resolver: Resolver) -> None:
        self._resolver = resolver

    def mapped(self, service: ServiceReference | None) -> ServicePlace | None:
        """Return the place that is given for a Service, or None."""
        return None if service is None else self._resolver.mapped(service)

    async def destination(self, route: Route) -> Destination:
        """Return the destination to dial. Raises Unresolved, BadTLS."""
        transport = route.transport
        place = ServicePlace(host=route.host, port=route.port, public=False)
        if transport.mapped is not None:
            place = transport.mapped
        elif transport.service is not None:
            place = await self._resolver.place(transport.service, endpoints_only=transport.endpoints_only)
        return Destination(
            scheme="https" if route.scheme == "https" else "http",
            host=place.host,
            port=place.port,
            tls=transport.tls.tls(),
            timeout_s=DIAL_S,
            public=place.public,
            server_name=transport.tls.server_name or route.host,
        )
