"""CPU and memory of the server, by the metrics that every API server has of its process."""

from __future__ import annotations

import re
from typing import Any, Final

import msgspec

from orchtw.commands.connections import ServerConnections
from orchtw.errors import ConfigError
from orchtw.outbound.exchange import Broken

_CPU: Final = re.compile(rb"^process_cpu_seconds_total ([\d.e+]+)", re.M)
_MEMORY: Final = re.compile(rb"^process_resident_memory_bytes ([\d.e+]+)", re.M)


class ProcessUsage(msgspec.Struct, frozen=True):
    """Use of the server's process in an interval: CPUs on average, and resident memory at its end."""

    cpus: float
    mib: float


class ServerUsage:
    """Reader of the server's `/metrics`; it stays silent where they cannot be read."""

    def __init__(self, connections: ServerConnections, reactor: Any) -> None:
        self._connections = connections
        self._reactor = reactor
        self._last: tuple[float, float] | None = None

    async def read(self) -> ProcessUsage | None:
        """Return the use since the last reading; None for the first one and without metrics."""
        try:
            head, body = await self._connections.asked("GET", "/metrics")
            text = await body.whole() if head.code == 200 else b""
        except (ConfigError, Broken):
            return None
        return self.taken(text, self._reactor.seconds())

    def taken(self, text: bytes, now_s: float) -> ProcessUsage | None:
        """Return the use since the last metrics, which were taken before; None without both."""
        cpu, memory = _CPU.search(text), _MEMORY.search(text)
        if cpu is None or memory is None:
            return None
        last, self._last = self._last, (now_s, float(cpu[1]))
        if last is None or now_s <= last[0]:
            return None
        return ProcessUsage((float(cpu[1]) - last[1]) / (now_s - last[0]), float(memory[1]) / (1 << 20))
