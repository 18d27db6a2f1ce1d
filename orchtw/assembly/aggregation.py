"""Other API servers behind this one: who they are, how they are spoken to, and what they are told of this one."""

from __future__ import annotations

from collections.abc import Callable
from random import SystemRandom

import msgspec
from twisted.application.service import MultiService
from twisted.internet.defer import Deferred

from orchtw.assembly.foundation import Foundation
from orchtw.assembly.outbound import resolver
from orchtw.bootstrap.ensurer import Ensurer
from orchtw.bootstrap.extension_apiserver_authentication import AuthenticationInfo
from orchtw.client.aggregated.client import AggregatedClient
from orchtw.client.aggregated.discovery import AggregatedDiscovery
from orchtw.client.aggregated.requests import Requests
from orchtw.client.interface import Client
from orchtw.outbound.dialer import Dialer
from orchtw.outbound.policy import TLSPolicy
from orchtw.pki import front_proxy
from orchtw.pki.certificates import key_pem, pem
from orchtw.pki.front_proxy import FrontProxy
from orchtw.registry.aggregation.availability import Availability
from orchtw.registry.aggregation.backends import Backends
from orchtw.registry.aggregation.checks import Checks
from orchtw.registry.aggregation.conditions import AvailabilityVerdict, told
from orchtw.registry.aggregation.documents import RemoteDocuments
from orchtw.registry.aggregation.services import GROUP, PLURAL, VERSION, ApiService, ApiServices
from orchtw.request import UserInfo
from orchtw.rules.front_proxy import EXTRA, UID, USER
from orchtw.rules.front_proxy import GROUP as GROUP_HEADER


class Aggregation(MultiService):
    """The APIServices, the connections to their servers, and the documents that these have.

    `identity` is how this server shows itself; without one it shows no certificate, and is believed by nobody.
    """

    def __init__(self, base: Foundation, identity: FrontProxy | None) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        base.join(self)
        config, resources, naming = base.config, base.resources, base.resources.naming
        self._config = config
        self._resources = resources
        self._identity = identity
        self._policy = _policy(identity)
        self._availability: Availability | None = None
        followed = config.aggregation.proxy_client_cert_file, config.authn.request_header.client_ca_file
        if any(path is not None for path in followed):
            base.reloads.add("certificates for aggregated API servers", self._read)
        self.api_services = ApiServices(resources.targets, naming)
        clock = resources.clock
        self.backends = Backends(
            resolver(base),
            lambda: self._policy,
            clock,
            lambda: Dialer(clock, "an aggregated API server"),
            endpoints_only=config.aggregation.enable_aggregator_routing,
        )
        self.api_services.listen(self._changed)
        base.service_map.listen(self._mapped)
        self.documents = RemoteDocuments(self.api_services, self.backends, resources.offload, clock)
        self.documents.setServiceParent(self)  # type: ignore[no-untyped-call]
        user = UserInfo(name=f"system:{naming.component_prefix}aggregator", groups=("system:authenticated",))
        self._discovery = AggregatedDiscovery(self.api_services, self._requests(user))

    def joined(self, client: Client, user: UserInfo, guard: Callable[[], object] | None) -> Client:
        """Return the client of this process joined with the servers behind APIServices, which are asked as `user`.

        `guard` is called before each write, and raises where none may be made any more.
        """
        requests = self._requests(user, guard)
        return AggregatedClient(client, self._discovery, requests, self._resources.clock, SystemRandom())

    def _requests(self, user: UserInfo, guard: Callable[[], object] | None = None) -> Requests:
        resources = self._resources
        return Requests(
            servers=self.backends,
            user=user,
            offload=resources.offload,
            suspect=self.suspect,
            meta_group=resources.naming.meta_group,
            guard=guard,
        )

    def look_after(self, ensurer: Ensurer) -> None:
        """Say in the status of all APIServices whether they work, as one of the processes of a cluster."""
        resources = self._resources

        async def say(name: str, verdict: AvailabilityVerdict) -> None:
            now = ensurer.writes.timestamp()
            await ensurer.change_status(GROUP, VERSION, PLURAL, name, lambda status: told(status, verdict, now))

        checks = Checks(resources.targets, self.backends, resources.naming)
        self._availability = Availability(self.api_services, checks, say, resources.clock)
        self._availability.setServiceParent(self)  # type: ignore[no-untyped-call]

    def suspect(self, service: ApiService) -> None:
        """Note that the server of `service` has not answered a request."""
        if self._availability is not None:
            self._availability.suspect(service)

    def authentication_info(self, client_ca_pem: str) -> AuthenticationInfo:
        """Return the authentication data that this server publishes."""
        config, identity = self._config, self._identity
        if identity is None or not identity.authorities:
            return AuthenticationInfo(client_ca=client_ca_pem)
        if identity.generated:
            return AuthenticationInfo(
                client_ca=client_ca_pem,
                proxy_ca=identity.authorities_pem,
                username_headers=(USER,),
                uid_headers=(UID,) if config.generic.gates["RemoteRequestHeaderUID"] else (),
                group_headers=(GROUP_HEADER,),
                extra_prefixes=(EXTRA,),
                allowed_names=(front_proxy.CLIENT,),
            )
        return AuthenticationInfo(
            client_ca=client_ca_pem,
            proxy_ca=identity.authorities_pem,
            username_headers=config.authn.request_header.username_headers,
            uid_headers=config.authn.request_header.uid_headers,
            group_headers=config.authn.request_header.group_headers,
            extra_prefixes=config.authn.request_header.extra_headers_prefix,
            allowed_names=config.authn.request_header.allowed_names,
        )

    def stopService(self) -> Deferred[None]:
        """Close the connections that wait for a next request."""
        stopped: Deferred[None] = super().stopService()  # type: ignore[no-untyped-call]
        self.backends.close()
        return stopped

    def _changed(self, old: ApiService | None, _new: ApiService | None) -> None:
        """Close the connections to a server that no APIService leads to any more."""
        backend = None if old is None else old.backend
        if backend is not None and all(each.backend != backend for each in self.api_services.remote.values()):
            self.backends.forget(backend)

    def _mapped(self) -> None:
        """Check all servers soon: some may have another place."""
        if self._availability is not None:
            self._availability.check_all()

    def _read(self) -> None:
        """Read the files of the flags again. Raises ConfigError, changing nothing."""
        if self._identity is None:
            return
        given = front_proxy.given(self._config.aggregation)
        authorities = front_proxy.given_authorities(self._config.authn.request_header)
        identity = self._identity
        if given is not None:
            identity = msgspec.structs.replace(identity, chain=given[0], key=given[1])
        if authorities:
            identity = msgspec.structs.replace(identity, authorities=authorities)
        self._identity, self._policy = identity, _policy(identity)


def _policy(identity: FrontProxy | None) -> TLSPolicy:
    if identity is None:
        return TLSPolicy()
    return TLSPolicy(certificate=b"".join(map(pem, identity.chain)), key=key_pem(identity.key))
