"""From exec to ready: time, memory and CPU."""

from __future__ import annotations

from pathlib import Path
from statistics import median

from bench.machine import cpu_s, rss_mib
from bench.options import Options
from bench.server import Server, data_directory
from bench.session import Emit


def startup(options: Options, emit: Emit) -> None:
    """Start on an empty directory, and again on the same one; each line has the medians of its starts."""
    fresh: list[tuple[float, float, float]] = []
    again: list[tuple[float, float, float]] = []
    for _ in range(options.starts):
        with data_directory() as directory:
            fresh.append(_start(directory, options))
            again.append(_start(directory, options))
    for scenario, starts in (("startup_fresh_store", fresh), ("startup_existing_store", again)):
        ready, memory, cpu = (median(values) for values in zip(*starts, strict=True))
        fields = {"ready_ms": round(ready), "rss_mib": round(memory, 1), "cpu_s": round(cpu, 2)}
        emit(scenario, {**fields, "ready_ms_max": round(max(starts)[0]), "starts": len(starts), "errors": 0})


def _start(directory: Path, options: Options) -> tuple[float, float, float]:
    """Milliseconds to ready; MiB resident and CPU seconds then."""
    server = Server(directory, options.server_flag)
    try:
        return server.ready_s * 1000, rss_mib(server.pid), cpu_s(server.pid)
    finally:
        server.stop()
