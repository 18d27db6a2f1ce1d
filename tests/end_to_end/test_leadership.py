"""One server's controllers work at a time, whatever becomes of its Lease (reference CTRL-4, CTRL-50, CTRL-51)."""

from __future__ import annotations

import json
import os
import signal
from base64 import b64decode
from collections.abc import Mapping
from pathlib import Path
from typing import Any, ClassVar

from twisted.internet.task import deferLater
from twisted.trial.unittest import TestCase

from orchtw.naming.naming import Naming
from orchtw.testing.etcd import EtcdCluster
from orchtw.testing.process import ServerProcess
from tests.end_to_end.case import TRACEBACKS, reactor
from tests.end_to_end.client import Client, tls_context
from tests.end_to_end.several import make_folders
from tests.forked import forking
from tests.hurried import HurriedServer
from tests.storage.etcd.cluster import FLAGS as CLUSTER_FLAGS
from tests.storage.etcd.cluster import NO_ETCD

QUICK = (
    "--leader-elect-lease-duration=3s",
    "--leader-elect-renew-deadline=2s",
    "--leader-elect-retry-period=500ms",
)
PATIENCE_S = 30.0
LOOK_S = 0.1


class ServersCase(TestCase):
    """Tests with servers and an etcd of their own; the servers may have shorter `periods`."""

    skip = NO_ETCD
    timeout = 180
    periods: ClassVar[Mapping[str, float]] = {}
    vocabulary = "orch"

    async def setUp(self) -> None:  # type: ignore[override]
        self.naming = naming = Naming.of(self.vocabulary)
        leases = f"/apis/{naming.api_version('coordination.orch.io/v1')}/namespaces/{naming.system_namespace}/leases"
        self.lease = f"{leases}/{naming.controller_manager}"
        folder = Path(self.mktemp()).absolute()
        self.cluster = EtcdCluster(folder / "etcd", *CLUSTER_FLAGS)
        await self.cluster.start(reactor)
        self.addCleanup(self.cluster.end)
        self.folders = make_folders(str(folder), ("a", "b"), naming)
        self.servers: list[ServerProcess] = []

    def server(self, folder: Path, *flags: str) -> ServerProcess:
        """A server of the cluster that is yet to be started."""
        own = f"--etcd-servers={self.cluster.endpoints[0]}", f"--vocabulary={self.vocabulary}"
        return HurriedServer(forking, folder, *own, *flags, periods=self.periods)

    async def start(self, *flags: str, folder: Path | None = None) -> tuple[ServerProcess, Client]:
        """One more server, and a client of its administrator."""
        server = self.server(folder or self.folders[len(self.servers)], *QUICK, *flags)
        self.servers.append(server)
        await server.start()
        self.addCleanup(self.end, server)
        client = Client(server.port, tls_context(server.kubeconfig))
        self.addCleanup(client.close)
        return server, client

    async def end(self, server: ServerProcess) -> None:
        go_on(server)
        await server.kill9()
        for word in TRACEBACKS:
            self.assertNotIn(word, server.log)

    async def until(self, done: Any) -> Any:
        """Ask again and again until the coroutine function answers something true; that."""
        deadline = reactor.seconds() + PATIENCE_S
        while not (answer := await done()):
            self.assertLess(reactor.seconds(), deadline, "it does not happen")
            await deferLater(reactor, LOOK_S)
        return answer

    async def leads(self, client: Client) -> bool:
        """Report whether a server runs the controllers, by its metrics."""
        text = (await client.get("/metrics")).body.decode()
        return f'leader_election_master_status{{name="{self.naming.controller_manager}"}} 1' in text

    async def make(self, client: Client, prefix: str) -> list[str]:
        """Create twelve namespaces of a prefix."""
        names = [f"{prefix}{number}" for number in range(12)]
        for name in names:
            self.assertEqual((await client.post("/api/v1/namespaces", {"metadata": {"name": name}})).code, 201)
        return names

    def accounts(self, names: list[str]) -> int:
        """In how many of them there is an account, by etcd itself."""
        found = json.loads(self.cluster.control("get", "--prefix", "--keys-only", "-w", "json", "/registry/"))
        keys = {_text(each["key"]) for each in found["kvs"]}
        return sum(f"/registry/serviceaccounts/{name}/default" in keys for name in names)

    async def take(self, client: Client) -> None:
        """Another holder comes to stand in the Lease."""
        self.assertEqual((await client.merge(self.lease, {"spec": {"holderIdentity": "intruder"}})).code, 200)

class LeadershipTests(ServersCase):
    """Leaders that lose their Lease, and those that do not."""

    async def test_taken_by_another_holder(self) -> None:
        """From the turn in which another holder has the Lease its former one writes nothing, for as long as its end
        takes (CTRL-51).
        """
        server, client = await self.start("--leader-elect", "--shutdown-delay-duration=2s")

        async def led() -> bool:
            return await self.leads(client)

        await self.until(led)
        await self.take(client)
        names = await self.make(client, "after")
        await server.ended()
        self.assertEqual(self.accounts(names), 0)
        why = f"lost the lease {self.naming.controller_manager}: it is held by 'intruder'"
        self.assertIn(why, server.log)

    async def test_held_up_for_longer_than_the_lease(self) -> None:
        """A leader that was stopped, and goes on when another holder has the Lease, writes nothing (CTRL-51)."""
        server, client = await self.start("--leader-elect", "--shutdown-delay-duration=1s")
        _, other = await self.start("--controllers=-*")

        async def led() -> bool:
            return await self.leads(client)

        await self.until(led)
        begun = await self.make(other, "begun")
        server.signal("STOP")
        had = self.accounts(begun)
        names = await self.make(other, "during")
        await deferLater(reactor, 4.0)
        await self.take(other)
        names += await self.make(other, "after")
        go_on(server)
        await server.ended()
        self.assertEqual((self.accounts(names), self.accounts(begun)), (0, had))

    async def test_elected_by_default(self) -> None:
        """Where servers share a store one of them works, without being asked; one that was held up is a candidate
        again, and serves on (CTRL-4, CTRL-5).
        """
        started = [await self.start(), await self.start()]

        async def leaders() -> list[int]:
            return [number for number, (_, client) in enumerate(started) if await self.leads(client)]

        first = await self.until(leaders)
        self.assertEqual(len(first), 1)
        server, client = started[first[0]]
        other = started[1 - first[0]][1]
        server.signal("STOP")

        async def taken_over() -> bool:
            return await self.leads(other)

        await self.until(taken_over)
        go_on(server)
        names = await self.make(client, "both")

        async def have_accounts() -> bool:
            return self.accounts(names) == len(names)

        await self.until(have_accounts)
        self.assertEqual(await leaders(), [1 - first[0]])
        self.assertTrue(server.running)
        self.assertEqual((await client.get("/readyz")).code, 200)

    async def test_etcd_that_stands_still(self) -> None:
        """A leader that cannot renew stops its controllers, not the server, and leads again when etcd answers."""
        server, client = await self.start()

        async def led() -> bool:
            return await self.leads(client)

        await self.until(led)
        [member] = self.cluster.members
        member.signal("STOP")

        async def lost() -> bool:
            return "lost the lease" in server.log

        await self.until(lost)
        member.signal("CONT")
        await self.until(led)
        names = await self.make(client, "again")

        async def have_accounts() -> bool:
            return self.accounts(names) == len(names)

        await self.until(have_accounts)
        self.assertTrue(server.running)

    async def test_not_elected(self) -> None:
        """With --leader-elect=false, and without any controllers, nobody asks for the Lease."""
        _, client = await self.start("--controllers=-*")
        _, other = await self.start("--leader-elect=false")
        names = await self.make(client, "plain")

        async def have_accounts() -> bool:
            return self.accounts(names) == len(names)

        await self.until(have_accounts)
        self.assertEqual((await other.get(self.lease)).code, 404)


class KubernetesLeadershipTests(LeadershipTests):
    """The same among Kubernetes' names."""

    vocabulary = "kubernetes"


def go_on(server: ServerProcess) -> None:
    """Let a stopped process go on."""
    if server.running:
        os.kill(server.pid, signal.SIGCONT)


def _text(encoded: str) -> str:
    return b64decode(encoded).decode(errors="replace")
