"""One API server without its network: all parts joined, started and stopped in order (reference OPS-13, OPS-14)."""

from __future__ import annotations

import socket
import time
from datetime import timedelta
from functools import partial
from hashlib import sha256
from secrets import token_hex
from typing import Any, Final

from twisted.application.service import IService, MultiService
from twisted.internet.defer import Deferred
from twisted.internet.task import deferLater
from twisted.logger import Logger
from twisted.python.failure import Failure

from orchtw.admission.metrics import BARE_COUNTERS
from orchtw.assembly.access import Access
from orchtw.assembly.accounts import account_tokens, root_ca
from orchtw.assembly.aggregation import Aggregation
from orchtw.assembly.api import API, ApiParts
from orchtw.assembly.auditing import auditing
from orchtw.assembly.bootstrap import STEPS, Bootstrap
from orchtw.assembly.definitions import definitions, establishing_delay_s
from orchtw.assembly.facts import facts
from orchtw.assembly.flow_control import has_priorities, limiting
from orchtw.assembly.handover import Handover
from orchtw.assembly.identity import Identity
from orchtw.assembly.metrics import Instruments
from orchtw.assembly.outward import caller, outward
from orchtw.assembly.readiness import Readiness
from orchtw.assembly.resources import Resources
from orchtw.assembly.stages import StageHost, stages
from orchtw.assembly.writes import admission, write_path
from orchtw.audit.counts import Counts
from orchtw.authn.metrics import AuthenticationMetrics
from orchtw.authn.service_accounts.keys import PrivateKey
from orchtw.authz.decision import Authorizer
from orchtw.authz.escalation import GrantChecks
from orchtw.authz.live_roles import LiveRoles
from orchtw.bootstrap.agreement import Agreement
from orchtw.bootstrap.api_services import Registration
from orchtw.bootstrap.endpoint_reconcilers import RECONCILERS
from orchtw.bootstrap.extension_apiserver_authentication import AuthenticationInfo
from orchtw.bootstrap.maker import Maker
from orchtw.bootstrap.namespace_maker import make_namespace
from orchtw.bootstrap.presence import Presence
from orchtw.bootstrap.server_leases import LeasePlace, ServerLeases
from orchtw.bootstrap.server_service import ServerService
from orchtw.client.in_process import Registry
from orchtw.config import Config, host_and_port
from orchtw.config.reloads import Reloads
from orchtw.controllers.certificates.signing import Means
from orchtw.controllers.embedded import ControllerIdentity, QuotaCharges, embedded
from orchtw.controllers.manager import Manager
from orchtw.errors import StatusError
from orchtw.filters.chain import declined, line, refused
from orchtw.filters.screen import Screen
from orchtw.filters.shutting_down import Doors
from orchtw.flowcontrol.conditions import Conditions
from orchtw.logs.verbosity import Verbosity
from orchtw.naming.names import Naming
from orchtw.pki.cluster_signing import ClusterSigning
from orchtw.pki.followed_files import FollowedFiles
from orchtw.pki.front_proxy import FrontProxy
from orchtw.proxy.aggregated import Aggregated, PassingOn
from orchtw.rules.agreement import statement
from orchtw.rules.contests import Contests
from orchtw.rules.origins import AllowedOrigins
from orchtw.storage.interface import Store
from orchtw.writes.admissions import Admissions
from orchtw.writes.deletion import Deletion

DELIVERY_S: Final = 2.0
"""How long the end waits for watchers to take what has happened."""
_LOOK_S: Final = 0.01


class Instance:
    """One process' share of a cluster. Its flags say whether it bootstraps, and which controllers it runs.

    `app` answers requests, until it has started health checks only; `screen` looks at heads whose bodies are yet
    to come, `decline` answers those whose bodies are not taken. `store` is what `claim_store` returned; other
    processes may work on the same data. `address` and `port` are what clients are told; `secret` (32 bytes) signs
    continue tokens and is the same after a restart; `client_ca_pem` are the authorities of client certificates;
    `front_proxy` is how requests are passed on to aggregated servers; `signing` whose certificates it issues.
    `account_key` signs tokens of service accounts, who know this server by `ca_pem`. `reactor` measures every
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
        self._place = LeasePlace(address, port)
        self._client_ca_pem = client_ca_pem
        self._accounts = account_tokens(config, naming, config.told_address(address, port), account_key)
        self._ca_pem = root_ca(config) or ca_pem
        self._signing = signing or ClusterSigning(config)
        self._contests = Contests(reactor.seconds)
        self.handover: Handover | None = None
        self._services = MultiService()  # type: ignore[no-untyped-call]
        self._agree()
        self._measure()
        self._know_users()
        admissions, registry = self._take_writes()
        self._aggregate(front_proxy)
        self._work(registry)
        self._follow(registry)
        self._keep_up()
        self._serve(admissions, secret)

    def _join(self, service: IService) -> None:
        """Have a service start and stop with the others, in the order in which they have joined."""
        service.setServiceParent(self._services)  # type: ignore[no-untyped-call]

    def _agree(self) -> None:
        """Publish the facts of this server, and compare those of others."""
        config, resources, place = self._config, self.resources, self._place
        told = facts(
            config,
            resources.naming,
            self._accounts,
            self._signing,
            client_ca_pem=self._client_ca_pem,
            published_ca_pem=self._ca_pem,
        )
        name, alone = server_name(config, place), config.workers > 1
        self._leases = ServerLeases(resources.store, place, name, statement(told), alone=alone)
        self._agreement = Agreement(self._leases, told)
        self._agreement.changed = self._agreed

    def _agreed(self, agreed: bool) -> None:
        """This server may do its part for the cluster from now on, or no more."""
        self._manager.permit(agreed)
        if not agreed or not self._doors.open:
            return
        if self._bootstrap is not None:
            self._bootstrap.look_soon()
        Deferred.fromCoroutine(self._hand_over()).addErrback(self._failed)

    def _failed(self, failure: Failure) -> None:
        self._log.failure("this server's keys could not be handed over", failure=failure)

    async def _hand_over(self) -> None:
        """Offer this server's keys to others, if it fits in with those that there are."""
        if self.handover is not None and self._agreement.agreed:
            await self.handover.offer(self.resources.store, self.resources.offload)

    def _measure(self) -> None:
        self.instruments = Instruments(self._config, self.resources)
        if self._leases.shared:
            for family in self._agreement.families():
                self.instruments.registry.add(family)
        self._join(self.instruments.lag)
        self.caller = caller(self.resources, self.instruments.calls)
        self._join(self.caller)

    def _know_users(self) -> None:
        """Build authentication, authorization and audit."""
        config, resources, instruments = self._config, self.resources, self.instruments
        self.roles = LiveRoles(resources.targets, resources.naming, resources.offload.run)
        self._auditor = auditing(config, resources, self.caller, self.reloads, self._reactor)
        # Nothing is counted where nothing is recorded, but dashboards look for the zeros.
        instruments.registry.show(Counts(self._reactor) if self._auditor is None else self._auditor.counts)
        metrics = AuthenticationMetrics()
        instruments.show_authentication(metrics)
        access = Access(
            config=config,
            resources=resources,
            reactor=self._reactor,
            caller=self.caller,
            services=self._services,
            reloads=self.reloads,
        )
        self.authenticator = access.authenticator(self._accounts, metrics, instruments.attempts)
        self.authorizer = access.authorizer(self.roles)

    def _take_writes(self) -> tuple[Admissions, Registry]:
        """The write path, and what controllers and definitions do with it."""
        config, resources, instruments = self._config, self.resources, self.instruments
        admissions = admission(resources, config, self.authorizer, self.caller, self._make_namespace)
        instruments.registry.show(admissions.metrics, BARE_COUNTERS)
        grants = GrantChecks(authorizer=self.authorizer, roles=self.roles, run=resources.offload.run)
        self.writes = write_path(resources, config, admissions, grants, instruments.store_times)
        self.deletion = Deletion(self.writes, collects_garbage=config.enable_garbage_collector)
        registry = Registry(
            targets=resources.targets,
            writes=self.writes,
            deletion=self.deletion,
            cacher=resources.cacher,
            asked=instruments.self_request,
        )
        return admissions, registry

    def _work(self, registry: Registry) -> None:
        """The controllers, and what is to be true before the server is ready."""
        config = self._config
        self._manager = self._controllers(registry, self.authorizer)
        self._manager.permit(self._agreement.agreed)
        steps, store_s = STEPS if config.bootstrap else (), config.etcd_healthcheck_timeout_s
        self._readiness = Readiness(
            self.resources,
            self._manager,
            steps,
            self._reactor,
            store_s,
            agreement=self._agreement if self._leases.shared else None,
            priorities=has_priorities(config),
        )

    def _aggregate(self, front_proxy: FrontProxy | None) -> None:
        self._aggregation = Aggregation(self._config, self.resources, front_proxy, self.reloads)
        self._join(self._aggregation)
        self.instruments.show_aggregation(self._aggregation.api_services)

    def _follow(self, registry: Registry) -> None:
        """Follow objects that configure this server: definitions, flow schemas and priority levels."""
        config, instruments = self._config, self.instruments
        self.definitions = definitions(
            self.resources,
            registry,
            self.caller,
            partial(establishing_delay_s, self._leases, config),
            config.gates,
            instruments.queues.of,
        )
        if self.definitions is not None:
            self._join(self.definitions)
        self._limiting = limiting(config, self.resources)
        for collector in self._limiting.collectors:
            instruments.registry.show(collector)
        for family in self._limiting.samples.families():
            instruments.registry.add(family)
        self._join(self._limiting.samples)
        if self._limiting.control is not None:
            self._join(self._limiting.control)

    def _keep_up(self) -> None:
        """Publish the identity of this process, and bootstrap the cluster if that is its task."""
        self._bootstrap = self._made_bootstrap() if self._config.bootstrap else None
        renewed = None if self._bootstrap is None else self._bootstrap.point
        self._presence = Presence(self._leases, self._agreement, self._reactor, renewed)
        self._identity = Identity(self._config, self._maker(), self._reactor)

    def _serve(self, admissions: Admissions, secret: bytes) -> None:
        """Join what answers requests, which is all made: `app`, `screen` and `decline`."""
        aggregation = self._aggregation
        origins = AllowedOrigins(self._config.cors_allowed_origins)
        limit_s = self._config.request_timeout_s
        passing = PassingOn(
            aggregation.backends, self._reactor, limit_s, origins, aggregation.suspect, token_hex(8)
        )
        api = API(self._parts(admissions, secret, origins, passing), self._config)
        aggregated = Aggregated(aggregation.api_services, passing, api.handler.handle)
        table = stages(self._host(api, origins), self._config)
        self.app = line(table, aggregated.handle)
        self.screen = Screen(self.authenticator, self.authorizer, partial(refused, table), self._doors)
        self.decline = partial(declined, table)

    def _parts(
        self, admissions: Admissions, secret: bytes, origins: AllowedOrigins, passing: PassingOn
    ) -> ApiParts:
        """Return the parts that request handlers are built from."""
        aggregation, reactor = self._aggregation, self._reactor
        return ApiParts(
            resources=self.resources,
            clock=reactor,
            admissions=admissions,
            writes=self.writes,
            deletion=self.deletion,
            tokens=self.authenticator.tokens,
            instruments=self.instruments,
            authorizer=self.authorizer,
            checks=self._readiness.checks,
            address=self._config.told_address(self._place.address, self._place.port),
            secret=secret,
            origins=origins,
            services=aggregation.api_services,
            documents=aggregation.documents,
            pass_on=passing.pass_on,
            accounts=self._accounts,
            verbosity=self._verbosity,
            reactor=reactor,
            outward=outward(self._config, self.resources, origins, self.reloads),
            limiting=self._limiting,
        )

    def _host(self, api: API, origins: AllowedOrigins) -> StageHost:
        """Return the services for the stages."""
        return StageHost(
            naming=self.resources.naming,
            clock=self._reactor,
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
            unstated=self._identity.unstated,
        )

    def _made_bootstrap(self) -> Bootstrap:
        """Build the bootstrap of the cluster, and the upkeep of APIServices."""
        aggregation = self._aggregation
        config = self._config
        reconciler = RECONCILERS[config.endpoint_reconciler_type](self._leases, config.apiserver_count)
        service = ServerService(
            clock=self._reactor, cluster_ip=_first_service_ip(config), mine=self._place, reconciler=reconciler
        )
        maker = self._maker()
        aggregation.look_after(maker)
        conditions = None
        if self._limiting.control is not None:
            conditions = Conditions(self._limiting.control.live, maker, self._reactor, time.time)
            self._join(conditions)
        registration = Registration(maker, aggregation.api_services, self._reactor)

        def info() -> AuthenticationInfo:
            return aggregation.authentication_info(self._client_ca_pem)

        ended = self._readiness.step_ended
        return Bootstrap(
            maker, service, info, registration, ended, self._reactor, conditions, lambda: self._agreement.agreed
        )

    def _maker(self) -> Maker:
        resources = self.resources
        return Maker(
            targets=resources.targets, writes=self.writes, naming=resources.naming, contests=self._contests
        )

    def _controllers(self, registry: Registry, authorizer: Authorizer) -> Manager:
        resources, config, authorities = self.resources, self._config, self._signing
        if authorities.files:
            what = "authorities that sign certificates"
            followed = FollowedFiles(what, authorities.files, authorities.read, self._reactor)
            self._join(followed)
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
            aggregated=self._aggregation.joined,
            others=resources.store if self._leases.shared else None,
        )
        self._join(made)
        self.instruments.show_election(made, resources.naming.controller_manager)
        return made

    async def _make_namespace(self, name: str) -> None:
        """Create a namespace as the server, unless it is there."""
        await make_namespace(name, self.resources.targets, self.writes, self.resources.naming)

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
        await self._hand_over()
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


def server_name(config: Config, place: LeasePlace) -> str:
    """Return the server's name, the same after a restart: many servers advertise the same address by default."""
    folder = sha256(str(config.data_dir).encode()).hexdigest()[:8]
    return f"{host_and_port(place.address, place.port)} {socket.gethostname()} {folder}"


def _first_service_ip(config: Config) -> str:
    return str(next(config.service_networks[0].hosts()))
