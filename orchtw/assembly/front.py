"""Front of a server: the stages, the handlers behind them, and what the listener asks before a body is received."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from secrets import token_hex

import msgspec

from orchtw.assembly.aggregation import Aggregation
from orchtw.assembly.api import API, ApiParts
from orchtw.assembly.faults import Faults
from orchtw.assembly.flow_control import Limiting
from orchtw.assembly.foundation import Foundation
from orchtw.assembly.history import Recording
from orchtw.assembly.membership import Membership
from orchtw.assembly.metrics import Instruments
from orchtw.assembly.outbound import proxy_transport
from orchtw.assembly.readiness import Readiness
from orchtw.assembly.stages import StageHost, StageTable, stages
from orchtw.audit.auditor import Auditor
from orchtw.authn.union import AuthenticatorUnion
from orchtw.authz.decision import Authorizer
from orchtw.endpoints.paths import Endpoint
from orchtw.filters.chain import declined, refused
from orchtw.filters.plans import Plans
from orchtw.filters.screen import Screen
from orchtw.logs.verbosity import Verbosity
from orchtw.proxy.aggregation import Aggregated, PassingOn
from orchtw.proxy.node_connection import SimulatedPlaces
from orchtw.rules.origins import AllowedOrigins
from orchtw.serving.edge import Decline
from orchtw.serving.edge import Screen as ScreenHeads
from orchtw.writes.admissions import Admissions
from orchtw.writes.delete import Deletion
from orchtw.writes.write_path import WritePath


class Front(msgspec.Struct, frozen=True, kw_only=True, eq=False):
    """Functions that the listener calls: `app` answers requests, until the start is over health checks only.

    The listener asks it in two steps, `app.at_once` and `app.whole`. `screen` looks at heads whose bodies are yet to
    come, `decline` answers those whose bodies are not taken.
    """

    app: Plans
    screen: ScreenHeads
    decline: Decline


class FrontParts(msgspec.Struct, frozen=True, kw_only=True, eq=False):
    """Parts of the server that requests meet. `secret` (32 bytes) signs continue tokens; `debugging` are further
    endpoints that flags have asked for; `faults` are None unless they are enabled.
    """

    metrics: Instruments
    authenticator: AuthenticatorUnion
    authorizer: Authorizer
    auditor: Auditor | None
    admissions: Admissions
    writes: WritePath
    deletion: Deletion
    aggregation: Aggregation
    limiting: Limiting
    membership: Membership
    readiness: Readiness
    verbosity: Verbosity
    secret: bytes
    faults: Faults | None
    debugging: Sequence[Endpoint] = ()
    simulated: SimulatedPlaces | None = None
    record: Recording | None = None


def front(base: Foundation, parts: FrontParts, table: StageTable) -> Front:
    """Join the stages of a `table` and the handlers at their end."""
    config, aggregation = base.config, parts.aggregation
    origins = AllowedOrigins(config.serving.cors_allowed_origins)
    limit_s = config.requests.timeout_s
    uids = config.generic.gates["RemoteRequestHeaderUID"]
    passing = PassingOn(
        aggregation.backends, base.reactor, limit_s, origins, aggregation.suspect, token_hex(8), uids=uids
    )
    api = API(_api_parts(base, parts, origins, passing), config)
    aggregated = Aggregated(aggregation.api_services, passing, api.handler)
    placed = stages(table, _stage_host(base, parts, api, origins), config)
    plans = Plans(placed, aggregated, base.reactor.seconds)
    parts.metrics.show(plans.families())
    return Front(
        app=plans,
        screen=Screen(parts.authenticator, parts.authorizer, partial(refused, placed), parts.membership.doors),
        decline=partial(declined, placed),
    )


def _api_parts(base: Foundation, parts: FrontParts, origins: AllowedOrigins, passing: PassingOn) -> ApiParts:
    """Return the parts that request handlers are built from."""
    aggregation, place = parts.aggregation, parts.membership.place
    return ApiParts(
        resources=base.resources,
        clock=base.reactor,
        admissions=parts.admissions,
        writes=parts.writes,
        deletion=parts.deletion,
        tokens=parts.authenticator.tokens,
        instruments=parts.metrics,
        authorizer=parts.authorizer,
        checks=parts.readiness.checks,
        address=base.config.serving.told_address(place.address, place.port),
        secret=parts.secret,
        origins=origins,
        services=aggregation.api_services,
        documents=aggregation.documents,
        pass_on=passing.pass_on,
        accounts=parts.membership.accounts,
        verbosity=parts.verbosity,
        reactor=base.reactor,
        transport=proxy_transport(base, origins, parts.simulated),
        limiting=parts.limiting,
        faults=parts.faults,
        debugging=parts.debugging,
        record=parts.record,
    )


def _stage_host(base: Foundation, parts: FrontParts, api: API, origins: AllowedOrigins) -> StageHost:
    """Return the services for the stages."""
    return StageHost(
        naming=base.resources.naming,
        clock=base.reactor,
        targets=base.resources.targets,
        services=base.services,
        authenticator=parts.authenticator,
        authorizer=parts.authorizer,
        origins=origins,
        doors=parts.membership.doors,
        verbosity=parts.verbosity,
        limiting=parts.limiting.stage,
        health=api.health,
        refuse=api.acceptance.refusal,
        requests=parts.metrics.requests,
        attempts=parts.metrics.attempts,
        auditor=parts.auditor,
        unstated=parts.membership.duties.identity.unstated,
        faults=None if parts.faults is None else parts.faults.stage,
    )
