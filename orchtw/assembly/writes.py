"""Write path of every writer: admission, ownership of fields, stamps."""

from __future__ import annotations

import os
import time
from collections.abc import Awaitable, Callable
from random import SystemRandom

from orchtw.admission.chain import Chain
from orchtw.admission.host import AdmissionHost
from orchtw.admission.metrics import AdmissionMetrics
from orchtw.admission.selection import selected
from orchtw.assembly.resources import Resources
from orchtw.authz.decision import Authorizer
from orchtw.config import Config
from orchtw.controllers import chosen
from orchtw.controllers.resource_quota import ResourceQuotaController
from orchtw.outbound.caller import Caller
from orchtw.registry import reservations
from orchtw.registry.field_ownership import FieldOwnership
from orchtw.registry.permissions import Permissions
from orchtw.registry.system_metadata import Stamp
from orchtw.storage.metrics import StoreTimes
from orchtw.values.uuids import SIZE, uuid_text
from orchtw.writes.admissions import Admissions
from orchtw.writes.object_interfaces import ServedSurface
from orchtw.writes.write_path import WritePath


def admission(
    resources: Resources,
    config: Config,
    authorizer: Authorizer,
    caller: Caller,
    make_namespace: Callable[[str], Awaitable[None]],
) -> Admissions:
    """The admission plugins that the flags ask for. Raises ConfigError for flags that name what is not there."""
    metrics = AdmissionMetrics()
    host = AdmissionHost(
        naming=resources.naming,
        clock=resources.clock,
        random=SystemRandom(),
        targets=resources.targets,
        authorizer=authorizer,
        caller=caller,
        make_namespace=make_namespace,
        store=resources.store,
        offload=resources.offload,
        processes=config.workers,
        counts_quotas=ResourceQuotaController.name in chosen(config.owner_controllers or config.controllers),
        unsettled=resources.unsettled,
        metrics=metrics,
    )
    plugins = selected(host, config)
    chain = Chain(tuple(plugins.values()), metrics, tuple(plugins))
    surface = ServedSurface(resources.targets, resources.naming, resources.offload)
    return Admissions(chain, surface, resources.offload)


def write_path(
    resources: Resources,
    config: Config,
    admissions: Admissions,
    permissions: Permissions | None = None,
    times: StoreTimes | None = None,
) -> WritePath:
    """The one loop that all writes go through."""
    host = reservations.ReservationHost(
        naming=resources.naming,
        clock=resources.clock,
        stored=resources.targets.stored,
        store=resources.store,
        random=SystemRandom(),
    )
    resources.targets.configure(host, config)
    stamp = Stamp(now=time.time, new_uid=new_uid)
    ownership = FieldOwnership(resources.targets, resources.naming)
    return WritePath(
        resources.store, admissions, stamp, SystemRandom(), ownership, resources.offload, permissions, times
    )


def new_uid() -> str:
    """Return a random UID."""
    return uuid_text(os.urandom(SIZE))
