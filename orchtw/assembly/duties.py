"""Duties of a server for its cluster, joined to the other parts."""

from __future__ import annotations

import time

import msgspec

from orchtw.assembly.aggregation import Aggregation
from orchtw.assembly.bootstrap import Bootstrap
from orchtw.assembly.flow_control import Limiting
from orchtw.assembly.foundation import Foundation
from orchtw.assembly.identity import Identity
from orchtw.assembly.membership import Duties, Membership
from orchtw.assembly.readiness import Readiness
from orchtw.bootstrap.api_services import Registration
from orchtw.bootstrap.endpoint_reconcilers import RECONCILERS
from orchtw.bootstrap.ensurer import Ensurer
from orchtw.bootstrap.extension_apiserver_authentication import AuthenticationInfo
from orchtw.bootstrap.legacy_tokens import LegacyTokenTracking
from orchtw.bootstrap.presence import Presence
from orchtw.bootstrap.server_service import ServerService
from orchtw.controllers.manager import Manager
from orchtw.flowcontrol.conditions import Conditions


class DutyParts(msgspec.Struct, frozen=True, kw_only=True, eq=False):
    """Parts of a server that its duties for the cluster need."""

    ensurer: Ensurer
    manager: Manager
    aggregation: Aggregation
    limiting: Limiting
    readiness: Readiness
    tracking: LegacyTokenTracking


def duties(base: Foundation, membership: Membership, parts: DutyParts) -> Duties:
    """Return what this server does for its cluster; it bootstraps where the flags say so."""
    config = base.config
    bootstrap = _bootstrap(base, membership, parts) if config.cluster.bootstrap else None
    renewed = None if bootstrap is None else bootstrap.point
    return Duties(
        manager=parts.manager,
        bootstrap=bootstrap,
        presence=Presence(membership.leases, membership.agreement, base.reactor, renewed),
        identity=Identity(config, parts.ensurer, base.reactor),
    )


def _bootstrap(base: Foundation, membership: Membership, parts: DutyParts) -> Bootstrap:
    """Build the bootstrap of the cluster, and the upkeep of APIServices."""
    cluster, reactor = base.config.cluster, base.reactor
    ensurer, aggregation = parts.ensurer, parts.aggregation
    reconciler = RECONCILERS[cluster.endpoint_reconciler_type](membership.leases, cluster.apiserver_count)
    first_ip = str(next(cluster.service_networks[0].hosts()))
    service = ServerService(clock=reactor, cluster_ip=first_ip, mine=membership.place, reconciler=reconciler)
    aggregation.look_after(ensurer)
    conditions = None
    if parts.limiting.control is not None:
        conditions = Conditions(parts.limiting.control.live, ensurer, reactor, time.time)
        base.join(conditions)
    registration = Registration(ensurer, aggregation.api_services, reactor)

    def info() -> AuthenticationInfo:
        return aggregation.authentication_info(membership.client_ca_pem)

    return Bootstrap(
        ensurer,
        service,
        info,
        registration,
        parts.tracking,
        parts.readiness.step_ended,
        reactor,
        conditions,
        lambda: membership.agreement.agreed,
        base.config.generic.gates,
    )
