"""Metrics of the process from the operating system and the interpreter (reference METRIC-7)."""

from __future__ import annotations

import resource
from collections.abc import Sequence

from orchtw.metrics.registry import Collector, Registry
from orchtw.metrics.series import GAUGE, Read, one


def show_process(registry: Registry) -> None:
    """Show memory, files, time and the passes of the garbage collector."""
    registry.show(_collectors)
    registry.add(Read(
        one(_most_memory), "process_virtual_memory_max_bytes", GAUGE, "Maximum size of the address space in bytes."
    ))  # fmt: skip


def _collectors() -> Sequence[Collector]:
    from prometheus_client import CollectorRegistry
    from prometheus_client.gc_collector import GCCollector
    from prometheus_client.process_collector import ProcessCollector

    apart = CollectorRegistry()
    return ProcessCollector(registry=apart), GCCollector(registry=apart)


def _most_memory() -> float:
    soft, _ = resource.getrlimit(resource.RLIMIT_AS)
    return -1 if soft == resource.RLIM_INFINITY else soft
