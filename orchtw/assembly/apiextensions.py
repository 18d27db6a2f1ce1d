"""Controllers of custom resource definitions in every server process, and the resources they serve."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import attrs

from orchtw.assembly.foundation import Foundation
from orchtw.bootstrap.ensurer import system_user
from orchtw.bootstrap.server_leases import ServerLeases
from orchtw.client.in_process import Registry
from orchtw.client.work_queue import QueueMetrics
from orchtw.config import Config
from orchtw.controllers.apiextensions.acknowledging import Acknowledging
from orchtw.controllers.apiextensions.controller import DefinitionController, DefinitionParts
from orchtw.controllers.apiextensions.emptying import Emptying
from orchtw.controllers.apiextensions.finalizing import Finalizing
from orchtw.controllers.apiextensions.naming import NameIndex
from orchtw.controllers.apiextensions.observer import ESTABLISHING_DELAY_S, WORKERS_DELAY_S, Observer
from orchtw.controllers.apiextensions.serving import Serving
from orchtw.controllers.apiextensions.statuses import Statuses
from orchtw.controllers.controller import no_metrics
from orchtw.controllers.embedded import host_of
from orchtw.outbound.caller import Caller
from orchtw.registry.custom.versioning import Versionings
from orchtw.schema.custom.terms import terms_of
from orchtw.values.uuids import new_uuid


async def establishing_delay_s(leases: ServerLeases, config: Config) -> float:
    """Return how long other serving processes may take to see accepted names, in seconds; 0 without any."""
    if await leases.several():
        return ESTABLISHING_DELAY_S
    return WORKERS_DELAY_S if config.serving.workers > 1 else 0.0


def definitions(
    base: Foundation,
    registry: Registry,
    caller: Caller,
    leases: ServerLeases,
    metrics_for: Callable[[str], QueueMetrics] = no_metrics,
) -> DefinitionController | None:
    """Return the controller of definitions, a service; None: this server does not serve them.

    `caller` calls their webhooks; `leases` tell whether other processes have to see what this one has written.
    """
    resources, delay_s = base.resources, partial(establishing_delay_s, leases, base.config)
    naming, clock = resources.naming, resources.clock
    target = resources.targets.find(naming.group("apiextensions.orch.io"), "v1", "customresourcedefinitions")
    if target is None:
        return None
    versionings = Versionings(caller=caller, run=resources.offload.run, new_uid=new_uuid, naming=naming)
    generic = base.config.generic
    rules = generic.gates["CustomResourceValidationExpressions"]
    ratchets = generic.gates["CRDValidationRatcheting"]
    terms = terms_of(generic.emulated, generic.reported, ratchets=ratchets)
    serving = partial(Serving, terms=terms, rules=rules, release=generic.emulated)
    index, statuses = NameIndex(), Statuses(target, registry.writes, naming)
    emptying = Emptying(registry.deletion, registry.writes, system_user(naming), clock)
    parts = DefinitionParts(
        target=target,
        acknowledging=Acknowledging(clock),
        index=index,
        observer=Observer(index, naming, clock, resources.offload, delay_s),
        statuses=statuses,
        serving=serving(resources.targets, resources.codecs, versionings, resources.offload),
        finalizing=Finalizing(statuses, emptying, naming, clock),
        offload=resources.offload,
    )
    host = attrs.evolve(host_of(naming, registry, clock), metrics_for=metrics_for)
    controller = DefinitionController(host, parts)
    base.join(controller)
    return controller
