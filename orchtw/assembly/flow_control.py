"""Limits of concurrent requests: priority and fairness, or two plain limits (reference FLOW-1, FLOW-2)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec

from orchtw.assembly.foundation import Foundation
from orchtw.assembly.resources import Resources
from orchtw.config import Config
from orchtw.endpoints.flow_control import FlowControlDumps
from orchtw.filters.chain import Stage
from orchtw.filters.flow_control import PriorityAndFairness
from orchtw.filters.max_in_flight import MaxInFlight
from orchtw.flowcontrol.control import FlowControl
from orchtw.flowcontrol.exposition import FlowMetrics, in_flight_families
from orchtw.flowcontrol.live import Live
from orchtw.flowcontrol.samples import Samples
from orchtw.flowcontrol.stats import InFlight
from orchtw.flowcontrol.work_estimator import Work
from orchtw.metrics.series import ShownFamily


class Limiting(msgspec.Struct, frozen=True, kw_only=True, eq=False):
    """The stage, and what shows of it. `control` is None without priority and fairness; `samples` is a service."""

    control: FlowControl | None
    stage: Stage
    samples: Samples
    families: Sequence[ShownFamily[Any]]
    dumps: FlowControlDumps | None


def has_priorities(config: Config) -> bool:
    """Report whether priority and fairness is on."""
    return config.requests.enable_priority_and_fairness and config.generic.gates["APIPriorityAndFairness"]


def limiting(base: Foundation) -> Limiting:
    """Return the limits that the flags ask for; without the gate, priority and fairness is always off."""
    made = _limiting(base.config, base.resources)
    base.join(made.samples)
    if made.control is not None:
        base.join(made.control)
    return made


def _limiting(config: Config, resources: Resources) -> Limiting:
    clock, options = resources.clock, config.requests
    reads, writes = options.max_requests_inflight, options.max_mutating_requests_inflight
    if not has_priorities(config):
        in_flight = InFlight()
        administrators = resources.naming.administrators_group
        stage = MaxInFlight(reads, writes, administrators, in_flight, clock.seconds)
        families = in_flight_families(in_flight, clock.seconds)
        samples = Samples(clock, in_flight, limits=(reads, writes))
        return Limiting(control=None, stage=stage, samples=samples, families=families, dumps=None)
    live = Live(resources.targets, resources.naming, reads + writes, resources.offload.run)
    control = FlowControl(live, Work(resources.targets), clock, config.requests.timeout_s)
    return Limiting(
        control=control,
        stage=PriorityAndFairness(control),
        samples=Samples(clock, control.in_flight, live),
        families=(*in_flight_families(control.in_flight, clock.seconds), *FlowMetrics(live).families()),
        dumps=FlowControlDumps(live, resources.offload),
    )
