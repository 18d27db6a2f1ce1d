"""The line of stages that every request passes, as one table: to add a stage is to add a row."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence

import attrs
from twisted.application.service import MultiService
from twisted.internet.interfaces import IReactorTime

from orchtw.audit.auditor import Auditor
from orchtw.authn.method import Authenticator
from orchtw.authz.decision import Authorizer
from orchtw.bootstrap.storage_versions import Unstated
from orchtw.config import Config
from orchtw.endpoints.checks import HEALTHZ, LIVEZ, READYZ
from orchtw.endpoints.health import Health
from orchtw.errors import StatusError
from orchtw.filters.audit import AuditStage, RefusedRequests
from orchtw.filters.audit_id import AuditIdStage
from orchtw.filters.authentication import AuthenticationStage
from orchtw.filters.authorization import AuthorizationStage
from orchtw.filters.chain import Placed, Stage
from orchtw.filters.common_headers import CommonHeaders
from orchtw.filters.cors import CORS
from orchtw.filters.goaway import GoAway
from orchtw.filters.impersonation import ImpersonationStage
from orchtw.filters.metrics import MetricsStage
from orchtw.filters.panic_recovery import Refusals
from orchtw.filters.request_info import RequestInfoStage
from orchtw.filters.request_log import RequestLog
from orchtw.filters.shutting_down import Doors, ShuttingDown
from orchtw.filters.starting import Starting
from orchtw.filters.storage_versions import StorageVersionStage
from orchtw.filters.timeout import Deadline
from orchtw.logs.verbosity import Verbosity
from orchtw.metrics.authentication import Attempts
from orchtw.metrics.requests import RequestMetrics
from orchtw.naming.names import Naming
from orchtw.registry.targets import Targets
from orchtw.request import Request, Response
from orchtw.rules.origins import AllowedOrigins


@attrs.frozen(slots=True, kw_only=True, eq=False)
class StageHost:
    """Services of the process to its stages.

    `refuse` makes the answer of a refusal, `limiting` limits the requests at a time. `doors` open when the start
    is over and close at the end; `health` answers health checks before that.
    `targets` lead to the stored objects that a stage follows. `verbosity` says what is logged. A stage that works in
    the background is a child of `services`, which start once the caches are filled and stop when the last request has
    been answered. `auditor` keeps the records of requests, if that is asked for; writes of
    what is `unstated` are refused.
    """

    naming: Naming
    clock: IReactorTime
    targets: Targets
    services: MultiService
    authenticator: Authenticator
    authorizer: Authorizer
    origins: AllowedOrigins
    doors: Doors
    verbosity: Verbosity
    limiting: Stage
    health: Health
    refuse: Callable[[Request, StatusError], Response]
    requests: RequestMetrics
    attempts: Attempts
    auditor: Auditor | None = None
    unstated: Unstated | None = None


def _shutting_down(host: StageHost) -> ShuttingDown:
    return ShuttingDown(host.doors, f"{host.naming.api_server}/")


def _starting(host: StageHost, config: Config) -> Starting:
    """While nobody is known yet, those are anonymous whom the flags let be."""
    paths = host.health.paths() if config.anonymous_auth else [f"/{name}" for name in (HEALTHZ, LIVEZ, READYZ)]
    return Starting(host.doors, paths, host.health.handle)


def _storage_version(host: StageHost) -> Stage | None:
    return None if host.unstated is None else StorageVersionStage(host.unstated, host.naming)


FIELD_VALIDATION = "ServerSideFieldValidation"

Factory = Callable[[StageHost, Config], Stage | None]

STAGES: Sequence[tuple[str, Factory]] = (
    ("cors", lambda host, config: CORS(host.origins) if host.origins else None),
    ("audit-id", lambda host, config: AuditIdStage()),
    ("common-headers", lambda host, config: CommonHeaders(config.strict_transport_security_directives)),
    ("metrics", lambda host, config: MetricsStage(host.requests, host.clock.seconds)),
    ("request-log", lambda host, config: RequestLog(host.verbosity)),
    ("goaway", lambda host, config: GoAway(config.goaway_chance, random.random) if config.goaway_chance else None),
    ("shutdown", lambda host, config: _shutting_down(host) if config.shutdown_send_retry_after else None),
    ("refusals", lambda host, config: Refusals(host.refuse)),
    ("refused-requests", lambda host, config: RefusedRequests(host.auditor) if host.auditor else None),
    ("start", lambda host, config: _starting(host, config)),
    ("deadline", lambda host, config: Deadline(host.clock, config.request_timeout_s, host.requests.ended_late)),
    ("request-info", lambda host, config: RequestInfoStage(checks_fields=config.gates[FIELD_VALIDATION])),
    ("authentication", lambda host, config: AuthenticationStage(host.authenticator, host.attempts)),
    ("audit", lambda host, config: AuditStage(host.auditor) if host.auditor else None),
    ("impersonation", lambda host, config: ImpersonationStage(host.authorizer, host.naming)),
    ("flow-control", lambda host, config: host.limiting),
    ("authorization", lambda host, config: AuthorizationStage(host.authorizer, host.attempts.authorization)),
    ("storage-version", lambda host, config: _storage_version(host)),
)
"""Place (see `filters.chain.ORDER`) and factory; None: the flags do without the stage."""


def stages(host: StageHost, config: Config) -> list[Placed]:
    """The stages that the flags ask for, each at its place."""
    made = [(place, make(host, config)) for place, make in STAGES]
    return [Placed(place, stage) for place, stage in made if stage is not None]
