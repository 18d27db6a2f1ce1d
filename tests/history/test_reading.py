"""Readers of the record: order, limits, followers, and readers that are slow or leave."""
# covers: orchtw.history.endpoint, orchtw.history.stream

from __future__ import annotations

from typing import Any

from twisted.internet.defer import Deferred, gatherResults
from twisted.trial.unittest import SynchronousTestCase

from orchtw.errors import Expired
from orchtw.history.endpoint import AT, DIFF, PATH
from orchtw.history.recorder import MOST_READERS
from orchtw.history.ring import RECORD_BYTES
from orchtw.history.stream import TextStream
from orchtw.request import Ending, RequestInfo
from orchtw.rules.long_running import long_running
from orchtw.watch.turns import ReactorTurns
from tests.history.case import MAPS, Reader, RecordingCase, lines_of, turn

MIB = 1 << 20


class ListTests(RecordingCase):
    """Records that are there."""

    async def test_order(self) -> None:
        """All records come in the order of their revisions, in any number of parts."""
        writes = [self.created(f"c{at}", data={"x": "y" * 999}) for at in range(200)]
        await gatherResults(map(Deferred.fromCoroutine, writes))
        revisions = [each["revision"] for each in await self.records()]
        self.assertEqual(revisions, sorted(revisions))
        self.assertEqual(len(await self.records(resource="configmaps", namespace="default")), 200)

    async def test_limit(self) -> None:
        """A limit leaves the last ones of what is wanted."""
        for at in range(5):
            await self.created(f"c{at}")
            await self.created(f"s{at}", "/api/v1/namespaces/default/secrets")
        found = await self.records(resource="configmaps", limit=2)
        self.assertEqual([each["name"] for each in found], ["c3", "c4"])
        self.assertEqual(len(await self.records(resource="configmaps", namespace="default", limit=1000)), 5)

    async def test_span(self) -> None:
        """`since` is exclusive and `until` is not; times and revisions may be mixed."""
        one, two, three = [await self.created(f"c{at}") for at in range(3)]
        found = await self.records(since=one, until=two)
        self.assertEqual([each["revision"] for each in found], [two])
        self.assertEqual([each["revision"] for each in await self.records(since=two, until="0s")], [three])
        self.assertEqual(await self.records(since="2999-01-01T00:00:00Z"), [])

    async def test_large_objects(self) -> None:
        """Changes of large objects are found in a thread."""
        await self.created("a", data={"x": "1" * MIB})
        await self.put("a", data={"x": "2" * MIB})
        found = await self.records(name="a")
        self.assertEqual([len(each["changes"]) for each in found], [1, 1])
        self.assertEqual(found[1]["changes"][0]["new"], "2" * MIB)

    async def test_refusals(self) -> None:
        """Wrong parameters are refused with 400 before anything is sent, other methods with 405."""
        for path, params in (
            ("", {"limt": "1"}), ("/at", {"revision": "x"}), ("/at", {"from": "1"}), ("/diff", {}),
            ("/diff", {"from_": "x"}), ("/diff", {"from_": "1", "user": "a"}), ("/at", {"path": "/healthz"}),
            ("/at", {"path": "/api/v1/namespaces/default/pods/a/log"}), ("/at", {"path": "", "revision": "1"}),
            ("/at", {"path": MAPS, "labelSelector": "a in"}), ("/at", {"path": f"{MAPS}/%2e%2e"}),
        ):  # fmt: skip
            self.assertEqual((await self.refused(path, **params))[0], 400, (path, params))
        self.assertEqual((await self.server.request("POST", PATH)).code, 405)
        self.assertEqual((await self.server.request("GET", f"{PATH}/other")).code, 404)

    async def test_index(self) -> None:
        """The index of all paths does not list the record, as it lists no other debugging endpoint."""
        self.assertNotIn(b"/debug/", (await self.server.request("GET", "/")).body)


class FollowTests(RecordingCase):
    """Followers of the record."""

    settings = {"history_max_bytes": MIB}

    async def test_follow(self) -> None:
        """A follower gets the writes that happen from then on, each once and soon."""
        await self.created("before")
        reader = await self.stream(follow="1", resource="configmaps")
        for at in range(3):
            await self.created(f"c{at}")
            await reader.until(at + 1)
        self.assertEqual([each["name"] for each in reader.lines], ["c0", "c1", "c2"])
        self.assertIsNone(reader.ending)
        reader.leave()

    async def test_follow_from(self) -> None:
        """With `since` or `limit` it begins with earlier ones, without a gap."""
        first = await self.created("a")
        await self.created("b")
        readers = [await self.stream(follow="1", resource="configmaps", namespace="default", **each) for each in
                   ({"since": first}, {"limit": 1}, {"since": "1h"})]  # fmt: skip
        await self.created("c")
        names = [[each["name"] for each in await reader.until(2 + at // 2)] for at, reader in enumerate(readers)]
        self.assertEqual(names, [["b", "c"], ["b", "c"], ["a", "b", "c"]])
        for reader in readers:
            reader.leave()

    async def test_leaving(self) -> None:
        """A follower that leaves, waiting or paused, leaves nothing behind."""
        waiting, paused = [await self.stream(follow="1") for _ in range(2)]
        self.assertEqual(self.recorder.readers.count, 2)
        await turn()
        paused.pause()
        waiting.leave()
        paused.leave()
        await self.created("a")
        await turn()
        self.assertEqual((self.recorder.readers.count, dict(self.recorder._waiting)), (0, {}))
        self.assertEqual((waiting.received, paused.received), (b"", b""))

    async def test_slow_reader(self) -> None:
        """A paused follower costs a position, and ends with a clear last line once the ring has passed it."""
        reader = await self.stream(follow="1", resource="configmaps")
        await self.created("a", data={"x": "y" * 1000})
        await reader.until(1)
        reader.pause()
        for at in range(40):
            await self.put("a", data={"x": str(at) * 50_000})
        writes = reader.writes
        await turn()
        self.assertLessEqual(reader.writes, writes + 1)
        self.assertLessEqual(self.recorder.ring.used_bytes, MIB)
        reader.resume()
        lines = await reader.ended()
        self.assertEqual(reader.ending, Ending.COMPLETE)
        self.assertEqual(lines[-1]["type"], "ERROR")
        status = lines[-1]["object"]
        self.assertEqual((status["code"], status["reason"]), (410, "Expired"))
        self.assertIn("the reader is too slow", status["message"])
        self.assertEqual(self.recorder.readers.count, 0)

    async def test_slow_reader_catches_up(self) -> None:
        """A paused follower whose position is still there gets everything once it reads again."""
        reader = await self.stream(follow="1", resource="configmaps")
        await self.created("a")
        await reader.until(1)
        reader.pause()
        for at in range(20):
            await self.put("a", data={"x": str(at)})
        reader.resume()
        found = [each["changes"][0]["new"] for each in (await reader.until(21))[1:]]
        self.assertEqual(found, [{"x": "0"}, *map(str, range(1, 20))])
        reader.leave()

    async def test_bounded_memory(self) -> None:
        """Whatever is written, the record stays within its limit, and the metrics say so."""
        for at in range(60):
            await self.created(f"c{at}", data={"x": "y" * 100_000})
        ring = self.recorder.ring
        self.assertLessEqual(ring.used_bytes, MIB)
        self.assertGreater(ring.used_bytes, MIB - 200_000 - RECORD_BYTES)
        text = (await self.asked("GET", "/metrics")).body.decode()
        for name, value in (("bytes", ring.used_bytes), ("records", len(ring)), ("dropped_total", ring.start)):
            self.assertIn(f"orchtw_history_{name} {value}\n", text)

    async def test_too_many_readers(self) -> None:
        """Readers are limited in number; the next one is refused until one has left."""
        readers = [await self.stream(follow="1") for _ in range(MOST_READERS)]
        self.assertEqual((await self.refused(""))[0], 429)
        readers.pop().leave()
        self.assertEqual((await self.asked("GET", f"{PATH}?limit=1")).code, 200)
        for each in readers:
            each.leave()


class OffTests(RecordingCase):
    """A server without the flag."""

    settings = {"enable_history": False}

    async def test_off(self) -> None:
        """Without the flag there is nothing: no path, no recorder, no metrics, and no change of the notes."""
        self.assertIsNone(self.server.instance.lifecycle.record)
        self.assertIsNone(self.server.instance.writes._steps._annotate)
        for path in (PATH, AT, DIFF):
            self.assertEqual((await self.server.request("GET", path)).code, 404)
        self.assertNotIn(b"orchtw_history", (await self.asked("GET", "/metrics")).body)


class LongRunningTests(SynchronousTestCase):
    """The time of these requests."""

    def test_no_limit(self) -> None:
        """Reading the record is a long-running request: a follower has no deadline, and takes no seat."""
        for path in (PATH, AT, DIFF):
            self.assertTrue(long_running(RequestInfo(is_resource=False, verb="get", path=path)))


class _Parts:
    """Parts that are given, or raised."""

    def __init__(self, *parts: Any) -> None:
        self._parts = list(parts)

    async def next(self) -> bytes:
        part = self._parts.pop(0)
        if isinstance(part, Exception):
            raise part
        return part  # type: ignore[no-any-return]


class StreamTests(SynchronousTestCase):
    """The end of a streamed text."""

    def read(self, parts: _Parts, *, lines: bool) -> tuple[bytes, object, int]:
        """The received text, the way it ends, and how often the end was told."""
        waiting: list[Any] = []
        ended: list[None] = []
        turns = ReactorTurns(lambda: 0.0, waiting.append)
        stream = TextStream(parts, turns, lambda: ended.append(None), lines=lines)
        reader = Reader.__new__(Reader)
        reader.received, reader.ending, reader.writes = b"", None, 0
        stream.start(reader)
        while waiting:
            waiting.pop()()
        stream.stopProducing()
        return reader.received, reader.ending, len(ended)

    def test_whole(self) -> None:
        """All parts are sent, one in each turn, and then the end."""
        self.assertEqual(self.read(_Parts(b"a", b"b", b""), lines=True), (b"ab", Ending.COMPLETE, 1))

    def test_error_line(self) -> None:
        """An error among lines is the last line."""
        received, ending, told = self.read(_Parts(b'{"a":1}\n', Expired("old")), lines=True)
        self.assertEqual((ending, told), (Ending.COMPLETE, 1))
        self.assertEqual([each.get("type") for each in lines_of(received)], [None, "ERROR"])

    def test_error_in_document(self) -> None:
        """An error within a document ends the connection, so that nobody takes the part for the whole."""
        self.assertEqual(self.read(_Parts(b"[1", Expired("old")), lines=False), (b"[1", "aborted", 1))

    def test_bug(self) -> None:
        """A failure of our own is logged, and ends the connection."""
        self.assertEqual(self.read(_Parts(b"a", RuntimeError("bug")), lines=True), (b"a", "aborted", 1))
        self.assertEqual(len(self.flushLoggedErrors(RuntimeError)), 1)
