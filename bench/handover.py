"""Creates through one process and through two: the CPU that each process spends on a write that one of them got."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path

from bench.closed_loop import ClosedLoop
from bench.http1 import BenchError, Connection, Endpoint
from bench.machine import Machine, running_s
from bench.options import Options
from bench.server import Server, running
from bench.session import Bench, Emit, MediaTypes, figures
from bench.subjects import Subject

ROUNDS = 50
"""Attempts to get connections to one process: the kernel chooses the process."""

SHARES: Mapping[int, Mapping[str, tuple[float, ...]]] = {
    1: {"owner": (1,)},
    2: {"owner": (1, 0), "worker": (0, 1), "both": (0.5, 0.5)},
}
"""Shares of the connections that each process gets, by the number of processes; the first one owns the store."""


def handover(options: Options, emit: Emit) -> None:
    """Measure creates at each process alone, and at both."""
    types = MediaTypes(protobuf=options.naming.protobuf_media_type, table="")
    for processes, shares in SHARES.items():
        with running([*options.server_flag, f"--workers={processes}"]) as server:
            bench = Bench(options, server.endpoint, Machine(server.pids), emit, types, options.kinds)
            bench.warm_up()
            path = bench.namespace()
            for subject in bench.subjects("configmaps", "pods"):
                for at, share in shares.items():
                    for conc in options.conc:
                        wanted = [round(conc * each) for each in share]
                        if sum(wanted) == conc:  # a single connection is not at both
                            _creates(bench, server, path, subject, at, wanted)


def _creates(bench: Bench, server: Server, path: str, subject: Subject, at: str, wanted: list[int]) -> None:
    """Create objects over so many connections to each process, and print a line."""
    pids = server.pids
    connections = list(_connections(server.endpoint, dict(zip(pids, wanted, strict=True))))
    loop = ClosedLoop(server.endpoint, connections=connections)
    make = bench.creating(subject.within(path), subject, f"{at}-{len(connections)}")
    bench.machine.await_quiet(bench.options.quiet)
    before = [running_s(pid) for pid in pids]
    result = loop.run(make, count=bench.options.n_create)
    used = [running_s(pid) - earlier for pid, earlier in zip(pids, before, strict=True)]
    loop.close()
    each = [round(seconds * 1000 / max(1, len(result.latencies_ns)), 4) for seconds in used]
    line = {"processes": len(pids), "at": at, "conc": sum(wanted), **figures(result), "cpu_ms_each": each}
    bench.emit(f"handover_{subject.singular}", line)


def _connections(endpoint: Endpoint, wanted: dict[int, int]) -> Iterator[Connection]:
    """Open connections until each process has those wanted of it; raises BenchError if that takes too long."""
    for _ in range(ROUNDS):
        opened = [Connection(endpoint) for _ in range(sum(wanted.values()))]
        for connection in opened:
            connection.call(endpoint.request("GET", "/version"))
        processes = {number: pid for pid in wanted for number in _sockets(pid)}
        numbers = _numbers(endpoint.port)
        for connection in opened:
            pid = processes.get(numbers.get(connection.port, ""), 0)
            if wanted.get(pid):
                wanted[pid] -= 1
                yield connection
            else:
                connection.close()
        if not any(wanted.values()):
            return
    raise BenchError("the kernel gives one process all connections")


def _sockets(pid: int) -> set[str]:
    """Return the numbers of a process' sockets."""
    found = set()
    for each in Path(f"/proc/{pid}/fd").iterdir():
        with suppress(OSError):
            found.add(os.readlink(each).removeprefix("socket:[").removesuffix("]"))
    return found


def _numbers(port: int) -> dict[int, str]:
    """Return the numbers of the sockets that a server on `port` has accepted, by their clients' ports."""
    found = {}
    for line in Path("/proc/net/tcp").read_text().splitlines()[1:]:
        fields = line.split()
        local, remote = (int(address.rpartition(":")[2], 16) for address in fields[1:3])
        if local == port and remote:
            found[remote] = fields[9]
    return found
