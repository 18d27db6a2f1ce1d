"""Outbound connections: dialer and caller, Services, node agents, and their certificates."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from random import SystemRandom
from typing import TypeVar

from orchtw.assembly.foundation import Foundation
from orchtw.config.cluster import NodeOptions
from orchtw.errors import ConfigError, NotFound
from orchtw.outbound.caller import Caller
from orchtw.outbound.dialer import Dialer
from orchtw.outbound.metrics import CallMetrics
from orchtw.outbound.services import Resolver, ServiceReference
from orchtw.outbound.tls import ClientTLS
from orchtw.pki.files import read_certificates, read_key
from orchtw.proxy.forwarding import ProxyTransport
from orchtw.proxy.node_connection import AgentSettings, NodeAgents, SimulatedPlaces
from orchtw.proxy.service import Backends
from orchtw.registry.target import Target
from orchtw.registry.targets import Targets
from orchtw.rules.origins import AllowedOrigins
from orchtw.verbs.get import find_in
from orchtw.wire.objects import Object

T = TypeVar("T")


def proxy_transport(
    base: Foundation, origins: AllowedOrigins, simulated: SimulatedPlaces | None = None
) -> ProxyTransport:
    """Build what the flags ask for; `simulated` nodes are reached as the simulation says.

    Raises ConfigError for certificates that cannot be used.
    """
    options, resources = base.config.nodes, base.resources
    certificates = _Certificates(options)
    if certificates.given:
        base.reloads.add("certificates for node agents", certificates.read)
    settings = AgentSettings(
        scheme="https" if options.https else "http",
        port=options.port,
        timeout_s=options.timeout_s,
        address_types=options.preferred_address_types,
        tls=lambda: certificates.tls,
    )
    agents = NodeAgents(settings, resources.naming, resources.targets, simulated)
    backends = Backends(agents, resources.targets, SystemRandom(), base.service_map)
    return ProxyTransport(dialer=Dialer(resources.clock), agents=agents, backends=backends, origins=origins)


def caller(base: Foundation, metrics: CallMetrics | None = None) -> Caller:
    """Build the caller of webhooks and other servers, a service; it resolves Services of the cluster."""
    resources, naming = base.resources, base.resources.naming
    made = Caller(resources.clock, resolver(base), f"{naming.api_server}/{naming.git_version}", metrics)
    base.join(made)
    return made


def resolver(base: Foundation) -> Resolver:
    """Build the resolver of the cluster's Services."""
    naming = base.resources.naming
    return Resolver(
        _Cluster(base.resources.targets),
        ServiceReference(namespace=naming.default_namespace, name=naming.product),
        SystemRandom(),
        mapped=base.service_map.place,
        networks=base.config.cluster.service_networks,
    )


class _Cluster:
    """Services and their endpoints, as the caches have them."""

    def __init__(self, targets: Targets) -> None:
        self._services = targets.stored_target("", "v1", "services")
        self._endpoints = targets.stored_target("", "v1", "endpoints")

    async def service(self, namespace: str, name: str) -> Object | None:
        """Return a Service as it is now."""
        return await _found(self._services, namespace, name)

    async def endpoints(self, namespace: str, name: str) -> Object | None:
        """Return the Endpoints of a Service as they are now."""
        return await _found(self._endpoints, namespace, name)


async def _found(target: Target, namespace: str, name: str) -> Object | None:
    try:
        return await find_in(target, namespace, name)
    except NotFound:
        return None


class _Certificates:
    """The files of the flags as they were last read."""

    def __init__(self, options: NodeOptions) -> None:
        self._options = options
        self.given = bool(options.certificate_authority or options.client_certificate)
        self.tls = ClientTLS()
        self.read()

    def read(self) -> None:
        """Read them again. Raises ConfigError, changing nothing, when they cannot be used."""
        options = self._options
        certificate, key = options.client_certificate, options.client_key
        tls = ClientTLS(
            certificates=_of_flag("orchlet-client-certificate", read_certificates, certificate) or (),
            key=_of_flag("orchlet-client-key", read_key, key),
            authorities=_of_flag(
                "orchlet-certificate-authority", read_certificates, options.certificate_authority
            )
            or (),
        )
        if self.given:
            tls.creator("localhost")
        self.tls = tls


def _of_flag(flag: str, read: Callable[[Path], T], path: Path | None) -> T | None:
    if path is None:
        return None
    try:
        return read(path)
    except ConfigError as error:
        raise ConfigError(f"--{flag}: {error}") from None
