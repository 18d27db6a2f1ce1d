"""Many watchers, and a slow one, over real TLS sockets (reference WATCH-18).

The full size (1,000 watchers, 10,000 events, ten million deliveries) takes some minutes: set
`ORCHTW_FULL_FANOUT=1` for it. Otherwise the same 1,000 watchers get 500.
"""

from __future__ import annotations

import json
from http.client import HTTPSConnection
from pathlib import Path

from twisted.internet.defer import Deferred, gatherResults
from twisted.internet.threads import deferToThread

from orchtw.wire.objects import Object
from tests.end_to_end.case import ServerCase, full_size, surface
from tests.end_to_end.children import Child
from tests.end_to_end.client import Watch
from tests.forked import forking
from tests.schema.codec.envelopes import opened

WATCHERS = 1000
EVENTS = 10_000 if full_size("ORCHTW_FULL_FANOUT") else 500
WRITERS = 4
PAGE_BYTES = 4096
MEBIBYTE = 1 << 20


class FanOutTests(ServerCase):
    timeout = 600

    async def setUp(self) -> None:  # type: ignore[override]
        await super().setUp()
        self.acknowledged: list[int] = []

    def watchers(self, accept: str, file: str) -> Child:
        """Half of the watchers, with one Accept header."""
        child = Child(
            forking,
            "tests.end_to_end.watch_child",
            str(self.server.port),
            str(self.server.kubeconfig),
            self.core("configmaps") + f"?watch=1&resourceVersion={self.version}",
            accept,
            str(WATCHERS // 2),
            str(EVENTS),
            file,
        )
        self.addCleanup(child.kill)
        return child

    async def write(self, number: int) -> None:
        """One writer's share: an object that is created, and then changed."""
        name = f"w{number}"
        made = await self.created(self.core("configmaps"), {"metadata": {"name": name}, "data": {"n": "0"}})
        self.acknowledged.append(int(made["metadata"]["resourceVersion"]))
        for count in range(1, EVENTS // WRITERS):
            answer = await self.client.merge(self.core("configmaps", name), {"data": {"n": str(count)}})
            self.assertEqual(answer.code, 200, answer)
            self.acknowledged.append(int(answer.version))

    async def test_every_event_once_and_in_order(self) -> None:
        """1,000 watchers, in JSON and in Protobuf, each get each event exactly once, in order."""
        self.version = (await self.client.get(self.core("configmaps"))).version
        binary_type = self.naming.protobuf_media_type + ";stream=watch"
        files = [self.mktemp(), self.mktemp()]
        children = [self.watchers("application/json", files[0]), self.watchers(binary_type, files[1])]
        await gatherResults([Deferred.fromCoroutine(child.says("ready")) for child in children])
        await gatherResults([Deferred.fromCoroutine(self.write(number)) for number in range(WRITERS)])
        await gatherResults([Deferred.fromCoroutine(child.says("done")) for child in children])
        self.assertEqual(self.revisions(Path(files[0]).read_bytes()), sorted(self.acknowledged))
        self.assertEqual(self.binary_revisions(Path(files[1]).read_bytes()), sorted(self.acknowledged))

    def revisions(self, stream: bytes) -> list[int]:
        """The versions of the objects in a JSON stream, each event checked for its type."""
        events = [json.loads(line) for line in stream.splitlines()]
        for event in events:
            self.assertEqual(event["type"], "ADDED" if event["object"]["data"] == {"n": "0"} else "MODIFIED")
        return [int(event["object"]["metadata"]["resourceVersion"]) for event in events]

    def binary_revisions(self, stream: bytes) -> list[int]:
        """The same of a Protobuf stream."""
        codecs = surface(self.vocabulary)[1]
        codec = codecs.kind("v1", "ConfigMap")
        versions, place = [], 0
        while place < len(stream):
            size = int.from_bytes(stream[place : place + 4], "big")
            payload = stream[place + 4 : place + 4 + size]
            place += 4 + size
            obj = opened(codec, payload[payload.index(b"k8s\0") :])
            versions.append(int(obj["metadata"]["resourceVersion"]))
        return versions


class SlowWatcherTests(ServerCase):
    """Watchers that do not read, beside one that does."""

    SLOW = 10
    ROUNDS = 300
    OBJECT_BYTES = 20_000

    async def rounds(self, watch: Watch, first: int) -> None:
        """Change one object many times; the reader gets every change."""
        for number in range(first, first + self.ROUNDS):
            answer = await self.client.merge(self.core("configmaps", "big"), {"data": {"n": str(number)}})
            event = await watch.event()
            self.assertEqual(event["object"]["metadata"]["resourceVersion"], answer.version)

    def memory(self) -> int:
        """Resident bytes of the server."""
        return int(Path(f"/proc/{self.server.pid}/statm").read_text().split()[1]) * PAGE_BYTES

    async def test_slow_watchers_cost_nothing(self) -> None:
        """Watchers that stop reading hold nobody back and cost no growing memory; they may go on reading later."""
        obj: Object = {"metadata": {"name": "big"}, "data": {"filling": "x" * self.OBJECT_BYTES}}
        version = (await self.created(self.core("configmaps"), obj))["metadata"]["resourceVersion"]
        path = self.core("configmaps") + f"?watch=1&resourceVersion={version}"
        watch = await self.client.watch(path)
        before = self.memory()
        await self.rounds(watch, 0)
        history = self.memory() - before
        slow = [self.slow(path) for _ in range(self.SLOW)]
        before = self.memory()
        await self.rounds(watch, self.ROUNDS)
        grown = self.memory() - before - history
        unread = self.SLOW * 2 * self.ROUNDS * self.OBJECT_BYTES
        self.assertLess(grown, 16 * MEBIBYTE, f"{grown >> 20} MiB for {unread >> 20} MiB that nobody read")
        for each in slow:
            await self.goes_on(each)

    def slow(self, path: str) -> HTTPSConnection:
        """A connection that has asked for a watch, and reads nothing."""
        connection = self.new_client().connection()
        connection.request("GET", path)
        return connection

    async def goes_on(self, connection: HTTPSConnection) -> None:
        """A slow watcher gets changes in order, and a 410 if it is too late for the rest."""
        watch = Watch(await deferToThread(connection.getresponse))
        last, expected = -1, 2 * self.ROUNDS - 1
        while last < expected:
            event = await watch.event()
            if event["type"] == "ERROR":
                self.assertEqual((event["object"]["code"], event["object"]["reason"]), (410, "Expired"))
                return
            number = int(event["object"]["data"]["n"])
            self.assertEqual(number, last + 1)
            last = number
