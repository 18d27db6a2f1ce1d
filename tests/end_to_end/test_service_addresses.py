"""Cluster IPs of a real server: many creates at once, a full range, and kill -9 in the middle (reference KIND-27)."""

from __future__ import annotations

from http.client import HTTPException

from twisted.internet.defer import Deferred, gatherResults
from twisted.trial.unittest import TestCase

from orchtw.testing.process import ServerProcess
from tests.end_to_end.client import Answer, Client, tls_context
from tests.forked import forking

PATH = "/api/v1/namespaces/default/services"
RANGE = "10.7.0.0/24"
ADDRESSES = 254 - 1  # without the servers' own
CONNECTIONS = 8
SERVICES = 200


class AddressTests(TestCase):
    timeout = 120

    async def setUp(self) -> None:  # type: ignore[override]
        self.server = ServerProcess(forking, self.mktemp(), f"--service-cluster-ip-range={RANGE}")
        self.addCleanup(self.server.kill9)
        await self.start()

    async def start(self) -> None:
        """Start the server, and make the clients' connections."""
        await self.server.start()
        context = tls_context(self.server.kubeconfig)
        self.clients = [Client(self.server.port, context) for _ in range(CONNECTIONS)]
        for client in self.clients:
            self.addCleanup(client.close)

    async def create_all(self, names: list[str]) -> list[str]:
        """Create services over all connections; returns the addresses of those that were answered."""
        found: list[str] = []

        async def create(number: int) -> None:
            for name in names[number::CONNECTIONS]:
                try:
                    answer = await self.create(name, client=self.clients[number])
                except (OSError, HTTPException):
                    return
                self.assertEqual(answer.code, 201, answer)
                found.append(answer.json["spec"]["clusterIP"])

        await gatherResults([Deferred.fromCoroutine(create(number)) for number in range(CONNECTIONS)])
        return found

    async def create(self, name: str, address: str = "", client: Client | None = None) -> Answer:
        """The answer to a create."""
        spec = {"ports": [{"port": 80}], **({"clusterIP": address} if address else {})}
        return await (client or self.clients[0]).post(PATH, {"metadata": {"name": name}, "spec": spec})

    async def stored(self) -> dict[str, str]:
        """The addresses of all services but the server's own."""
        items = (await self.clients[0].get(PATH)).json["items"]
        found = {each["metadata"]["name"]: each["spec"]["clusterIP"] for each in items}
        self.assertEqual(found.pop("orch"), "10.7.0.1")
        return found

    async def delete_all(self) -> None:
        """Delete the created Services."""
        for name in await self.stored():
            self.assertEqual((await self.clients[0].delete(f"{PATH}/{name}")).code, 200)

    async def test_parallel_creates(self) -> None:
        """All addresses differ; what is left can be had, one more cannot; deleted, all are free again."""
        found = await self.create_all([f"s{number}" for number in range(SERVICES)])
        self.assertEqual((len(found), len(set(found))), (SERVICES, SERVICES))
        answer = await self.create("last", "10.7.0.255")
        self.assertEqual(answer.code, 422)
        why = "the provided IP (10.7.0.255) is not in the valid range. The range of valid IPs is 10.7.0.0/24"
        self.assertIn(f"failed to allocate IP 10.7.0.255: {why}", answer.json["message"])
        await self.create_all([f"t{number}" for number in range(ADDRESSES - SERVICES)])
        answer = await self.create("full")
        self.assertEqual(answer.code, 500)
        text = "Internal error occurred: failed to allocate a serviceIP: range is full"
        self.assertEqual(answer.json["message"], text)
        await self.delete_all()
        found = await self.create_all([f"u{number}" for number in range(ADDRESSES)])
        self.assertEqual(len(set(found)), ADDRESSES)

    async def test_killed_in_the_middle(self) -> None:
        """After a kill every service that is there has its address alone, and the rest of the range is free."""
        creating = Deferred.fromCoroutine(self.create_all([f"s{number}" for number in range(SERVICES)]))
        await self.some_created()
        await self.server.kill9()
        await creating
        await self.start()
        there = await self.stored()
        self.assertTrue(0 < len(there) < SERVICES, len(there))
        self.assertEqual(len(set(there.values())), len(there))
        rest = await self.create_all([f"t{number}" for number in range(ADDRESSES - len(there))])
        self.assertEqual(len({*rest, *there.values()}), ADDRESSES)
        self.assertEqual((await self.create("full")).code, 500)
        await self.delete_all()
        self.assertEqual(len(set(await self.create_all([f"u{number}" for number in range(ADDRESSES)]))), ADDRESSES)

    async def some_created(self) -> None:
        """Wait until a part of the services is there."""
        client = Client(self.server.port, tls_context(self.server.kubeconfig))
        self.addCleanup(client.close)
        while len((await client.get(PATH)).json["items"]) < SERVICES // 4:
            pass
