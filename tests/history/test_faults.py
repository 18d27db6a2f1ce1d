"""Faults on demand in the record: those after which nothing was stored have records of their own."""
# covers: orchtw.faults.struck

from __future__ import annotations

from typing import Any

from twisted.internet.defer import Deferred

from orchtw.faults.struck import StruckFault
from orchtw.history.ring import RECORD_BYTES, RecordedFault, Ring
from orchtw.serving.reset import ConnectionReset
from orchtw.wire.objects import Object
from tests.history.case import MAPS, RecordingCase
from tests.history.records import record

SHOWN = ("type", "fault", "answer", "verb", "resource", "kind", "namespace", "name", "user", "revision")


class FaultRecordTests(RecordingCase):
    """A server with faults and a record of writes."""

    settings: dict[str, Any] = {"enable_faults": True}  # noqa: RUF012 - as in the base class

    async def rule(self, **fields: Any) -> str:
        """Add a rule; returns its id."""
        answer = await self.asked("POST", "/debug/faults", fields)
        rule_id: str = answer.json["id"]
        return rule_id

    async def faults(self, **params: Any) -> list[Object]:
        """The faults that are recorded."""
        return await self.records(type="FAULT", **params)

    async def test_refused_write(self) -> None:
        """A write that met a fault is recorded with its user, object, rule and answer, at the latest revision."""
        rule = await self.rule(status=409, verb="update", times=1)
        revision = await self.created("a")
        obj = {"metadata": {"name": "a"}}
        answer = await self.server.request("PUT", f"{MAPS}/a", obj, {"user-agent": "x/1"})
        (found,) = await self.faults()
        named = ["configmaps", "ConfigMap", "default", "a"]
        expected = ["FAULT", rule, "409 Conflict", "update", *named, found["user"], revision]
        self.assertEqual([found[name] for name in SHOWN], expected)
        self.assertEqual((found["auditID"], found["userAgent"], found["changes"]), (
            answer.headers["audit-id"], "x/1", []
        ))
        self.assertTrue(found["user"])

    async def test_stored_write(self) -> None:
        """A write that came late and was stored is one record, of the write, which names the rule."""
        rule = await self.rule(fault="late", seconds=0.001, verb="create", times=1)
        await self.created("a")
        self.assertEqual(await self.faults(), [])
        (found,) = await self.records(name="a")
        self.assertEqual((found["type"], found["fault"]), ("ADDED", rule))

    async def test_late_read(self) -> None:
        """A read that came late is recorded with its code, and so is a late write that stored nothing."""
        await self.created("a", data={"x": "1"})
        await self.rule(fault="late", seconds=0.001, verb=["get", "update"])
        await self.asked("GET", f"{MAPS}/a")
        await self.put("a", data={"x": "1"})
        self.assertEqual([(each["verb"], each["answer"]) for each in await self.faults()], [
            ("get", "200"), ("update", "200")
        ])

    async def test_resets(self) -> None:
        """A reset before the write is stored is a fault, one after it belongs to the record of the write."""
        await self.rule(fault="reset", name=["a", "b"], verb="create", times=1)
        await self.rule(fault="reset", when="after", verb="create", name="b", times=1)
        for name in ("a", "b"):
            with self.assertRaises(ConnectionReset):
                await self.server.request("POST", MAPS, {"metadata": {"name": name}})
        (found,) = await self.faults()
        self.assertEqual((found["name"], found["answer"]), ("a", "connection reset"))
        self.assertEqual([each["type"] for each in await self.records(name="b")], ["ADDED"])

    async def test_streams(self) -> None:
        """A fault in the stream of a watch is recorded when it comes about, with what it did."""
        await self.rule(status=410, inStream=True, afterEvents=1, verb="watch", resource="configmaps")
        watch = await self.server.watch(f"{MAPS}?watch=1")
        self.addCleanup(watch.close)
        self.assertEqual(await self.faults(), [])
        await self.created("a")
        self.assertEqual([(await watch.next())["type"] for _ in range(2)], ["ADDED", "ERROR"])
        (found,) = await self.faults()
        self.assertEqual((found["verb"], found["answer"]), ("watch", "410 Expired in the stream"))

    async def test_filters(self) -> None:
        """Filters by user, namespace, resource, name, verb and manager apply to faults as to writes."""
        await self.rule(status=500, resource="configmaps", verb="get", times=1)
        await self.server.request("GET", f"{MAPS}/a")
        (found,) = await self.faults()
        for given, count in (
            ({"user": found["user"]}, 1), ({"user": "x"}, 0),
            ({"namespace": "default"}, 1), ({"namespace": "x"}, 0),
            ({"resource": "configmaps"}, 1), ({"resource": "pods"}, 0), ({"group": "apps"}, 0),
            ({"name": "a"}, 1), ({"name": "b"}, 0), ({"verb": "get"}, 1), ({"verb": "list"}, 0),
            ({"manager": "x"}, 0),
        ):  # fmt: skip
            self.assertEqual(len(await self.faults(**given)), count, given)
        self.assertNotIn("FAULT", {each["type"] for each in await self.records(type=["ADDED", "MODIFIED"])})

    async def test_mark(self) -> None:
        """A fault after a mark is there though nothing was written since; differences and states leave it out."""
        mark = await self.created("a")
        await self.rule(status=503, verb="get", times=1)
        await self.server.request("GET", f"{MAPS}/a")
        later = await self.put("a", data={"x": "1"})
        self.assertEqual([each["type"] for each in await self.records(since=mark)], ["FAULT", "MODIFIED"])
        self.assertEqual([each["revision"] for each in await self.lines("/diff", from_=mark)], [later])

    async def test_followers(self) -> None:
        """A follower is told of a fault at once."""
        reader = await self.stream(follow=1)
        await self.rule(status=503, verb="get", times=1)
        await self.server.request("GET", f"{MAPS}/a")
        (found,) = await reader.until(1)
        self.assertEqual(found["type"], "FAULT")
        reader.leave()

    async def test_client_that_leaves(self) -> None:
        """A request that a fault held up until its client left has no answer."""
        await self.rule(fault="hanging", seconds=60, verb="get")
        asked = Deferred.fromCoroutine(self.server.request("GET", f"{MAPS}/a"))
        asked.addErrback(lambda failure: None)
        while (await self.asked("GET", "/debug/faults")).json["rules"][0]["struck"] == 0:
            pass
        asked.cancel()
        (found,) = await self.faults()
        self.assertEqual(found["answer"], "no answer")


class RingOfFaultsTests(RecordingCase):
    """Faults among the records that the ring bounds."""

    async def setUp(self) -> None:  # type: ignore[override]
        pass

    async def test_room(self) -> None:
        """Faults make room for others as writes do, and no memory of them stays."""
        ring = Ring(10 * RECORD_BYTES)
        ring.append(record(1))
        for _ in range(1000):
            ring.append_fault(RecordedFault(1, 0.0, FAULT, "ConfigMap"))
        self.assertLess(len(ring), 10)
        self.assertEqual((ring.floor, ring.end), (1, 1001))
        self.assertEqual(ring.used_bytes, len(ring) * (RECORD_BYTES + FAULT.characters()))
        self.assertEqual((ring.after(0), ring.after(1)), (ring.start, ring.start))


FAULT = StruckFault(
    rule="late-1", answer="200", user="u", user_agent="a", audit_id="i", verb="get", group="", version="v1",
    resource="configmaps", subresource="", namespace="default", name="n",
)  # fmt: skip
