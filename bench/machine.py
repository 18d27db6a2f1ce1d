"""Resource use of processes and the machine, read from /proc.

CPU is user plus system time, which the kernel counts here in steps of 10 ms.
"""

from __future__ import annotations

import os
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

_TICK_S = 1 / os.sysconf("SC_CLK_TCK")
_BUSY = (0, 1, 2, 5, 6)  # user, nice, system, irq, softirq in /proc/stat
_STEAL = 7
_CPUCLOCK_SCHED = 2  # with the complement of a process id above it, that process's CPU clock on Linux
QUIET_WINDOW_S = 0.5
QUIET_LIMIT_S = 20.0


@dataclass(frozen=True, slots=True)
class Snapshot:
    """Seconds of CPU used so far: by the server, by the generator, by all, and stolen by the hypervisor."""

    at_s: float
    server_s: float
    client_s: float
    machine_s: float
    steal_s: float
    each_s: tuple[float, ...]
    """The server's processes one by one."""


class Machine:
    """The server's processes (`pids`), the generator's (this one and `helpers`), and the machine around them.

    `rest_s` is how long memory takes to settle.
    """

    def __init__(self, pids: Sequence[int], rest_s: float = 0.0) -> None:
        self.pids = tuple(pids)
        self._rest_s = rest_s
        self.helpers: list[int] = []

    def snapshot(self) -> Snapshot:
        cpus = [int(field) * _TICK_S for field in Path("/proc/stat").read_text().split("\n", 1)[0].split()[1:]]
        each_s = tuple(map(cpu_s, self.pids))
        return Snapshot(
            at_s=time.monotonic(),
            server_s=sum(each_s),
            client_s=sum(os.times()[:2]) + sum(map(cpu_s, self.helpers)),
            machine_s=sum(cpus[i] for i in _BUSY),
            steal_s=cpus[_STEAL],
            each_s=each_s,
        )

    def usage(self, before: Snapshot, ops: int = 0) -> dict[str, object]:
        """Return the fields every line has: what was used since `before`, per operation too if there were any."""
        now = self.snapshot()
        server, client = now.server_s - before.server_s, now.client_s - before.client_s
        fields: dict[str, object] = {
            "secs": round(now.at_s - before.at_s, 3),
            "client_cpu_s": round(client, 3),
            "server_cpu_total_s": round(server, 2),
            "server_rss_mib": round(self.rss_mib(), 1),
            "other_cpu_s": round(max(0.0, now.machine_s - before.machine_s - server - client), 2),
            "steal_s": round(now.steal_s - before.steal_s, 2),
        }
        if len(self.pids) > 1:
            each = zip(now.each_s, before.each_s, strict=True)
            fields["server_cpu_each_s"] = [round(after - earlier, 2) for after, earlier in each]
        if ops:
            fields["server_cpu_ms_per_op"] = round(server * 1000 / ops, 4)
        return fields

    def rss_mib(self) -> float:
        """Resident memory of the server's processes."""
        return sum(map(rss_mib, self.pids))

    def settled_mib(self) -> float:
        """Return the resident memory of the server's processes after a rest."""
        time.sleep(self._rest_s)
        return self.rss_mib()

    def await_quiet(self, share: float) -> None:
        """Wait until others use less than `share` of the CPUs in two windows running, for 20 s at most."""
        end, good = time.monotonic() + QUIET_LIMIT_S, 0
        while share > 0 and good < 2 and time.monotonic() < end:
            before = self.snapshot()
            time.sleep(QUIET_WINDOW_S)
            now = self.snapshot()
            ours = now.server_s - before.server_s + now.client_s - before.client_s
            others = (now.machine_s - before.machine_s - ours) / (now.at_s - before.at_s) / (os.cpu_count() or 1)
            good = good + 1 if others < share else 0


def cpu_s(pid: int) -> float:
    """User plus system time of a process and all its threads, in seconds; 0 when it is gone."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return 0.0
    return (int(fields[11]) + int(fields[12])) * _TICK_S


def running_s(pid: int) -> float:
    """Return `cpu_s` in nanosecond steps, by the process's own clock; 0 when it is gone.

    The sum of its threads' schedstat files would leave out threads that have ended, and what a running one has used
    since the last tick.
    """
    try:
        return time.clock_gettime(~pid << 3 | _CPUCLOCK_SCHED)
    except OSError:
        return 0.0


def rss_mib(pid: int) -> float:
    """Resident memory of a process; 0 when it is gone."""
    try:
        status = Path(f"/proc/{pid}/status").read_text()
    except OSError:
        return 0.0
    _, found, rest = status.partition("VmRSS:")
    return int(rest.split(None, 1)[0]) / 1024 if found else 0.0


def open_files(pids: Sequence[int]) -> int:
    """Return the number of open files, sockets included, of these processes; 0 for those that are gone."""
    return sum(len(list(Path(f"/proc/{pid}/fd").iterdir())) for pid in pids if Path(f"/proc/{pid}").exists())
