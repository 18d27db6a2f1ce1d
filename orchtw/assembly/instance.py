"""One API server without its network: all parts joined, started and stopped in order (reference OPS-13, OPS-14)."""

from __future__ import annotations

import os
import time
from datetime import timedelta
from functools import partial
from random import SystemRandom
from secrets import token_hex
from typing import Any, Final

from twisted.application.service import MultiService
from twisted.internet.task import deferLater
from twisted.logger import Logger

from orchtw.admission.metrics import BARE_COUNTERS
from orchtw.assembly.accounts import account_tokens, root_ca
from orchtw.assembly.aggregation import Aggregation
from orchtw.assembly.api import API, Parts
from orchtw.assembly.auditing import auditing
from orchtw.assembly.bootstrap import STEPS, Bootstrap
from orchtw.assembly.definitions import definitions
from orchtw.assembly.flow_control import has_priorities, limiting
from orchtw.assembly.identity import Identity
from orchtw.assembly.metrics import Instruments
from orchtw.assembly.outward import caller, outward
from orchtw.assembly.readiness import Readiness
from orchtw.assembly.resources import Resources
from orchtw.assembly.stages import Host, stages
from orchtw.assembly.writes import admission, write_path
from orchtw.authn.method import Host as AuthnHost
from orchtw.authn.metrics import AuthenticationMetrics
from orchtw.authn.refused_log import RefusedLog
from orchtw.authn.service_accounts.keys import PrivateKey
from orchtw.authn.union import Union as Authenticators
from orchtw.authn.union import chain as authenticators
from orchtw.authz.decision import Authorizer
from orchtw.authz.decision import Host as AuthzHost
from orchtw.authz.escalation import GrantChecks
from orchtw.authz.live_roles import LiveRoles
from orchtw.authz.union import chain as authorizers
from orchtw.client.in_process import Registry
from orchtw.config import Config, host_and_port
from orchtw.controllers.certificates.signing import Means
from orchtw.controllers.embedded import ControllerIdentity, QuotaCharges, embedded
from orchtw.controllers.manager import Manager
from orchtw.errors import StatusError
from orchtw.filters.chain import line, refused
from orchtw.filters.screen import Screen
from orchtw.filters.shutting_down import Doors
from orchtw.flowcontrol.conditions import Conditions
from orchtw.naming import Naming
from orchtw.pki.cluster_signing import ClusterSigning
from orchtw.pki.followed_files import FollowedFiles
from orchtw.pki.front_proxy import FrontProxy
from orchtw.registry.admissions import Admissions
from orchtw.registry.aggregation.registration import Registration
from orchtw.registry.bootstrap.authentication_info import AuthenticationInfo
from orchtw.registry.bootstrap.maker import Maker
from orchtw.registry.bootstrap.presence import Presence
from orchtw.registry.bootstrap.server_leases import Place, ServerLeases
from orchtw.registry.bootstrap.server_service import ServerService
from orchtw.registry.deletion import Deletion
from orchtw.registry.namespace_maker import make_namespace
from orchtw.reloads import Reloads
from orchtw.request import Request
from orchtw.rules.origins import AllowedOrigins
from orchtw.storage.interface import Store
from orchtw.verbosity import Verbosity
from orchtw.verbs.aggregated import Aggregated, PassingOn

DELIVERY_S: Final = 2.0
"""How long the end waits for watchers to take what has happened."""
_LOOK_S: Final = 0.01


class Instance:
    """One process' share of a cluster. Its flags say whether it bootstraps, and which controllers it runs.

    It answers from the beginning: until it has started, health checks only.

    `app` answers requests; `screen` looks at heads whose bodies are yet to come. `store` is what `claim_store`
    returned; other processes may work on the same data. `address` and `port` are what clients are told; `secret` (32
    bytes) signs continue tokens and is the same after a restart; `client_ca_pem` are the authorities of client
    certificates; `front_proxy` is how requests are passed on to aggregated servers; `signing` whose certificates it
    issues. `account_key` signs tokens of service accounts, who know this server by `ca_pem`. `reactor` measures every
    duration: its time should be one that nobody sets (see `monotonic`). Stamps are the wall clock's.
    """

    _log = Logger()

    def __init__(
        self,
        config: Config,
        naming: Naming,
        reactor: Any,
        *,
        store: Store,
        address: str,
        port: int,
        secret: bytes,
        client_ca_pem: str = "",
        front_proxy: FrontProxy | None = None,
        account_key: PrivateKey | None = None,
        ca_pem: str = "",
        signing: ClusterSigning | None = None,
        verbosity: Verbosity | None = None,
    ) -> None:
        self._config = config
        self._reactor = reactor
        self.resources = Resources(config, naming, reactor, store)
        self.reloads = Reloads()
        self._doors = Doors()
        self._verbosity = verbosity or Verbosity(config.v, config.vmodule)
        self._accounts = account_tokens(config, naming, host_and_port(address, port), account_key)
        self._ca_pem = root_ca(config) or ca_pem
        self._services = MultiService()  # type: ignore[no-untyped-call]
        self.instruments = Instruments(config, self.resources)
        self.instruments.lag.setServiceParent(self._services)  # type: ignore[no-untyped-call]
        self.caller = caller(self.resources, self.instruments.calls)
        self.caller.setServiceParent(self._services)  # type: ignore[no-untyped-call]
        self.roles = LiveRoles(self.resources.targets, naming, self.resources.offload.run)
        self._auditor = auditing(config, self.resources, self.caller, self.reloads, reactor)
        if self._auditor is not None:
            self.instruments.registry.show(self._auditor.counts)
        self._authentication_metrics = AuthenticationMetrics()
        self.instruments.show_authentication(self._authentication_metrics)
        self.authenticator, self.authorizer = self._authenticator(), self._authorizer()
        admissions = admission(self.resources, config, self.authorizer, self.caller, self._make_namespace)
        self.instruments.registry.show(admissions.metrics, BARE_COUNTERS)
        grants = GrantChecks(authorizer=self.authorizer, roles=self.roles, run=self.resources.offload.run)
        times = self.instruments.store_times
        self.writes = write_path(self.resources, config, admissions, grants, times)
        self.deletion = Deletion(self.writes, collects_garbage=config.enable_garbage_collector)
        registry = Registry(
            targets=self.resources.targets,
            writes=self.writes,
            deletion=self.deletion,
            cacher=self.resources.cacher,
            asked=self.instruments.self_request,
        )
        controllers = self._controllers(registry, self.authorizer, signing)
        steps, store_s = STEPS if config.bootstrap else (), config.etcd_healthcheck_timeout_s
        self._readiness = Readiness(
            self.resources, controllers, steps, reactor, store_s, priorities=has_priorities(config)
        )
        self._client_ca_pem = client_ca_pem
        self._aggregation = Aggregation(config, self.resources, front_proxy, self.reloads)
        self._aggregation.setServiceParent(self._services)  # type: ignore[no-untyped-call]
        self.instruments.show_aggregation(self._aggregation.api_services)
        self._leases = ServerLeases(store, reactor, Place(address, port))
        self.definitions = definitions(
            self.resources,
            registry,
            self.caller,
            self._leases.several,
            config.gates,
            self.instruments.queues.of,
        )
        if self.definitions is not None:
            self.definitions.setServiceParent(self._services)  # type: ignore[no-untyped-call]
        self._limiting = limiting(config, self.resources)
        for collector in self._limiting.collectors:
            self.instruments.registry.show(collector)
        if self._limiting.control is not None:
            self._limiting.control.setServiceParent(self._services)  # type: ignore[no-untyped-call]
        self._bootstrap = self._made_bootstrap() if config.bootstrap else None
        renewed = None if self._bootstrap is None else self._bootstrap.point
        self._presence = Presence(self._leases, reactor, renewed)
        self._identity = Identity(config, self._maker(), reactor)
        self._serve(admissions, host_and_port(address, port), secret)

    def _serve(self, admissions: Admissions, address: str, secret: bytes) -> None:
        """Join what answers requests, which is all made: `app` and `screen`."""
        config, reactor, aggregation = self._config, self._reactor, self._aggregation
        origins = AllowedOrigins(config.cors_allowed_origins)
        passing = PassingOn(
            aggregation.backends, reactor, config.request_timeout_s, origins, aggregation.suspect, token_hex(8)
        )
        parts = Parts(
            resources=self.resources,
            clock=reactor,
            admissions=admissions,
            writes=self.writes,
            deletion=self.deletion,
            tokens=self.authenticator.tokens,
            instruments=self.instruments,
            authorizer=self.authorizer,
            checks=self._readiness.checks,
            address=address,
            secret=secret,
            origins=origins,
            services=aggregation.api_services,
            documents=aggregation.documents,
            pass_on=passing.pass_on,
            accounts=self._accounts,
            verbosity=self._verbosity,
            reactor=reactor,
            outward=outward(config, self.resources, origins, self.reloads),
            limiting=self._limiting,
        )
        api = API(parts, config)
        aggregated = Aggregated(aggregation.api_services, passing, api.handler.handle)
        host = Host(
            naming=self.resources.naming,
            clock=reactor,
            targets=self.resources.targets,
            services=self._services,
            authenticator=self.authenticator,
            authorizer=self.authorizer,
            origins=origins,
            doors=self._doors,
            verbosity=self._verbosity,
            limiting=self._limiting.stage,
            health=api.health,
            refuse=api.acceptance.refusal,
            requests=self.instruments.requests,
            attempts=self.instruments.attempts,
            auditor=self._auditor,
        )
        table = stages(host, config)
        self.app = line(table, aggregated.handle)
        self.screen = Screen(self.authenticator, self.authorizer, partial(refused, table), self._doors)

    def _made_bootstrap(self) -> Bootstrap:
        """What this process makes for the cluster, and keeps saying of aggregated servers."""
        aggregation = self._aggregation
        service = ServerService(cluster_ip=_first_service_ip(self._config), leases=self._leases)
        maker = self._maker()
        aggregation.look_after(maker)
        conditions = None
        if self._limiting.control is not None:
            conditions = Conditions(self._limiting.control.live, maker, self._reactor, time.time)
            conditions.setServiceParent(self._services)  # type: ignore[no-untyped-call]
        registration = Registration(maker, aggregation.api_services, self._reactor)

        def info() -> AuthenticationInfo:
            return aggregation.authentication_info(self._client_ca_pem)

        ended = self._readiness.step_ended
        return Bootstrap(maker, service, info, registration, ended, self._reactor, conditions)

    def _maker(self) -> Maker:
        return Maker(targets=self.resources.targets, writes=self.writes, naming=self.resources.naming)

    def _controllers(
        self, registry: Registry, authorizer: Authorizer, signing: ClusterSigning | None
    ) -> Manager:
        resources, config = self.resources, self._config
        authorities = signing or ClusterSigning(config)
        if authorities.files:
            what = "authorities that sign certificates"
            followed = FollowedFiles(what, authorities.files, authorities.read, self._reactor)
            followed.setServiceParent(self._services)  # type: ignore[no-untyped-call]
            self.reloads.add(what, followed.read)
        made = embedded(
            config,
            resources.naming,
            registry,
            self._reactor,
            self._reactor.stop,
            authorizer=authorizer,
            identity=ControllerIdentity(tokens=self._accounts, root_ca_pem=self._ca_pem),
            metrics_for=self.instruments.queues.of,
            signing=Means(authorities, timedelta(seconds=config.cluster_signing_duration_s), resources.offload),
            charges=QuotaCharges(unsettled=resources.unsettled, shared=resources.store.shared),
        )
        made.setServiceParent(self._services)  # type: ignore[no-untyped-call]
        self.instruments.show_election(made, resources.naming.controller_manager)
        return made

    async def _make_namespace(self, name: str) -> None:
        """Create a namespace as the server, unless it is there."""
        await make_namespace(name, self.resources.targets, self.writes, self.resources.naming)

    def _authenticator(self) -> Authenticators:
        host = AuthnHost(
            naming=self.resources.naming,
            seconds=time.time,
            clock=self._reactor,
            random=SystemRandom(),
            key=os.urandom(32),
            reloads=self.reloads,
            targets=self.resources.targets,
            accounts=self._accounts,
            caller=self.caller,
            services=self._services,
            metrics=self._authentication_metrics,
        )
        log = RefusedLog(self._reactor)

        def refused(request: Request, reasons: list[str]) -> None:
            self.instruments.attempts.failed(wrong=bool(reasons))
            log.refused(request, reasons)

        return authenticators(host, self._config, refused=refused)

    def _authorizer(self) -> Authorizer:
        resources = self.resources
        host = AuthzHost(
            naming=resources.naming,
            clock=self._reactor,
            random=SystemRandom(),
            targets=resources.targets,
            roles=self.roles,
            caller=self.caller,
            services=self._services,
        )
        return authorizers(host, self._config)

    async def start(self) -> None:
        """Open the store, fill the caches and make what every cluster has, if that is this process' task.

        Raises ConfigError for a store that is damaged or in use.
        """
        await self.resources.start()
        self._aggregation.api_services.open()
        self.roles.follow()
        if self._limiting.control is not None:
            self._limiting.control.live.follow()
        self._readiness.caches_filled()
        await self._presence.start()
        if self._bootstrap is not None:
            await self._bootstrap.start()
        await self._identity.start()
        self._services.startService()  # type: ignore[no-untyped-call]
        if self._auditor is not None:
            self._auditor.start()
        if self.definitions is not None:
            await self.definitions.settled()
        self._readiness.services_started()
        self._doors.open = True

    def trust_clients_of(self, client_ca_pem: str) -> None:
        """Publish other authorities of client certificates from now on (reference AUTHN-56)."""
        self._client_ca_pem = client_ca_pem
        if self._bootstrap is not None:
            self._bootstrap.look_soon()

    def begin_shutdown(self) -> None:
        """Tell load balancers by `/readyz` that the end is near; everything is still served."""
        self._readiness.begin_shutdown()
        self._end_upkeep()

    def _end_upkeep(self) -> None:
        self._presence.stop()
        self._identity.stop()
        if self._bootstrap is not None:
            self._bootstrap.stop()

    async def withdraw(self) -> None:
        """Take this server out of its Service's endpoints; a store that refuses to write does not hold up the end."""
        try:
            await self._leases.leave()
            if self._bootstrap is not None:
                await self._bootstrap.point()
        except StatusError as error:
            self._log.warn("the server's endpoints could not be withdrawn: {why}", why=error.message)

    def close_doors(self) -> None:
        """Send new requests elsewhere, if `--shutdown-send-retry-after` says so."""
        self._doors.closed = True

    async def end_watches(self) -> None:
        """End all watches in good order; those that start from now on end at once.

        Those who read have a moment to see what has happened (reference OPS-14).
        """
        cacher, until = self.resources.cacher, self._reactor.seconds() + DELIVERY_S
        while not cacher.delivered and self._reactor.seconds() < until:
            await deferLater(self._reactor, _LOOK_S)
        cacher.end_watches()

    async def stop(self) -> None:
        """End the upkeep, write the last audit events, and end the controllers, the caches and the store.

        The store commits what was accepted.
        """
        self._end_upkeep()
        if self._auditor is not None:
            await self._auditor.stop()
        await self._services.stopService()  # type: ignore[no-untyped-call]
        await self.resources.stop()


def _first_service_ip(config: Config) -> str:
    return str(next(config.service_networks[0].hosts()))
