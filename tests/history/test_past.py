"""Past states and differences, against what the server itself shows of them."""

from __future__ import annotations

from random import Random
from typing import Any

from orchtw.history.recorder import MOST_STATE_READERS
from orchtw.wire.objects import Object
from tests.history.applied import applied
from tests.history.case import MAPS, RecordingCase

NAMES = "abcdefgh"


class PastTests(RecordingCase):
    """A server on which much was written."""

    async def written(self, seed: int, count: int = 60) -> list[int]:
        """Write at random; returns the revisions after each write."""
        random, there, revisions = Random(seed), set[str](), []
        for at in range(count):
            name = random.choice(NAMES)
            data = {random.choice("xyz"): str(at)}
            if name not in there:
                revisions.append(await self.created(name, data=data))
                there.add(name)
            elif random.random() < 0.3:
                await self.asked("DELETE", f"{MAPS}/{name}")
                revisions.append(self.recorder.head)
                there.discard(name)
            else:
                revisions.append(await self.put(name, data=data))
        return revisions

    async def listed(self, revision: int) -> list[Object]:
        """The objects at a revision as the API lists them."""
        answer = await self.asked("GET", f"{MAPS}?resourceVersion={revision}&resourceVersionMatch=Exact")
        items: list[Object] = answer.json["items"]
        return items

    async def test_at(self) -> None:
        """Every past state is the one that an exact list shows: by path, as lines, and object by object."""
        for revision in (await self.written(1))[::3]:
            expected = await self.listed(revision)
            found = (await self.asked("GET", f"/debug/history/at?path={MAPS}&revision={revision}")).json
            self.assertEqual(found["kind"], "ConfigMapList")
            self.assertEqual(found["metadata"], {"resourceVersion": str(revision)})
            self.assertEqual([plain(each) for each in found["items"]], [plain(each) for each in expected])
            lines = await self.lines("/at", revision=revision, resource="configmaps", namespace="default")
            self.assertEqual([plain(each["object"]) for each in lines], [plain(each) for each in expected])
            for name in NAMES:
                answer = await self.server.request("GET", f"/debug/history/at?path={MAPS}/{name}&revision={revision}")
                there = [each for each in expected if each["metadata"]["name"] == name]
                self.assertEqual(answer.code, 200 if there else 404)
                if there:
                    self.assertEqual(plain(answer.json), plain(there[0]))

    async def test_diff(self) -> None:
        """The differences between two revisions lead from the one state to the other, and name nothing else."""
        revisions, random = await self.written(2), Random(2)
        for _ in range(20):
            after, upto = sorted(random.sample(revisions, 2))
            states = [{each["metadata"]["name"]: each for each in await self.listed(at)} for at in (after, upto)]
            for line in await self.lines("/diff", from_=after, to=upto, resource="configmaps"):
                name = line["name"]
                old, new = (state.pop(name, None) for state in states)
                kind = "ADDED" if old is None else "DELETED" if new is None else "MODIFIED"
                self.assertEqual(line["type"], kind)
                made = applied(compared(old, kind), line["changes"])
                self.assertEqual(made, compared(new, kind))
            self.assertEqual(*({name: plain(obj) for name, obj in state.items()} for state in states))

    async def test_latest(self) -> None:
        """Without a revision, or with 0, it is the latest one."""
        await self.created("a", data={"x": "1"})
        first = await self.put("a", data={"x": "2"})
        for path in (f"/debug/history/at?path={MAPS}/a", f"/debug/history/at?path={MAPS}/a&revision=0"):
            self.assertEqual((await self.asked("GET", path)).json["data"], {"x": "2"})
        await self.put("a", data={"x": "3"})
        (line,) = await self.lines("/diff", from_=first, name="a")
        self.assertEqual([each["new"] for each in line["changes"]], ["3"])

    async def test_selectors(self) -> None:
        """A collection of a past state can be selected from."""
        for name in "ab":
            await self.asked("POST", MAPS, {"metadata": {"name": name, "labels": {"l": name}}})
        revision = self.recorder.head
        await self.asked("DELETE", f"{MAPS}/b")
        for query in ("labelSelector=l%3Db", "fieldSelector=metadata.name%3Db"):
            answer = await self.asked("GET", f"/debug/history/at?path={MAPS}&revision={revision}&{query}")
            self.assertEqual([each["metadata"]["name"] for each in answer.json["items"]], ["b"])

    async def test_nothing_changed(self) -> None:
        """An object that has come and gone, or is as it was, does not differ."""
        before = await self.created("a", data={"x": "1"})
        await self.created("b")
        await self.asked("DELETE", f"{MAPS}/b")
        await self.put("a", data={"x": "2"})
        await self.put("a", data={"x": "1"})
        self.assertEqual(await self.lines("/diff", from_=before), [])

    async def test_refusals(self) -> None:
        """Revisions to come, spans that end before they begin, and resources that are not there are refused."""
        head = await self.created("a")
        self.assertEqual((await self.refused("/at", revision=head + 1))[0], 504)
        self.assertEqual((await self.refused("/diff", from_=head + 1))[0], 504)
        code, message = await self.refused("/diff", from_=head, to=head - 1)
        self.assertEqual((code, message), (400, f"from: {head} must not be later than to, which is {head - 1}"))
        for path in ("/apis/example.com/v1/things", "/api/v1/configmaps/a", f"{MAPS}/b"):
            self.assertEqual((await self.refused("/at", path=path))[0], 404, path)

    async def test_other_version(self) -> None:
        """A path names the version that objects are shown in."""
        scaler = {"metadata": {"name": "h"}, "spec": {"maxReplicas": 3, "scaleTargetRef": {"kind": "D", "name": "d"}}}
        base = "/apis/autoscaling/v1/namespaces/default/horizontalpodautoscalers"
        revision = await self.created("h", base, **{"spec": scaler["spec"]})
        await self.asked("DELETE", f"{base}/h")
        for version in ("v1", "v2"):
            path = f"{base.replace('v1', version)}/h"
            found = (await self.asked("GET", f"/debug/history/at?path={path}&revision={revision}")).json
            self.assertEqual(found["apiVersion"], f"autoscaling/{version}")

    async def test_readers(self) -> None:
        """Few states are read at the same time, since each holds on to objects that are gone."""
        leave = [self.recorder.state_readers.enter() for _ in range(MOST_STATE_READERS)]
        self.assertEqual((await self.refused("/at"))[0], 429)
        leave.pop()()
        await self.lines("/at", resource="configmaps")
        self.assertEqual((await self.refused("/at", revision="999999"))[0], 504)
        self.assertEqual(self.recorder.state_readers.count, MOST_STATE_READERS - 1)


class StoreTests(RecordingCase):
    """States from before the record."""

    settings = {"history_max_bytes": 1 << 20}

    async def test_before_the_record(self) -> None:
        """The store still has states that the record has dropped; differences need the record."""
        first = await self.created("a", data={"x": "1"})
        for at in range(30):
            await self.put("a", data={"x": "y" * 50_000 + str(at)})
        self.assertGreater(self.recorder.ring.floor, first)
        (line,) = await self.lines("/at", revision=first, resource="configmaps", name="a")
        self.assertEqual(line["object"]["data"], {"x": "1"})
        found = (await self.asked("GET", f"/debug/history/at?revision={first}&path={MAPS}/a")).json
        self.assertEqual(found["data"], {"x": "1"})
        code, message = await self.refused("/diff", from_=first)
        self.assertEqual(code, 410)
        self.assertIn(f"revision {first} is no longer recorded: the record begins at", message)

    async def test_before_both(self) -> None:
        """States that neither has are refused with 410."""
        first = await self.created("a", data={"x": "1"})
        for at in range(30):
            await self.put("a", data={"x": "y" * 50_000 + str(at)})
        await self.server.instance.resources.store.compact(self.recorder.head)
        self.assertEqual((await self.refused("/at", revision=first, resource="configmaps"))[0], 410)


def plain(obj: Object) -> Object:
    """An object without its type, which items of a list do not have."""
    return {key: value for key, value in obj.items() if key not in ("kind", "apiVersion")}


def compared(obj: Object | None, kind: str) -> Any:
    """An object as changes of that kind see it."""
    left_out = {"resourceVersion", "managedFields"}
    if kind != "MODIFIED":
        left_out |= {"name", "namespace", "uid", "creationTimestamp"}
    metadata = {name: value for name, value in (obj or {"metadata": {}})["metadata"].items() if name not in left_out}
    return {**plain(obj or {}), "metadata": metadata}
