"""Write path of every writer: admission, ownership of fields, stamps."""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable
from random import SystemRandom
from typing import Final

from orchtw.admission.chain import Chain
from orchtw.admission.host import AdmissionHost
from orchtw.admission.metrics import AdmissionMetrics
from orchtw.admission.order import selected
from orchtw.assembly.foundation import Foundation
from orchtw.authz.decision import Authorizer
from orchtw.client.in_process import Registry
from orchtw.client.interface import Resource
from orchtw.controllers import chosen
from orchtw.controllers.resource_quota import ResourceQuotaController
from orchtw.outbound.caller import Caller
from orchtw.registry import reservations
from orchtw.registry.field_ownership import FieldOwnership
from orchtw.registry.permissions import Permissions
from orchtw.storage.metrics import StoreTimes
from orchtw.values.uuids import new_uuid
from orchtw.writes.admissions import Admissions
from orchtw.writes.delete import Deletion
from orchtw.writes.gate import WriteGate
from orchtw.writes.metadata import Stamp
from orchtw.writes.object_interfaces import ServedSurface
from orchtw.writes.steps import Annotate
from orchtw.writes.write_path import WritePath

NAMES: Final = 8
"""Names that are tried for an object whose name is generated (reference WRITE-30)."""


def admission(
    base: Foundation,
    authorizer: Authorizer,
    caller: Caller,
    make_namespace: Callable[[str], Awaitable[None]],
) -> Admissions:
    """Return the admission plugins that the flags ask for. Raises ConfigError for flags with unknown names."""
    config, resources, metrics = base.config, base.resources, AdmissionMetrics()
    host = AdmissionHost(
        gates=config.generic.gates,
        release=config.generic.emulated,
        naming=resources.naming,
        clock=resources.clock,
        random=SystemRandom(),
        targets=resources.targets,
        authorizer=authorizer,
        caller=caller,
        make_namespace=make_namespace,
        store=resources.store,
        offload=resources.offload,
        processes=config.serving.workers,
        counts_quotas=ResourceQuotaController.name in chosen(config.owner_controllers or config.controllers.names),
        unsettled=resources.unsettled,
        metrics=metrics,
    )
    plugins = selected(host, config.admission, config.plugins)
    chain = Chain(tuple(plugins.values()), metrics, tuple(plugins))
    surface = ServedSurface(resources.targets, resources.naming, resources.offload)
    return Admissions(chain, surface, resources.offload)


def write_path(
    base: Foundation,
    admissions: Admissions,
    permissions: Permissions | None = None,
    times: StoreTimes | None = None,
    gate: WriteGate | None = None,
    annotate: Annotate | None = None,
) -> WritePath:
    """Return the one loop that all writes go through, behind the `gate` if there is one.

    `annotate` adds to the notes of their commits.
    """
    config, resources = base.config, base.resources
    host = reservations.ReservationHost(
        naming=resources.naming,
        clock=resources.clock,
        stored=resources.targets.stored,
        store=resources.store,
        random=SystemRandom(),
    )
    generic = config.generic
    resources.targets.configure(host, generic.gates, config.cluster, config.storage, generic.emulated)
    stamp = Stamp(now=time.time, new_uid=new_uuid)
    ownership = FieldOwnership(resources.targets, resources.naming)
    return WritePath(
        resources.store,
        admissions,
        stamp,
        SystemRandom(),
        ownership,
        resources.offload,
        permissions,
        times,
        gate,
        annotate,
        NAMES if config.generic.gates["RetryGenerateName"] else 1,
    )


def own_registry(
    base: Foundation, writes: WritePath, deletion: Deletion, asked: Callable[[str, Resource, str], None]
) -> Registry:
    """Return what clients of this process write through; `asked` counts their requests."""
    resources = base.resources
    return Registry(targets=resources.targets, writes=writes, deletion=deletion, cacher=resources.cacher, asked=asked)
