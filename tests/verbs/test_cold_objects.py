"""Large objects of which there is only what the store keeps, as after a start, do not hold the reactor when read."""
# covers: orchtw.responses.made_stream, orchtw.schema.codec.generated

from __future__ import annotations

from threading import Thread, current_thread, main_thread
from typing import Any

import orjson
import yaml
from twisted.internet import reactor
from twisted.trial.unittest import SynchronousTestCase, TestCase

from orchtw.errors import Expired, TooManyRequests
from orchtw.registry.offload import INLINE_BYTES
from orchtw.registry.stored import Stored
from orchtw.request import Ending
from orchtw.responses.made_stream import MadeStream
from orchtw.responses.slices import PART_BYTES
from orchtw.schema.codec.generated import Functions
from orchtw.schema.nodes import StructSchema
from tests.in_process import InProcessServer

MAPS = "/api/v1/namespaces/default/configmaps"
JSON, YAML = "application/json", "application/yaml"
TABLE = f"{JSON};as=Table;g=meta.orch.io;v=v1"
PARTIAL = f"{JSON};as=PartialObjectMetadataList;g=meta.orch.io;v=v1"
DATA = {f"k{i:05}": "x" * 100 for i in range(2 * INLINE_BYTES // 100)}


class ColdObjectTests(TestCase):
    async def setUp(self) -> None:  # type: ignore[override]  # trial awaits it
        self.server = InProcessServer(reactor, self.mktemp())
        await self.server.start()
        self.addCleanup(self.server.stop)
        for name, data in (("large", DATA), ("small", {"a": "b"})):
            answer = await self.server.request("POST", MAPS, {"metadata": {"name": name}, "data": data})
            self.version = answer.json["metadata"]["resourceVersion"]
        found = self.server.instance.resources.targets.find("", "v1", "configmaps")
        assert found is not None
        self.target = found
        self.threads: list[Thread] = []
        load, json_tail = Stored.load, Stored.json_tail

        def noted(method: Any) -> Any:
            def call(stored: Stored, entry: Any) -> Any:
                if len(entry.raw) > INLINE_BYTES and (method is load or entry.json is None):
                    self.threads.append(current_thread())
                return method(stored, entry)

            return call

        self.patch(Stored, "load", noted(load))
        self.patch(Stored, "json_tail", noted(json_tail))

    def chill(self) -> None:
        """Leave nothing of the large object but what the store keeps."""
        entry = self.target.stored.get("default", "large")
        assert entry is not None
        entry.json = entry.other = None
        self.threads.clear()

    def assert_off_the_reactor(self, what: str, *, decoded: bool = True) -> None:
        self.assertEqual(bool(self.threads), decoded, what)
        self.assertNotIn(main_thread(), self.threads, what)

    async def test_lists(self) -> None:
        """A list in any form decodes it in the thread; of metadata alone, not at all."""
        for accept in (JSON, YAML, TABLE, PARTIAL):
            for query in ("", "?pretty=true", "?includeObject=Object", "?limit=1"):
                self.chill()
                answer = await self.server.request("GET", MAPS + query, headers={"accept": accept})
                self.assert_off_the_reactor(accept + query, decoded=accept != PARTIAL)
                found = yaml.load(answer.body, yaml.CSafeLoader) if accept == YAML else answer.json
                rows = found["rows"] if accept == TABLE else found["items"]
                self.assertEqual(len(rows), 1 if "limit" in query else 2, accept + query)
                if accept in (JSON, YAML):
                    self.assertEqual(rows[0]["data"], DATA)

    async def test_watches(self) -> None:
        """So does a watch before it begins, from whatever version."""
        for accept in (JSON, TABLE):
            for query in ("&resourceVersion=0", "", f"&resourceVersion={self.version}"):
                self.chill()
                watch = await self.server.watch(f"{MAPS}?watch=1{query}", {"accept": accept})
                made = self.threads[:]
                self.assertTrue(made, accept + query)
                self.assertNotIn(main_thread(), made, accept + query)
                watch.close()

    async def test_deleted(self) -> None:
        """The DELETED event of a watch comes from the encoding made at its begin."""
        self.chill()
        watch = await self.server.watch(f"{MAPS}?watch=1&resourceVersion={self.version}")
        await self.server.request("DELETE", f"{MAPS}/large")
        event = await watch.next()
        self.assertEqual((event["type"], event["object"]["data"]), ("DELETED", DATA))
        self.assert_off_the_reactor("DELETED")
        watch.close()

    async def test_past_state(self) -> None:
        """A version that only the store has is decoded in the thread too."""
        built: list[Thread] = []
        build = Stored.build

        def noted(stored: Stored, key: str, value: bytes, revision: int) -> Any:
            if len(value) > INLINE_BYTES:
                built.append(current_thread())
            return build(stored, key, value, revision)

        self.patch(Stored, "build", noted)

        def too_old(*_: Any) -> Any:
            raise Expired.list()

        self.patch(self.target.stored.cache, "past", too_old)
        answer = await self.server.request("GET", f"{MAPS}?resourceVersion={self.version}&resourceVersionMatch=Exact")
        self.assertEqual([item["metadata"]["name"] for item in answer.json["items"]][:1], ["large"])
        self.assertTrue(built)
        self.assertNotIn(main_thread(), built)

    async def test_nothing_large(self) -> None:
        """Once it is gone, or small, nothing is looked for."""
        cache = self.target.stored.cache
        self.assertEqual(cache.large, {"default/large"})
        patch = orjson.dumps([{"op": "remove", "path": "/data"}])
        await self.server.request("PATCH", f"{MAPS}/large", patch, {"content-type": "application/json-patch+json"})
        self.assertEqual(cache.large, set())


class FirstOfAKindTests(TestCase):
    async def setUp(self) -> None:  # type: ignore[override]  # trial awaits it
        gate = ("LegacyServiceAccountTokenNoAutoGeneration", "true")  # controllers make no Secrets meanwhile
        self.server = InProcessServer(reactor, self.mktemp(), feature_gates=(gate,))
        await self.server.start()
        self.addCleanup(self.server.stop)
        self.compiled: list[tuple[str, Thread]] = []
        compiled = Functions._compile

        def noted(functions: Functions, schema: StructSchema, name: str) -> Any:
            if len(schema.fields) > 1:  # a single field's function is a few lines around another one
                self.compiled.append((schema.name, current_thread()))
            return compiled(functions, schema, name)

        self.patch(Functions, "_compile", noted)

    async def send(self, method: str, path: str, content: object = None, **headers: str) -> None:
        self.compiled.clear()
        answer = await self.server.request(method, path, content, headers)
        self.assertIn(answer.code, (200, 201), answer.body)

    def on_the_reactor(self) -> list[str]:
        """Return the compiled kinds, but for the one that a controller creates objects of."""
        names = [name for name, thread in self.compiled if thread is main_thread()]
        return [name for name in names if not name.endswith(".ServiceAccount")]

    async def test_compiled_off_the_reactor(self) -> None:
        """The functions that a kind's first objects need are compiled in the thread (reference LIMIT-24)."""
        jobs = "/apis/batch/v1/namespaces/default/cronjobs"
        pod = {"restartPolicy": "Never", "containers": [{"name": "a", "image": "a", "env": [{"name": "A"}]}]}
        job = {"schedule": "* * * * *", "jobTemplate": {"spec": {"template": {"spec": pod}}}}
        await self.send("POST", jobs, {"metadata": {"name": "a"}, "spec": job})
        self.assertIn("orch.io.api.core.v1.PodSpec", [name for name, _ in self.compiled])
        self.assertEqual(self.on_the_reactor(), [])
        target = self.server.instance.resources.targets.find("batch", "v1", "cronjobs")
        assert target is not None
        entry = target.stored.get("default", "a")
        assert entry is not None
        for path, accept in ((f"{jobs}/a", JSON), (jobs, TABLE), (jobs, YAML)):
            with self.subTest(path=path):
                entry.json = entry.other = None
                target.stored.codec.__dict__.pop("_decode", None)
                self.assertTrue(target.stored.codec.unread)
                await self.send("GET", path, accept=accept)
                self.assertEqual(self.on_the_reactor(), [])
                self.assertFalse(target.stored.codec.unread)


class Channel:
    """Takes what a stream writes; full when told so."""

    def __init__(self) -> None:
        self.written: list[bytes] = []
        self.ended = ""
        self.producer: Any = None
        self.room = 1 << 30

    def registerProducer(self, producer: Any, streaming: bool) -> None:
        self.producer = producer

    def write(self, framed: bytes) -> None:
        self.written.append(framed)
        self.room -= 1
        if self.room <= 0:
            self.producer.pauseProducing()

    def write_pieces(self, pieces: Any) -> None:
        raise AssertionError("parts are whole")

    def finish(self, ending: Ending = Ending.COMPLETE) -> None:
        self.ended = "finished"

    def abort(self) -> None:
        self.ended = "aborted"

    def reset(self) -> None:
        self.ended = "reset"


class Parts:
    """Parts to come; an exception among them is raised."""

    def __init__(self, *parts: bytes | Exception) -> None:
        self.left = list(parts)

    async def next(self) -> bytes:
        part = self.left.pop(0) if self.left else b""
        if isinstance(part, Exception):
            raise part
        return part


class MadeStreamTests(SynchronousTestCase):
    def started(self, room: int, *parts: bytes | Exception) -> tuple[MadeStream, Channel, Parts]:
        channel, left = Channel(), Parts(*parts)
        channel.room = room
        stream = MadeStream(b"0", left)  # type: ignore[arg-type]
        stream.start(channel)
        return stream, channel, left

    def test_waits_for_the_client(self) -> None:
        """No part is made while the client does not read."""
        stream, channel, left = self.started(2, b"1", b"2", b"3")
        self.assertEqual((len(channel.written), len(left.left), channel.ended), (2, 2, ""))
        stream.resumeProducing()  # full again after one
        self.assertEqual((len(channel.written), len(left.left)), (3, 1))
        channel.room = PART_BYTES
        stream.resumeProducing()
        self.assertEqual((len(channel.written), channel.ended), (4, "finished"))

    def test_cannot_be_made(self) -> None:
        """An answer that cannot be completed ends its connection; a fault of ours is logged."""
        for error, logged in ((Expired.list(), 0), (TooManyRequests("later"), 0), (KeyError("x"), 1)):
            _, channel, _ = self.started(9, b"1", error)
            self.assertEqual((len(channel.written), channel.ended), (2, "aborted"))
            self.assertEqual(len(self.flushLoggedErrors(KeyError)), logged)

    def test_client_leaves(self) -> None:
        """Nothing is made for a client that is gone."""
        stream, channel, left = self.started(1, b"1", b"2")
        stream.connection_lost()
        stream.resumeProducing()
        self.assertEqual((len(channel.written), len(left.left), channel.ended), (1, 2, ""))
