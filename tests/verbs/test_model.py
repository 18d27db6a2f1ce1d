"""Lists, chunks, exact versions and watches against a simple model, under writes, deletes and compaction."""

from __future__ import annotations

from collections.abc import Sequence
from math import inf
from typing import Any

import orjson
from hypothesis import given
from hypothesis import strategies as st
from twisted.internet import reactor
from twisted.trial.unittest import TestCase

from orchtw.request import Ending, Peer, Request, chunks
from orchtw.storage.cache import indexes
from orchtw.testing.in_process import TOKEN
from tests.in_process import InProcessServer
from tests.properties import examples

CONFIG_MAPS = "/api/v1/namespaces/default/configmaps"
NAMES = ["a", "b", "c", "d", "e"]
State = dict[str, str]

STEPS = st.one_of(
    st.tuples(st.just("put"), st.sampled_from(NAMES)),
    st.tuples(st.just("put"), st.sampled_from(NAMES)),
    st.tuples(st.just("delete"), st.sampled_from(NAMES)),
    st.tuples(st.just("list"), st.just("")),
    st.tuples(st.just("begin"), st.sampled_from(["1", "2"])),
    st.tuples(st.just("continue"), st.just("")),
    st.tuples(st.just("exact"), st.sampled_from(["0", "1", "5"])),
    st.tuples(st.just("selected"), st.sampled_from(["", "1", "5"])),
    st.tuples(st.just("watch"), st.sampled_from(["0", "1", "5"])),
    st.tuples(st.just("compact"), st.sampled_from(["1", "3"])),
)


def scripts(count: int) -> list[list[tuple[str, str]]]:
    """Scripts of steps, the same in every run."""
    found: list[list[tuple[str, str]]] = []

    @examples(count)
    @given(st.lists(STEPS, min_size=5, max_size=40))
    def collect(script: list[tuple[str, str]]) -> None:
        found.append(script)

    collect()
    return found


class Recorder:
    """A response channel that keeps what a watch writes."""

    def __init__(self) -> None:
        self.framed = b""

    def write(self, framed: bytes) -> None:
        self.framed += framed

    def write_pieces(self, pieces: Sequence[bytes]) -> None:
        self.write(chunks(pieces))

    def registerProducer(self, producer: Any, streaming: bool) -> None:
        pass

    def finish(self, ending: Ending = Ending.COMPLETE) -> None:
        pass

    def abort(self) -> None:
        pass

    def reset(self) -> None:
        pass

    def events(self) -> list[dict[str, Any]]:
        """The events, without the chunks around them."""
        body, rest = b"", self.framed
        while rest:
            size, _, rest = rest.partition(b"\r\n")
            body += rest[: int(size, 16)]
            rest = rest[int(size, 16) + 2 :]
        return [orjson.loads(line) for line in body.splitlines()]


class Run:
    """One script against one server, with a model beside it."""

    def __init__(self, test: TestCase, server: InProcessServer, history: dict[int, State]) -> None:
        self.test = test
        self.server = server
        self.history = history
        self.labels: dict[str, str] = {}
        self.events: list[tuple[int, str, str]] = []
        self.watches: list[tuple[int, Recorder]] = []
        self.chunk: tuple[int, str, list[str]] | None = None
        self.compacted = 0

    async def step(self, action: str, argument: str) -> None:
        """Do one step and compare."""
        await getattr(self, action)(argument)

    @property
    def state(self) -> State:
        """The model's present state: names and resourceVersions."""
        return self.history[max(self.history)]

    def past(self, back: str) -> int:
        """One of the last revisions of the model."""
        revisions = sorted(self.history)
        return revisions[max(0, len(revisions) - 1 - int(back))]

    async def put(self, name: str) -> None:
        """Create or update an object."""
        old = self.state.get(name)
        number = str(len(self.history))
        body = {"metadata": {"name": name, "labels": {"digit": number[-1]}}, "data": {"n": number}}
        if old is None:
            answer = await self.server.request("POST", CONFIG_MAPS, body)
        else:
            answer = await self.server.request("PUT", f"{CONFIG_MAPS}/{name}", body)
        self.test.assertIn(answer.code, (200, 201), answer.body)
        version = answer.json["metadata"]["resourceVersion"]
        self.labels[version] = number[-1]
        self.history[int(version)] = {**self.state, name: version}
        self.events.append((int(version), "ADDED" if old is None else "MODIFIED", name))

    async def delete(self, name: str) -> None:
        """Delete what may be there."""
        answer = await self.server.request("DELETE", f"{CONFIG_MAPS}/{name}")
        self.test.assertEqual(answer.code, 200 if name in self.state else 404)
        if name in self.state:
            revision = int((await self.server.request("GET", CONFIG_MAPS)).json["metadata"]["resourceVersion"])
            self.history[revision] = {key: value for key, value in self.state.items() if key != name}
            self.events.append((revision, "DELETED", name))

    async def list(self, _: str) -> None:
        """List without a limit: the items are the present state."""
        answer = (await self.server.request("GET", CONFIG_MAPS)).json
        self.compare(answer["items"], self.state)

    def compare(self, items: Sequence[dict[str, Any]], state: State) -> None:
        """The items are the state, in key order."""
        found = [(item["metadata"]["name"], item["metadata"]["resourceVersion"]) for item in items]
        self.test.assertEqual(found, sorted(state.items()))

    async def begin(self, limit: str) -> None:
        """Begin a chunked list."""
        answer = (await self.server.request("GET", f"{CONFIG_MAPS}?limit={limit}")).json
        self.take_chunk(answer, [])

    def take_chunk(self, answer: dict[str, Any], before: Sequence[str]) -> None:
        """One more chunk; the last one completes the state that the first one began."""
        names = [*before, *(item["metadata"]["name"] for item in answer["items"])]
        revision, token = int(answer["metadata"]["resourceVersion"]), answer["metadata"].get("continue", "")
        self.test.assertEqual(names, sorted(self.at(revision))[: len(names)])
        if token:
            self.chunk = (revision, token, names)
        else:
            self.chunk = None
            self.test.assertEqual(names, sorted(self.at(revision)))

    def at(self, revision: int) -> State:
        """The model's state at any revision."""
        return self.history[max(each for each in self.history if each <= revision)]

    async def resume(self, limit: int) -> None:
        """Go on with a chunked list."""
        if self.chunk is None:
            return
        revision, token, names = self.chunk
        answer = await self.server.request("GET", f"{CONFIG_MAPS}?limit={limit}&continue={token}")
        if revision < self.compacted:
            self.chunk = None
            self.test.assertEqual(answer.code, 410)
            return
        self.test.assertEqual(answer.code, 200, answer.body)
        self.test.assertEqual(answer.json["metadata"]["resourceVersion"], str(revision))
        self.take_chunk(answer.json, names)

    async def exact(self, back: str) -> None:
        """A past state exactly, or 410."""
        revision = self.past(back)
        answer = await self.server.request(
            "GET", f"{CONFIG_MAPS}?resourceVersion={revision}&resourceVersionMatch=Exact"
        )
        if revision < self.compacted:
            self.test.assertEqual(answer.code, 410)
        else:
            self.test.assertEqual(answer.code, 200, answer.body)
            self.compare(answer.json["items"], self.history[revision])

    async def selected(self, back: str) -> None:
        """Lists by a label's value agree, now or at a past revision, in one list and in pages."""
        revision = self.past(back or "0")
        exactly = f"&resourceVersion={revision}&resourceVersionMatch=Exact" if back else ""
        for value in "12":
            expected = {key: each for key, each in self.history[revision].items() if self.labels[each] == value}
            url = f"{CONFIG_MAPS}?labelSelector=digit={value}"
            for limit in (0, 1):
                answer = await self.server.request("GET", f"{url}&limit={limit}{exactly}")
                if exactly and revision < self.compacted and answer.code == 410:
                    continue
                items = answer.json["items"]
                while token := answer.json["metadata"].get("continue"):
                    answer = await self.server.request("GET", f"{url}&limit=1&continue={token}")
                    items += answer.json["items"]
                self.compare(items, expected)

    async def watch(self, back: str) -> None:
        """Watch from a past revision."""
        revision = self.past(back)
        request = Request(
            method="GET",
            path=CONFIG_MAPS,
            query=f"watch=1&resourceVersion={revision}",
            headers={"authorization": f"Bearer {TOKEN}"},
            peer=Peer(address="test", port=0),
        )
        response = await self.server.instance.front.app(request)
        recorder = Recorder()
        assert response.stream is not None
        response.stream.start(recorder)
        if revision < self.compacted:
            last = recorder.events()[-1]
            self.test.assertEqual((last["type"], last["object"]["code"]), ("ERROR", 410))
        else:
            self.watches.append((revision, recorder))
            self.test.addCleanup(response.stream.connection_lost)

    async def compact(self, back: str) -> None:
        """Forget what is older: in the store, and in the cache's log."""
        revision = self.past(back)
        if revision <= self.compacted:
            return
        self.compacted = revision
        cache = self.server.instance.resources.targets.stored_target("", "v1", "configmaps").stored.cache
        cache.log.oldest = max(cache.log.oldest, revision)
        cache.kept.trim(inf)
        await self.server.instance.resources.store.compact(revision)

    async def end(self) -> None:
        """Every watch has seen every event after its start once, in order."""
        self.server.instance.resources.cacher.end_watches()
        for revision, recorder in self.watches:
            seen = []
            for event in recorder.events():
                meta = event["object"]["metadata"]
                seen.append((int(meta["resourceVersion"]), event["type"], meta["name"]))
            self.test.assertEqual(seen, [event for event in self.events if event[0] > revision])


class ModelTests(TestCase):
    """Reference WATCH-1, READ-4 and READ-13 together."""

    timeout = 120

    async def test_model(self) -> None:
        """Whatever is written, deleted and compacted in between, lists and watches show what the model says."""
        self.patch(indexes, "MIN_ENTRIES", 1)
        for script in scripts(25):
            server = InProcessServer(reactor, self.mktemp(), etcd_compaction_interval_s=0.0, controllers=())
            await server.start()
            revision = int((await server.request("GET", CONFIG_MAPS)).json["metadata"]["resourceVersion"])
            run = Run(self, server, {revision: {}})
            for action, argument in script:
                if action == "continue":
                    await run.resume(2)
                else:
                    await run.step(action, argument)
                await self._flushed()
            await run.end()
            await server.stop()

    @staticmethod
    async def _flushed() -> None:
        """Let the reactor turn, as it does between requests."""
        from twisted.internet.task import deferLater

        await deferLater(reactor, 0)
