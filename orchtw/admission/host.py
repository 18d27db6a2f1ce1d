"""Services of the server to its admission plugins."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from random import Random
from typing import Any

import attrs

from orchtw.admission.metrics import AdmissionMetrics
from orchtw.authz.decision import Authorizer
from orchtw.naming.names import Naming
from orchtw.outbound.caller import Caller
from orchtw.quota.unsettled import Unsettled
from orchtw.registry.offload import Offload
from orchtw.registry.targets import Targets
from orchtw.storage.interface import Store


@attrs.frozen(slots=True, kw_only=True)
class AdmissionHost:
    """Services of the server to plugins; the caches behind `targets` are filled before the first write.

    `clock` is the reactor, for those that wait or ask others; `authorizer` is the one that requests pass. `caller`
    calls other servers; counts of that go to `metrics`. `make_namespace` creates one as the server, unless it is
    there; it raises as a create does. `store` is for those that keep account of something, `offload` for work on
    large objects; `unsettled` is where they say what is charged for writes on their way. `processes` is the number of
    serving processes, each with plugins of its own. `counts_quotas`: the quota controller is to run here or beside
    it.
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
    processes: int = 1
    counts_quotas: bool = False
    unsettled: Unsettled = attrs.field(factory=Unsettled)
    metrics: AdmissionMetrics = attrs.field(factory=AdmissionMetrics)
