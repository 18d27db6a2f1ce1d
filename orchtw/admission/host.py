"""Services of the server to its admission plugins."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from random import Random
from typing import Any

import msgspec

from orchtw.admission.metrics import AdmissionMetrics
from orchtw.authz.decision import Authorizer
from orchtw.config.generic import GenericOptions
from orchtw.config.releases import LAST, Release
from orchtw.naming.naming import Naming
from orchtw.outbound.caller import Caller
from orchtw.quota.unsettled import Unsettled
from orchtw.registry.offload import Offload
from orchtw.registry.targets import Targets
from orchtw.storage.store import Store


class AdmissionHost(msgspec.Struct, frozen=True, kw_only=True):
    """Services of the server to plugins; the caches behind `targets` are filled before the first write.

    `clock` is the reactor, `authorizer` the one that authorizes requests. `caller` calls other servers.
    `make_namespace` creates a namespace as the server unless it exists, and raises what a create raises. `store` is
    for plugins that write objects of their own, `offload` for work on large objects. `gates` has the states of the
    feature gates, `release` is the emulated one. `processes` is the number of serving processes, each with plugins of
    its own. `counts_quotas`: one of them runs the quota controller. `unsettled` has the quota charges of writes in
    flight.
    """

    naming: Naming
    clock: Any
    random: Random
    targets: Targets
    authorizer: Authorizer
    caller: Caller
    make_namespace: Callable[[str], Awaitable[None]]
    store: Store
    offload: Offload
    gates: Mapping[str, bool] = msgspec.field(default_factory=lambda: GenericOptions().gates)
    processes: int = 1
    counts_quotas: bool = False
    unsettled: Unsettled = msgspec.field(default_factory=Unsettled)
    release: Release = LAST
    metrics: AdmissionMetrics = msgspec.field(default_factory=AdmissionMetrics)
