"""Two servers on a cluster of three that fails in each way: nobody is told what is not so."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import orjson
from twisted.internet.defer import Deferred
from twisted.trial.unittest import TestCase

from bench.fault_load import Gone, Load
from bench.fault_scenes import FLAGS, Scenes
from orchtw.testing.etcd import EtcdCluster
from orchtw.testing.in_process import InProcessServer
from orchtw.testing.in_process_watch import WatchEnded
from tests.end_to_end.case import reactor
from tests.end_to_end.several import all_of
from tests.storage.etcd.cluster import NO_ETCD
from tests.vocabularies import in_both

ANSWER_S = 15.0
FAULT_S = 0.7


class InProcessDoor:
    """One of the servers, without a network."""

    def __init__(self, server: InProcessServer) -> None:
        self._server = server

    async def request(self, method: str, path: str, body: bytes = b"") -> tuple[int, bytes]:
        """Implement this part of a `Door`."""
        headers = {"content-type": "application/json"} if body else {}
        asked = Deferred.fromCoroutine(self._server.request(method, path, body, headers))
        try:
            answer = await asked.addTimeout(ANSWER_S, reactor)
        except Exception as problem:
            raise Gone(str(problem)) from problem
        return answer.code, answer.body

    async def watch(self, path: str, told: Callable[[bytes], None]) -> None:
        """Implement this part of a `Door`."""
        try:
            watch = await self._server.watch(path)
        except ValueError as problem:
            raise Gone(str(problem)) from problem
        try:
            while True:
                told(orjson.dumps(await watch.next()))
        except WatchEnded:
            raise Gone("the watch has ended") from None
        finally:
            watch.close()


@in_both
class FaultTests(TestCase):
    """Four writers that compare and swap, and six watchers; what each was told is kept and checked."""

    skip = NO_ETCD
    vocabulary = "orch"
    timeout = 120

    async def setUp(self) -> None:  # type: ignore[override]
        folder = Path(self.mktemp())
        self.etcd = EtcdCluster(folder / "etcd", *FLAGS, members=3)
        self.addCleanup(self.etcd.end)
        await self.etcd.start(reactor)
        servers = [
            InProcessServer(
                reactor,
                folder / name,
                vocabulary=self.vocabulary,
                etcd_servers=tuple(self.etcd.endpoints),
                advertise_address=address,
                bootstrap=False,
                controllers=(),
                enable_admission_plugins=(),
                authorization_mode=("AlwaysAllow",),
            )
            for name, address in (("a", "192.0.2.1"), ("b", "192.0.2.2"))
        ]
        for server in servers:
            self.addCleanup(server.stop)
        await all_of(*(server.start() for server in servers))
        doors = [InProcessDoor(server) for server in servers]
        made = await servers[0].request("POST", "/api/v1/namespaces", {"metadata": {"name": "default"}})
        self.assertIn(made.code, (201, 409))
        self.load = Load(reactor, doors, writers=4, watchers=6, rate=60.0, keys=3)
        self.addCleanup(self.load.leave)
        await self.load.begin()
        self.scenes = Scenes(reactor, self.etcd, self.load, FAULT_S)

    async def play(self, *names: str) -> None:
        """Play the scenes; nothing that anybody was told is wrong, and writes succeed after each."""
        for name in names:
            told: dict[str, Any] = await self.scenes.play(name)
            self.assertGreater(told["writes"], 0, told)
        await self.load.finish(30.0)
        self.assertEqual([*self.load.problems, *self.load.history.problems()], [])
        self.assertEqual(
            self.load.history.deliveries % 6, 0, "watchers differ, though the history says that they saw all"
        )

    async def test_a_member_fails(self) -> None:
        """The leader is killed, and another is stopped: every acknowledged write is there, no read is stale, every
        watcher is told of every write once, in order (STORE-31, READ-10).
        """
        await self.play("leader killed", "leader stopped")

    async def test_the_cluster_fails(self) -> None:
        """It has no space left, and all its members are started again."""
        await self.play("no space", "all restarted")
