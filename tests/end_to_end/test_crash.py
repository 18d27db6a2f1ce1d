"""kill -9 of the real server under writers over HTTPS (reference DESIGN-23)."""

from __future__ import annotations

import random
from http.client import HTTPException

from twisted.internet.defer import Deferred, gatherResults
from twisted.trial.unittest import TestCase

from orchtw.testing.process import ServerProcess
from orchtw.wire.objects import Object
from tests.end_to_end.client import Client, tls_context
from tests.forked import forking

ROUNDS = 4
WRITERS = 8
ACKNOWLEDGED = (20, 200)  # how many writes of a round are answered before the kill
PATH = "/api/v1/namespaces/default/configmaps"
GONE = ""


class Writer:
    """Creates, changes and deletes objects of its own, and remembers what it was told.

    `known` has the value and version of each object as acknowledged (GONE: deleted); `doubtful` is the object of
    the write that was not answered, with the value it may have.
    """

    def __init__(self, number: int, choose: random.Random) -> None:
        self.known: dict[str, tuple[str, int]] = {}
        self.doubtful: tuple[str, str] | None = None
        self._choose = choose
        self._prefix = f"w{number}"
        self._count = 0

    async def write(self, client: Client) -> int:
        """One write; returns its revision (0 for a delete, whose answer has none)."""
        self._count += 1
        name = f"{self._prefix}-{self._choose.randrange(10)}"
        value, _ = self.known.get(name, (GONE, 0))
        gone = value != GONE and self._choose.random() < 0.2
        wanted = GONE if gone else str(self._count)
        self.doubtful = name, wanted
        obj = {"metadata": {"name": name}, "data": {"value": wanted}}
        if gone:
            answer = await client.delete(f"{PATH}/{name}")
        elif value == GONE:
            answer = await client.post(PATH, obj)
        else:
            answer = await client.put(f"{PATH}/{name}", obj)
        if answer.code not in (200, 201):
            raise AssertionError(f"{name}: {answer}")
        revision = 0 if gone else int(answer.version)
        self.known[name] = wanted, revision
        self.doubtful = None
        return revision

    def verify(self, live: dict[str, tuple[str, int]]) -> list[str]:
        """Return the acknowledged writes missing in `live`; settle the doubtful one."""
        lost = []
        if self.doubtful is not None:
            name, wanted = self.doubtful
            value, revision = live.get(name, (GONE, 0))
            if value not in (wanted, self.known.get(name, (GONE, 0))[0]):
                lost.append(f"{name}: {value!r} was never written")
            self.known[name] = value, revision
            self.doubtful = None
        for name, (value, revision) in self.known.items():
            if live.get(name, (GONE, 0))[0] != value or (value != GONE and live[name][1] != revision):
                lost.append(f"{name}: {value!r} at {revision} became {live.get(name)}")
        return lost


class CrashTests(TestCase):
    timeout = 120

    async def test_no_acknowledged_write_is_lost(self) -> None:
        """After each of several kills the server starts with every acknowledged write, and versions only rise
        (reference OPS-16).
        """
        server = ServerProcess(forking, self.mktemp())
        self.addCleanup(server.kill9)
        choose = random.Random(24)
        writers = [Writer(number, choose) for number in range(WRITERS)]
        highest = 0
        for _ in range(ROUNDS):
            await server.start()
            client = Client(server.port, tls_context(server.kubeconfig))
            self.addCleanup(client.close)
            live, version = await self.live(client)
            self.assertEqual([lost for writer in writers for lost in writer.verify(live)], [])
            self.assertGreaterEqual(version, highest)
            highest = await self.write_until_killed(server, client, writers, version, choose.randint(*ACKNOWLEDGED))
        await server.start()
        client = Client(server.port, tls_context(server.kubeconfig))
        self.addCleanup(client.close)
        live, version = await self.live(client)
        self.assertEqual([lost for writer in writers for lost in writer.verify(live)], [])
        self.assertGreaterEqual(version, highest)
        self.assertEqual(await server.terminate(), 0)
        self.assertNotIn("Traceback", server.log)

    async def live(self, client: Client) -> tuple[dict[str, tuple[str, int]], int]:
        """The writers' objects (value and version by name), and the list's version."""
        answer = await client.get(PATH)
        self.assertEqual(answer.code, 200, answer)
        items: list[Object] = answer.json["items"]
        found = {
            item["metadata"]["name"]: (item["data"]["value"], int(item["metadata"]["resourceVersion"]))
            for item in items
            if "value" in item.get("data", {})
        }
        return found, int(answer.version)

    async def write_until_killed(
        self, server: ServerProcess, client: Client, writers: list[Writer], after: int, count: int
    ) -> int:
        """Write from all writers at a time; kill after `count` answers; returns the highest version answered."""
        answered: list[int] = []

        async def go_on(writer: Writer) -> None:
            while True:
                try:
                    revision = await writer.write(client)
                except (OSError, HTTPException):
                    return
                answered.append(revision)
                if revision:
                    self.assertGreater(revision, after)
                if len(answered) == count:
                    server.signal("KILL")

        await gatherResults([Deferred.fromCoroutine(go_on(writer)) for writer in writers])
        self.assertEqual(await server.ended(), -9)
        self.assertGreaterEqual(len(answered), count)
        return max(answered)
