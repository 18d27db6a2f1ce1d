"""Faults on demand of a server; their modules are imported only where they are enabled."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from random import SystemRandom

import msgspec
from twisted.logger import Logger

from orchtw.assembly.foundation import Foundation
from orchtw.assembly.history import Recording
from orchtw.assembly.metrics import Instruments
from orchtw.endpoints.paths import Endpoint
from orchtw.filters.chain import Stage
from orchtw.metrics.series import counters
from orchtw.verbs.context import Reading
from orchtw.verbs.handler import Verb

_log = Logger()

Verbs = Mapping[str, Verb]


class Faults(msgspec.Struct, frozen=True, kw_only=True, eq=False):
    """Parts of faults on demand: the stage, the endpoints by path, and the verbs that may read stale states.

    `end` removes all rules and lets the requests go that they hold up.
    """

    stage: Stage
    end: Callable[[], None]
    endpoints: Mapping[str, Endpoint]
    verbs: Callable[[Reading, Verbs], Verbs]


def faults(base: Foundation, metrics: Instruments, record: Recording | None = None) -> Faults | None:
    """Return the parts, or None without `--enable-faults`."""
    if not base.config.generic.enable_faults:
        return None
    from orchtw.endpoints.faults import PATH, FaultEndpoint
    from orchtw.faults.chaos import SEED_BITS
    from orchtw.faults.rules import FaultRules
    from orchtw.faults.struck import NO_RECORD
    from orchtw.filters.fault_subjects import FaultSubjects
    from orchtw.filters.faults import FaultStage
    from orchtw.rules.negotiation import Negotiator
    from orchtw.verbs.stale_reads import StaleReads, freeze

    resources, seconds = base.resources, base.reactor.seconds
    naming, targets = resources.naming, resources.targets
    spared = (naming.api_server_user, naming.controller_manager_user)
    rules = FaultRules(time.time, spared, lambda rule: freeze(targets.served(), rule))
    struck = metrics.registry.add(counters(
        "orchtw_faults_struck_total", "Requests affected by fault rules, by fault.", ("fault",)))  # fmt: skip
    random = SystemRandom()
    _log.warn("faults are enabled: authorized users can make requests fail at {path}", path=PATH)
    subjects = FaultSubjects(targets, resources.offload, Negotiator(naming))
    keeper = NO_RECORD if record is None else record.recorder
    stage = FaultStage(rules, subjects, base.reactor, struck, naming.faults_annotation, keeper)
    return Faults(
        stage=stage,
        end=stage.end,
        endpoints={PATH: FaultEndpoint(rules, lambda: random.getrandbits(SEED_BITS))},
        verbs=lambda reading, verbs: StaleReads(reading, seconds).over(verbs),
    )
