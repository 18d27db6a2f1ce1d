"""The end of a server that is busy: no request is lost, no watch is cut off (reference OPS-14)."""

from __future__ import annotations

import json
from http.client import HTTPException
from pathlib import Path

from twisted.internet.defer import Deferred, gatherResults
from twisted.internet.task import deferLater
from twisted.internet.threads import deferToThread

from orchtw.testing.admission_webhook import AdmissionWebhook
from orchtw.testing.process import ServerProcess
from tests.end_to_end.case import reactor
from tests.end_to_end.children import Child
from tests.end_to_end.client import Client, tls_context
from tests.end_to_end.test_start import ProcessCase
from tests.forked import forking

WRITERS = 64
SLOW_WRITERS = 4
WATCHERS = 500
SLOW_S = 5.0
MAPS = "/api/v1/namespaces/{}/configmaps"
ALL_MAPS = "/api/v1/configmaps?watch=1&resourceVersion={}"


class Writer:
    """Creates objects, one after the other, until the server does not take any more."""

    def __init__(self, server: ServerProcess, number: int, namespace: str, most: int) -> None:
        self.acknowledged: list[str] = []
        self.turned_away: dict[str, str] = {}
        self._client = Client(server.port, tls_context(server.kubeconfig))
        self._number = number
        self._path = MAPS.format(namespace)
        self._most = most

    def run(self) -> None:
        """To be called in a thread of its own."""
        while len(self.acknowledged) < self._most:
            name = f"w{self._number}-{len(self.acknowledged)}"
            try:
                answer = self._client.exchange("POST", self._path, {"metadata": {"name": name}}, None)
            except (OSError, HTTPException):
                break
            if answer.code != 201:
                self.turned_away = {"code": str(answer.code), **answer.headers, "text": answer.body.decode()}
                break
            self.acknowledged.append(name)
        self._client.close()


class BusyTests(ProcessCase):
    """Writers, watchers and a slow webhook at the moment of the signal."""

    timeout = 300

    async def started(self, *flags: str) -> ServerProcess:
        """A server in whose namespace `slow` a webhook takes its time."""
        server = self.server("--controllers=*,-root-ca-cert-publisher", *flags)
        await server.start()
        client = self.client(server)
        self.assertEqual((await client.post("/api/v1/namespaces", {"metadata": {"name": "slow"}})).code, 201)
        selector = {"matchLabels": {"orch.io/metadata.name": "slow"}}
        self.hook = hook = AdmissionWebhook(reactor, "configmaps", namespaceSelector=selector, timeoutSeconds=30)
        self.addCleanup(hook.stop)
        hook.answers = lambda _review: deferLater(reactor, SLOW_S, lambda: {"allowed": True})
        self.assertEqual((await client.post(hook.path, hook.configuration)).code, 201)
        return server

    def begin(self, server: ServerProcess, fast: int, slow: int) -> list[Deferred[None]]:
        """Let writers begin, each in a thread."""
        reactor.suggestThreadPoolSize(fast + slow + 10)
        self.addCleanup(reactor.suggestThreadPoolSize, 10)
        self.slow = [Writer(server, number, "slow", 1) for number in range(slow)]
        self.fast = [Writer(server, number, "default", 1 << 30) for number in range(fast)]
        return [deferToThread(writer.run) for writer in (*self.slow, *self.fast)]

    async def until_busy(self, writes: int) -> None:
        """Wait until that much was written and the webhook has been asked."""
        while len(self.hook.reviews) < len(self.slow) or sum(len(each.acknowledged) for each in self.fast) < writes:
            await deferLater(reactor, 0.02)

    def written(self) -> list[str]:
        """The names of all objects whose writers have been told so, sorted."""
        return sorted(
            f"{namespace}/{name}"
            for namespace, writers in (("slow", self.slow), ("default", self.fast))
            for writer in writers
            for name in writer.acknowledged
        )

    async def test_under_load(self) -> None:
        """Accepted requests are answered, answered writes are stored, watches see all of them and end in order."""
        server = await self.started()
        client, file = self.client(server), self.mktemp()
        version = (await client.get("/api/v1/configmaps")).version
        arguments = str(server.port), str(server.kubeconfig), ALL_MAPS.format(version), str(WATCHERS), file
        child = Child(forking, "tests.end_to_end.watch_ends_child", *arguments)
        self.addCleanup(child.kill)
        await child.says("ready")
        writing = self.begin(server, WRITERS - SLOW_WRITERS, SLOW_WRITERS)
        await self.until_busy(WRITERS * 4)
        self.assertEqual(await server.terminate(), 0)
        await gatherResults(writing)
        await child.says("done")
        self.assertEqual([len(writer.acknowledged) for writer in self.slow], [1] * SLOW_WRITERS)
        self.assertEqual([writer.turned_away for writer in self.fast if writer.turned_away], [])
        self.assertEqual(self.seen(Path(file).read_bytes()), self.written())
        self.assertNotIn("Traceback", server.log)
        await server.start()
        listed = [(await self.client(server).get(MAPS.format(each))).json["items"] for each in ("slow", "default")]
        self.assertEqual(sorted(map(_name, (*listed[0], *listed[1]))), self.written())

    def seen(self, stream: bytes) -> list[str]:
        """The objects whose creation the watchers have seen, sorted."""
        events = [json.loads(line) for line in stream.splitlines()]
        return sorted(_name(event["object"]) for event in events if event["type"] == "ADDED")

    async def test_retry_after(self) -> None:
        """With `--shutdown-send-retry-after` who comes while requests are running is told to come back."""
        server = await self.started("--shutdown-send-retry-after")
        client = self.client(server)
        writing = self.begin(server, 4, 1)
        await self.until_busy(8)
        server.signal("TERM")
        await gatherResults(writing[1:])
        for writer in self.fast:
            told = writer.turned_away
            self.assertEqual((told["code"], told["retry-after"], told["connection"]), ("429", "5", "close"))
            self.assertEqual(told["text"], "The apiserver is shutting down, please try again later.\n")
        ready = await client.get("/readyz")
        self.assertEqual((ready.code, "connection" in ready.headers), (500, False))
        self.assertEqual(await server.ended(), 0)
        await writing[0]
        self.assertEqual(len(self.slow[0].acknowledged), 1)


def _name(obj: dict[str, dict[str, str]]) -> str:
    return f"{obj['metadata']['namespace']}/{obj['metadata']['name']}"
