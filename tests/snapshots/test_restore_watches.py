"""Watches over a restore: they expire or follow."""

from __future__ import annotations

from typing import Any

from tests.snapshots.case import MAPS, StateCase, config_map


class WatchTests(StateCase):
    """Watches and old versions in both ways."""

    async def begun(self) -> tuple[str, str, Any]:
        """A state, its version, and a watch from there; since then one object has come, one gone, one changed."""
        for each in ("changed", "deleted"):
            await self.created(MAPS, config_map(each))
        name = await self.snapshot()
        version = (await self.ask("GET", MAPS)).json["metadata"]["resourceVersion"]
        await self.ask("PUT", f"{MAPS}/changed", config_map("changed", a="2"))
        await self.ask("DELETE", f"{MAPS}/deleted")
        await self.created(MAPS, config_map("new"))
        latest = (await self.ask("GET", MAPS)).json["metadata"]["resourceVersion"]
        return name, version, await self.watch(f"{MAPS}?watch=1&resourceVersion={latest}")

    async def test_watches_expire(self) -> None:
        """Every open watch ends with an ERROR 410 and without any event of the restore; versions from before are
        expired for watches, exact lists and continued lists (reference STORE-41).
        """
        name, version, watch = await self.begun()
        everywhere = await self.watch(f"/api/v1/secrets?watch=1&resourceVersion={version}")
        page = (await self.ask("GET", f"{MAPS}?limit=1")).json["metadata"]
        done = await self.restore(name)
        for each in (watch, everywhere):
            [event] = await self.rest(each)
            self.assertEqual(event["type"], "ERROR")
            self.assertEqual((event["object"]["code"], event["object"]["reason"]), (410, "Expired"))
        for old in (version, page["resourceVersion"]):
            [event] = await self.rest(await self.watch(f"{MAPS}?watch=1&resourceVersion={old}"))
            self.assertEqual(event["object"]["code"], 410)
            await self.ask("GET", f"{MAPS}?resourceVersion={old}&resourceVersionMatch=Exact", code=410)
        await self.ask("GET", f"{MAPS}?limit=1&continue={page['continue']}", code=410)
        again = await self.watch(f"{MAPS}?watch=1&resourceVersion={done['resourceVersion']}")
        await self.created(MAPS, config_map("later"))
        self.assertEqual((await again.next())["object"]["metadata"]["name"], "later")

    async def test_watches_expire_without_a_change(self) -> None:
        """The rule does not depend on whether anything has changed."""
        name = await self.snapshot()
        watch = await self.watch(f"{MAPS}?watch=1")
        self.assertEqual((await self.restore(name))["changed"], 0)
        self.assertEqual((await self.rest(watch))[-1]["object"]["code"], 410)

    async def test_watches_follow(self) -> None:
        """With `follow` a watch is told of each change as of any other, and old versions stay valid."""
        name, version, watch = await self.begun()
        await self.restore(name, "follow")
        found = {}
        for _ in range(3):
            event = await watch.next()
            found[event["object"]["metadata"]["name"]] = event["type"]
        self.assertEqual(found, {"changed": "MODIFIED", "deleted": "ADDED", "new": "DELETED"})
        replay = await self.watch(f"{MAPS}?watch=1&resourceVersion={version}")
        self.assertEqual([(await replay.next())["type"] for _ in range(6)].count("DELETED"), 2)
        await self.ask("GET", f"{MAPS}?resourceVersion={version}&resourceVersionMatch=Exact")

    async def test_restored_objects_are_whole(self) -> None:
        """Objects that were restored unread are listed, selected and watched like others."""
        labelled = {"metadata": {"name": "x", "labels": {"a": "b"}}, "data": {"k": "v"}}
        stored = await self.created(MAPS, labelled)
        name = await self.snapshot()
        for _ in range(2):
            await self.ask("DELETE", f"{MAPS}/x")
            await self.restore(name)
        self.assertEqual(await self.names(f"{MAPS}?labelSelector=a%3Db"), ["x"])
        self.assertEqual(await self.names(f"{MAPS}?fieldSelector=metadata.name%3Dx"), ["x"])
        merge: dict[str, Any] = {"content-type": "application/merge-patch+json"}
        await self.ask("PATCH", f"{MAPS}/x", b'{"data":{"k":"w"}}', **merge)
        found = await self.got(f"{MAPS}/x") or {}
        self.assertEqual((found["data"], found["metadata"]["uid"]), ({"k": "w"}, stored["metadata"]["uid"]))
        cache = self.server.instance.resources.targets.stored_target("", "v1", "configmaps").stored.cache
        self.assertEqual(cache.raw_bytes, sum(len(entry.raw) for entry in cache.snapshot()))


class FileWatchTests(WatchTests):
    """The same on a store in a file."""

    backend = "sqlite"
