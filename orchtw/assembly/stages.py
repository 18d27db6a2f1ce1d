"""Services for the stages of the table in `server.py`, and factories that are longer than a line of it."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence

import msgspec
from twisted.application.service import MultiService
from twisted.internet.interfaces import IReactorTime

from orchtw.audit.auditor import Auditor
from orchtw.authn.method import Authenticator
from orchtw.authz.decision import Authorizer
from orchtw.bootstrap.storage_versions import Unstated
from orchtw.config import Config
from orchtw.config.generic import GenericOptions
from orchtw.endpoints.checks import HEALTHZ, LIVEZ, READYZ
from orchtw.endpoints.health import Health
from orchtw.errors import StatusError
from orchtw.filters.chain import Placed, Stage
from orchtw.filters.goaway import GoAway
from orchtw.filters.impersonation import ImpersonationStage
from orchtw.filters.shutting_down import Doors, ShuttingDown
from orchtw.filters.starting import Starting
from orchtw.filters.storage_versions import StorageVersionStage
from orchtw.logs.verbosity import Verbosity
from orchtw.metrics.authentication import Attempts
from orchtw.metrics.requests import RequestMetrics
from orchtw.naming.naming import Naming
from orchtw.registry.targets import Targets
from orchtw.request import Request, Response
from orchtw.rules.origins import AllowedOrigins


class StageHost(msgspec.Struct, frozen=True, kw_only=True, eq=False):
    """Services of the process to its stages.

    `refuse` makes the answer of a refusal, `limiting` limits the requests at a time. `doors` open when the start
    is over and close at the end; `health` answers health checks before that.
    `targets` lead to the stored objects that a stage follows. `verbosity` says what is logged. A stage that works in
    the background is a child of `services`, which start once the caches are filled and stop when the last request has
    been answered. `auditor` keeps the records of requests, if that is asked for; writes of
    what is `unstated` are refused. `faults` carries out fault rules, if they are enabled.
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
    faults: Stage | None = None


def shutting_down(host: StageHost) -> ShuttingDown:
    """Return the stage that sends requests elsewhere at the end."""
    return ShuttingDown(host.doors, f"{host.naming.api_server}/")


def starting(host: StageHost, config: Config) -> Starting:
    """Return the stage that answers health checks alone while the server starts, before any user can be known."""
    paths = host.health.paths() if config.authn.anonymous_auth else [f"/{name}" for name in (HEALTHZ, LIVEZ, READYZ)]
    return Starting(host.doors, paths, host.health.handle)


def going_away(chance: float) -> Stage | None:
    """Return the stage that closes connections by chance."""
    return GoAway(chance, random.random) if chance else None


def impersonation(host: StageHost, options: GenericOptions) -> Stage:
    """Return the stage that lets users act as others."""
    if not options.gates["ConstrainedImpersonation"]:
        return ImpersonationStage(host.authorizer, host.naming)
    from orchtw.filters.constrained_impersonation import ConstrainedImpersonationStage

    return ConstrainedImpersonationStage(host.authorizer, host.naming)


def storage_version(host: StageHost) -> Stage | None:
    """Return the stage that holds back writes until StorageVersions are published."""
    return None if host.unstated is None else StorageVersionStage(host.unstated, host.naming)


def console(config: Config) -> Stage | None:
    """Return the stage with the console's page."""
    asked = config.generic.console
    if not (bool(config.simulation.parts) if asked is None else asked):
        return None
    from orchtw.console.pages import ConsoleStage

    return ConsoleStage()


FIELD_VALIDATION = "ServerSideFieldValidation"

StageFactory = Callable[[StageHost, Config], Stage | None]
"""Makes a stage; None: the flags do without it."""

StageTable = Sequence[tuple[str, StageFactory]]
"""Places (see `filters.chain.ORDER`) and factories."""

def stages(table: StageTable, host: StageHost, config: Config) -> list[Placed]:
    """Return the stages of a table that the flags ask for, each at its place."""
    made = [(place, make(host, config)) for place, make in table]
    return [Placed(place, stage) for place, stage in made if stage is not None]
