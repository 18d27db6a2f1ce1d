"""Composition root: the stages that a request passes, the parts of a server, and the server as a Twisted service.

To follow a request, read `STAGES` from top to bottom; `orchtw.verbs` has the handlers behind the last one. `Server`
makes its parts in the order in which they need each other.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

from orchtw.assembly.access import Access, legacy_uses
from orchtw.assembly.aggregation import Aggregation
from orchtw.assembly.apiextensions import definitions
from orchtw.assembly.auditing import auditing
from orchtw.assembly.controllers import ControllerParts, controllers
from orchtw.assembly.duties import DutyParts, duties
from orchtw.assembly.faults import faults
from orchtw.assembly.flow_control import Limiting, limiting
from orchtw.assembly.foundation import Foundation
from orchtw.assembly.front import FrontParts, front
from orchtw.assembly.handover import Handover
from orchtw.assembly.history import recording
from orchtw.assembly.joining import handed_keys
from orchtw.assembly.keys import pki_options
from orchtw.assembly.lifecycle import Lifecycle, StateKeeper
from orchtw.assembly.membership import Duties, Membership, ServerKeys
from orchtw.assembly.metrics import Instruments
from orchtw.assembly.outbound import caller
from orchtw.assembly.process import APIServer, ProcessOwner, ProcessParts, make_folder, prepare_process
from orchtw.assembly.readiness import Readiness
from orchtw.assembly.resources import Resources
from orchtw.assembly.simulation import Simulated
from orchtw.assembly.stages import (
    FIELD_VALIDATION,
    StageTable,
    console,
    going_away,
    impersonation,
    shutting_down,
    starting,
    storage_version,
)
from orchtw.assembly.store import claim_store
from orchtw.assembly.writes import admission, own_registry, write_path
from orchtw.authz.escalation import GrantChecks
from orchtw.authz.live_roles import LiveRoles
from orchtw.bootstrap.ensurer import Ensurer
from orchtw.bootstrap.legacy_tokens import LegacyTokenTracking
from orchtw.bootstrap.namespace_maker import make_namespace
from orchtw.bootstrap.server_leases import ServerPlace
from orchtw.client.in_process import Registry
from orchtw.config import Config
from orchtw.controllers.manager import Manager
from orchtw.endpoints.paths import Endpoint
from orchtw.filters.audit import AuditStage
from orchtw.filters.audit_id import AuditIdStage
from orchtw.filters.authentication import AuthenticationStage
from orchtw.filters.authorization import AuthorizationStage
from orchtw.filters.common_headers import CommonHeaders
from orchtw.filters.cors import CORS
from orchtw.filters.failed_authentication import RefusedRequests
from orchtw.filters.metrics import MetricsStage
from orchtw.filters.panic_recovery import PanicRecovery
from orchtw.filters.request_info import RequestInfoStage
from orchtw.filters.request_log import RequestLog
from orchtw.filters.timeout import TimeoutStage
from orchtw.logs.verbosity import Verbosity
from orchtw.naming.naming import Naming
from orchtw.pki import first_start
from orchtw.pki.cluster_signing import ClusterSigning
from orchtw.pki.first_start import Pki
from orchtw.pki.sealed_keys import join_secret, read_keys
from orchtw.rules.contests import Contests
from orchtw.serving.listener import bind, make_sure_free
from orchtw.storage.store import Store
from orchtw.writes.admissions import Admissions
from orchtw.writes.delete import Deletion
from orchtw.writes.gate import WriteGate
from orchtw.writes.write_path import WritePath

GOING_S = 3.0
"""Time for which the processes of a killed server may still hold its port."""

STAGES: StageTable = (
    ("cors", lambda host, config: CORS(host.origins) if host.origins else None),
    ("audit-id", lambda host, config: AuditIdStage()),
    ("common-headers", lambda host, config: CommonHeaders(config.serving.strict_transport_security_directives)),
    ("metrics", lambda host, config: MetricsStage(host.requests, host.clock.seconds)),
    ("request-log", lambda host, config: RequestLog(host.verbosity)),
    ("goaway", lambda host, config: going_away(config.serving.goaway_chance)),
    ("shutdown", lambda host, config: shutting_down(host) if config.health.shutdown_send_retry_after else None),
    ("panic-recovery", lambda host, config: PanicRecovery(host.refuse)),
    ("refused-requests", lambda host, config: RefusedRequests(host.auditor) if host.auditor else None),
    ("start", lambda host, config: starting(host, config)),
    ("timeout", lambda host, config: TimeoutStage(host.clock, config.requests.timeout_s, host.requests.ended_late)),
    ("console", lambda host, config: console(config)),
    ("request-info", lambda host, config: RequestInfoStage(checks_fields=config.generic.gates[FIELD_VALIDATION])),
    ("authentication", lambda host, config: AuthenticationStage(host.authenticator, host.attempts)),
    ("audit", lambda host, config: AuditStage(host.auditor) if host.auditor else None),
    ("impersonation", lambda host, config: impersonation(host, config.generic)),
    ("flow-control", lambda host, config: host.limiting),
    ("authorization", lambda host, config: AuthorizationStage(host.authorizer, host.attempts.authorization)),
    ("faults", lambda host, config: host.faults),
    ("storage-version", lambda host, config: storage_version(host)),
)
"""The line of stages that every request passes: to add a stage is to add a row."""


class Server:
    """One API server without its network: nine parts, each made of those above it (reference OPS-13).

    Its flags say whether it bootstraps its cluster, and which controllers it runs. `store` is what `claim_store`
    returned; other processes may work on the same data. `place` is what clients are told. `front` answers requests;
    `lifecycle` starts and stops all parts.
    """

    def __init__(
        self,
        config: Config,
        naming: Naming,
        reactor: Any,
        *,
        store: Store,
        place: ServerPlace,
        keys: ServerKeys,
        verbosity: Verbosity | None = None,
    ) -> None:
        self.resources = resources = Resources(config, naming, reactor, store)
        self.base = base = Foundation(config=config, resources=resources, reactor=reactor)
        self.membership = member = Membership(base, place, keys)
        self._secret, self._verbosity = keys.secret, verbosity or Verbosity(config.log.v, config.log.vmodule)
        # 1. Metrics: every other part counts in them.
        self.metrics = metrics = self._instruments()
        self.caller = webhooks = caller(base, metrics.calls)
        # 2. Authentication and audit: who asks, and what is recorded of it.
        self._uses = legacy_uses(base)
        access = Access(base, webhooks, self._uses)
        self.authenticator = access.authenticator(member.accounts, metrics, lambda: self.authorizer)
        self._auditor = auditing(base, webhooks, metrics)
        # 3. Authorization: what a user may do, by roles that are followed in their cache.
        self.roles = LiveRoles(resources.targets, naming, resources.offload.run)
        self.authorizer = access.authorizer(self.roles)
        # 4. Admission: what a write may be, and what it becomes.
        self._admissions = self._admission()
        # 5. Writes: the one path to the store, for requests and controllers alike.
        self._gate = WriteGate(reactor) if config.generic.enable_state_control else None
        self._record = recording(base)
        self.writes = self._write_path()
        self.deletion = Deletion(self.writes, collects_garbage=config.controllers.enable_garbage_collector)
        registry = own_registry(base, self.writes, self.deletion, metrics.self_request)
        # 6. Aggregation: groups that other servers serve.
        self._aggregation = Aggregation(base, keys.front_proxy)
        metrics.show_aggregation(self._aggregation.api_services)
        # 7. Controllers: what keeps the objects of the cluster in order.
        self._simulated = Simulated(base, registry, keys.front_proxy)
        self._manager = self._controllers(registry)
        # 8. Custom resources and flow control: objects that configure this server.
        self.definitions = definitions(base, registry, webhooks, member.leases, metrics.queues.of)
        self._limiting = self._limits()
        self._readiness = Readiness.of(base, self._manager, member.agreement if member.leases.shared else None)
        member.take_on(self._duties())
        self.state, self._debugging = self._test_controls()
        # 9. Handlers, behind the stages: all that requests meet has been made by now.
        self._faults = faults(base, metrics, self._record)
        self.front = front(base, self._front_parts(), STAGES)
        self.lifecycle = self._lifecycle()

    def _instruments(self) -> Instruments:
        """Return the metrics, with those of this server's membership."""
        made, member = Instruments(self.base.config, self.resources), self.membership
        made.show(member.agreement.families() if member.leases.shared else ())
        self.base.join(made.lag)
        return made

    def _admission(self) -> Admissions:
        """Return the admission plugins, whose metrics are shown."""
        made = admission(self.base, self.authorizer, self.caller, self._make_namespace)
        self.metrics.show(made.metrics.families())
        return made

    def _limits(self) -> Limiting:
        """Return the limits of concurrent requests, whose metrics are shown."""
        made = limiting(self.base)
        self.metrics.show((*made.families, *made.samples.families()))
        return made

    def _write_path(self) -> WritePath:
        """Return the path of all writes, with the checks of rights that objects grant and the record of writes."""
        grants = GrantChecks(authorizer=self.authorizer, roles=self.roles, run=self.resources.offload.run)
        record = self._record
        self.metrics.show(() if record is None else record.recorder.families())
        annotate = None if record is None else record.annotate
        return write_path(self.base, self._admissions, grants, self.metrics.store_times, self._gate, annotate)

    def _controllers(self, registry: Registry) -> Manager:
        """Return the controllers, which write through the `registry`."""
        parts = ControllerParts(
            registry=registry,
            authorizer=self.authorizer,
            aggregation=self._aggregation,
            membership=self.membership,
            metrics=self.metrics,
            simulated=self._simulated,
        )
        return controllers(self.base, parts)

    def _duties(self) -> Duties:
        """Return what this server does for its cluster."""
        ensurer = self._ensurer()
        tracking = LegacyTokenTracking(ensurer, on=self._uses is not None)
        if self._uses is not None:
            self._uses.mark = tracking.mark
        parts = DutyParts(
            ensurer=ensurer,
            manager=self._manager,
            aggregation=self._aggregation,
            limiting=self._limiting,
            readiness=self._readiness,
            tracking=tracking,
        )
        return duties(self.base, self.membership, parts)

    def _test_controls(self) -> tuple[StateKeeper | None, Sequence[Endpoint]]:
        """Return the control of the whole state, if the flags ask for one, and the endpoints by which tests control
        the state and the simulated time.
        """
        endpoints = self._simulated.endpoints(self._manager)
        if self._gate is None:
            return None, endpoints
        control, endpoint = self._state_control(self._gate)
        return control, (*endpoints, endpoint)

    def _state_control(self, gate: WriteGate) -> tuple[StateKeeper, Endpoint]:
        """Return the control of the whole state, which holds writes up at the `gate`, and its endpoint."""
        from orchtw.assembly.state import StateParts, endpoint, state_control

        parts = StateParts(
            gate=gate,
            manager=self._manager,
            identity=self.membership.duties.identity,
            definitions=self.definitions,
            admissions=self._admissions,
            roles=self.roles,
            limiting=self._limiting,
        )
        control = state_control(self.base, parts)
        return control, endpoint(control)

    def _front_parts(self) -> FrontParts:
        """Return the parts that requests meet."""
        return FrontParts(
            metrics=self.metrics,
            authenticator=self.authenticator,
            authorizer=self.authorizer,
            auditor=self._auditor,
            admissions=self._admissions,
            writes=self.writes,
            deletion=self.deletion,
            aggregation=self._aggregation,
            limiting=self._limiting,
            membership=self.membership,
            readiness=self._readiness,
            secret=self._secret,
            verbosity=self._verbosity,
            faults=self._faults,
            record=self._record,
            debugging=self._debugging,
            simulated=self._simulated.places,
        )

    def _lifecycle(self) -> Lifecycle:
        """Return the order in which the parts start and stop."""
        return Lifecycle(
            base=self.base,
            membership=self.membership,
            readiness=self._readiness,
            aggregation=self._aggregation,
            roles=self.roles,
            limiting=self._limiting,
            auditor=self._auditor,
            definitions=self.definitions,
            faults=self._faults,
            state=self.state,
            record=self._record,
        )

    def _ensurer(self) -> Ensurer:
        """Return the writer of bootstrap objects."""
        contests = Contests(self.base.reactor.seconds)
        resources = self.resources
        return Ensurer(targets=resources.targets, writes=self.writes, naming=resources.naming, contests=contests)

    async def _make_namespace(self, name: str) -> None:
        """Create a namespace as the server, unless it is there."""
        await make_namespace(name, self.resources.targets, self.writes, self.resources.naming)


def make_service(config: Config, verbosity: Verbosity | None = None) -> APIServer:
    """Return the API server as a service that is yet to be started.

    `verbosity` is the log's, if the caller has set one up; by default that of `--v` and `--vmodule`.
    What can go wrong before the reactor runs does so here, while `twistd` is still in the terminal: raises
    ConfigError for a port that is taken and for files that cannot be used.
    """
    from twisted.internet import reactor

    verbosity = verbosity or Verbosity(config.log.v, config.log.vmodule)
    prepare_process(config.serving.max_connections)
    naming, config = Naming.of(config.generic.vocabulary), config.share()
    options = config.serving
    workers = None
    if options.workers > 1:
        from orchtw.workers.supervisor import Workers

        workers = Workers(config, verbosity, reactor)
    if workers is not None and not options.permit_port_sharing:
        make_sure_free(options.bind_address, options.secure_port, GOING_S)
    shared = options.permit_port_sharing or workers is not None
    bound = bind(options.bind_address, options.secure_port, shared=shared)
    try:
        make_folder(config)
        # The store is claimed before any file is made: a server whose folder is another one's touches nothing in it.
        store = claim_store(config, naming, reactor, over=workers.over if workers is not None else None)
        try:
            secret, now = join_secret(config.cluster.join_secret_file, config.generic.data_dir), datetime.now(UTC)
            handed = handed_keys(config, naming, secret, now, shared=store.shared)
            pki = first_start.prepare(pki_options(config), naming, bound.getsockname()[1], now, handed)
            server = server_of(config, naming, reactor, store, pki, bound.getsockname()[1], verbosity)
            if secret is not None:
                server.membership.handover = Handover(secret, read_keys(config.generic.data_dir / first_start.FOLDER))
            return APIServer(config, parts_of(server), pki, bound, verbosity, workers=workers)
        except BaseException:
            store.release()
            raise
    except BaseException:
        bound.close()
        raise


def make_worker(config: Config, verbosity: Verbosity, owner: ProcessOwner) -> APIServer:
    """Return the same for a process that works on the store of another one, which has made all files. Raises
    ConfigError.
    """
    from twisted.internet import reactor

    prepare_process()
    naming, options = Naming.of(config.generic.vocabulary), config.serving
    bound = bind(options.bind_address, options.secure_port, shared=True, listening=False)
    store = claim_store(config, naming, reactor, remote=owner.store)
    pki = first_start.prepare(pki_options(config), naming, options.secure_port, datetime.now(UTC))
    server = server_of(config, naming, reactor, store, pki, bound.getsockname()[1], verbosity)
    return APIServer(config, parts_of(server), pki, bound, verbosity, owner=owner)


def server_of(
    config: Config, naming: Naming, reactor: Any, store: Store, pki: Pki, port: int, verbosity: Verbosity
) -> Server:
    """Return the server with the keys of its data folder."""
    keys = ServerKeys(
        secret=pki.derived_key(b"continue"),
        client_ca_pem=pki.client_ca_pem,
        front_proxy=pki.front_proxy,
        account_key=pki.service_account_key,
        ca_pem=pki.ca_pem.decode(),
        signing=ClusterSigning(config.signing, pki.own_signing),
    )
    place = ServerPlace(config.serving.public_address, port)
    return Server(config, naming, reactor, store=store, place=place, keys=keys, verbosity=verbosity)


def parts_of(server: Server) -> ProcessParts:
    """Return what the process around a server works with."""
    return ProcessParts(
        base=server.base,
        front=server.front,
        lifecycle=server.lifecycle,
        membership=server.membership,
        metrics=server.metrics,
    )
