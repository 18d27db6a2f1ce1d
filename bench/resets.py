"""Resets and restores of a server for tests: the CPU that the server takes for 1,000 objects."""

from __future__ import annotations

import time
from collections.abc import Callable

from bench.machine import running_s
from bench.options import Options
from bench.session import Emit
from orchtw.testing import ApiServer

OBJECTS = 1_000
QUICK_OBJECTS = 100
ROUNDS = 5
MAPS = "/api/v1/namespaces/default/configmaps"


def resets(options: Options, emit: Emit) -> None:
    """Remove the objects by a reset and bring them back by a restore, with watches that expire and that follow.

    Each line has the least of some rounds, which other work on the machine disturbs least.
    """
    objects, count = (QUICK_OBJECTS, 1) if options.quick else (OBJECTS, ROUNDS)
    with ApiServer(flags=options.server_flag) as server:
        empty = server.snapshot()
        for number in range(objects):
            server.request("POST", MAPS, {"metadata": {"name": f"c{number}"}, "data": {"a": "b" * 100}})
        full = server.snapshot()
        # A reset forgets the snapshots since the baseline, so that of all objects has to be before it.
        server.restore(empty)
        server.set_baseline()
        server.restore(full)
        found: dict[str, list[tuple[float, float]]] = {}
        for _ in range(count):
            for watches in ("expire", "follow"):
                suffix = "" if watches == "expire" else "_followed"
                removed = _measured(server.pid, lambda watches=watches: server.reset(watches))  # type: ignore[misc]
                brought = _measured(server.pid, lambda watches=watches: server.restore(full, watches))  # type: ignore[misc]
                found.setdefault(f"reset{suffix}", []).append(removed)
                found.setdefault(f"restore{suffix}", []).append(brought)
            found.setdefault("restore_nothing", []).append(_measured(server.pid, lambda: server.restore(full)))
            server.reset()
            found.setdefault("reset_nothing", []).append(_measured(server.pid, server.reset))
            server.restore(full)
    for scenario, rounds in found.items():
        cpu_ms, wall_ms = (round(min(values), 1) for values in zip(*rounds, strict=True))
        times = {"server_cpu_ms": cpu_ms, "answer_ms": wall_ms}
        emit(scenario, {"objects": objects, **times, "rounds": count, "errors": 0})


def _measured(pid: int, act: Callable[[], object]) -> tuple[float, float]:
    """Return the milliseconds of the server's CPU, and until the answer."""
    time.sleep(0.3)  # what the round before has left to do
    used_s, began = running_s(pid), time.perf_counter()
    act()
    return (running_s(pid) - used_s) * 1000, (time.perf_counter() - began) * 1000
