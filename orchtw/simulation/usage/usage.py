"""Use of CPU and memory: a stable share of the requests, or what annotations say (reference SIM-26)."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final
from zlib import crc32

import msgspec

from orchtw.simulation.pods.annotations import behaviour
from orchtw.simulation.pods.plans import MAIN, SIDECAR, roles
from orchtw.simulation.pods.pod_run import STATUSES
from orchtw.values.quantity import Quantity, quantity
from orchtw.wire.objects import Object

LEAST_SHARE: Final = 0.3
MOST_SHARE: Final = 0.8
"""Bounds of the share of its requests that a container uses."""
_MOST: Final = Quantity.parse("1E")
_NANO: Final = 9
_IDLE_CPU, _IDLE_MEMORY = 50_000_000, 128 << 20
"""Stand-ins for requests that are not given: nanocores and bytes."""
_SYSTEM_CPU, _SYSTEM_MEMORY = 100_000_000, 512 << 20
"""Use of a node by itself."""


class Usage(msgspec.Struct, frozen=True, kw_only=True):
    """Amounts of CPU in nanocores and of memory in bytes."""

    cpu: int = 0
    memory: int = 0

    def plus(self, other: Usage) -> Usage:
        """Return the sum of both."""
        return Usage(cpu=self.cpu + other.cpu, memory=self.memory + other.memory)

    def quantities(self) -> Object:
        """Return both as quantities."""
        return {"cpu": f"{self.cpu}n", "memory": f"{self.memory // 1024}Ki"}


SYSTEM: Final = Usage(cpu=_SYSTEM_CPU, memory=_SYSTEM_MEMORY)


def used(pod: Object) -> dict[str, Usage]:
    """Return what each running container of a pod uses; an amount for the whole pod is shared equally."""
    running = list(_running(pod))
    count = len(running)
    mains = sum(role == MAIN for role, _ in running) or 1
    return {each["name"]: _of(pod, each, role, mains if role == MAIN else count) for role, each in running}


def total(amounts: Iterable[Usage]) -> Usage:
    """Return the sum of amounts."""
    made = Usage()
    for each in amounts:
        made = made.plus(each)
    return made


def _running(pod: Object) -> Iterable[tuple[str, Object]]:
    status = pod.get("status") or {}
    if status.get("phase") != "Running":
        return
    for role, container in roles(pod["spec"]):
        if role in (MAIN, SIDECAR):
            there = (each for each in status.get(STATUSES[role]) or () if each["name"] == container["name"])
            if any("running" in (each.get("state") or {}) for each in there):
                yield role, container


def _of(pod: Object, container: Object, role: str, count: int) -> Usage:
    name = container["name"]
    own, _ = behaviour(pod, name, whole_pod=False)
    whole, _ = behaviour(pod, name, whole_pod=role == MAIN)
    requests = (container.get("resources") or {}).get("requests") or {}

    def amount(of_container: str, of_pod: str, requested: str, idle: int, scale: int, seed: str) -> int:
        if of_container:
            return scaled(of_container, scale)
        if of_pod:
            return scaled(of_pod, scale) // count
        base = scaled(requested, scale) if requested else idle
        part = crc32(f"{pod['metadata']['uid']}/{name}/{seed}".encode()) / 0xFFFFFFFF
        return int(base * (LEAST_SHARE + (MOST_SHARE - LEAST_SHARE) * part))

    return Usage(
        cpu=amount(own.cpu, whole.cpu, requests.get("cpu", ""), _IDLE_CPU, _NANO, "cpu"),
        memory=amount(own.memory, whole.memory, requests.get("memory", ""), _IDLE_MEMORY, 0, "memory"),
    )


def scaled(text: str, scale: int) -> int:
    """Return a quantity times 10^scale as an integer, at most 1E of it."""
    found = quantity(text)
    if found.compare(_MOST) > 0:
        found = _MOST
    exponent = found.exponent + scale
    if exponent >= 0:
        return int(found.mantissa * 10**exponent)
    # Nano is the finest unit of quantities, whatever the exponent.
    return int(found.mantissa // 10 ** min(-exponent, 64))
