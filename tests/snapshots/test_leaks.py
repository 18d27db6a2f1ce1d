"""Two hundred resets in a row: what they leave in memory, among watches and among open files."""

from __future__ import annotations

import gc
import os
import sys
from collections import Counter
from typing import Any

from twisted.internet.task import deferLater

from orchtw.controllers.owner_graph import OwnerNode
from orchtw.testing.in_process_watch import InProcessWatch
from orchtw.watch.group import Group
from orchtw.watch.watcher import Watcher
from tests.snapshots.case import DEFINITIONS, GIZMO, GIZMOS, MAPS, StateCase, config_map, gizmo, reactor

ROUNDS = 200
BLOCKS = 50 * ROUNDS
"""Blocks of memory by which a process may grow in that many rounds: bounded caches are still being filled, those of
other tests in the process too. An object that each round leaves behind takes more.
"""


class LeakTests(StateCase):
    """Numbers of live things before and after."""

    timeout = 600

    async def round(self, number: int) -> None:
        """Do as tests do between two resets: objects of several kinds, owners, watches."""
        watches = [await self.server.watch(f"{path}?watch=1") for path in (MAPS, "/api/v1/namespaces")]
        await self.created("/api/v1/namespaces", {"metadata": {"name": "mine"}})
        owner = await self.created(MAPS, config_map("owner"))
        reference = {"apiVersion": "v1", "kind": "ConfigMap", "name": "owner", "uid": owner["metadata"]["uid"]}
        for each in range(5):
            obj = config_map(f"x{each}", number=str(number))
            if number % 10 == 3:  # references are kept in tables of a bounded size
                obj["metadata"]["ownerReferences"] = [reference]
            await self.created(MAPS, obj)
        service = {"metadata": {"name": "s"}, "spec": {"ports": [{"port": 80}]}}
        await self.created("/api/v1/namespaces/default/services", service)
        event = {"metadata": {"name": "e"}, "involvedObject": {"namespace": "default"}, "reason": "Test"}
        await self.created("/api/v1/namespaces/default/events", event)
        if number % 10 == 0:
            await self.created(DEFINITIONS, gizmo())
            await self.until(self.serves)
            watches.append(await self.server.watch(f"{GIZMOS}?watch=1"))
            await self.created(GIZMOS, GIZMO)
        if number % 7 == 0:
            await self.ask("DELETE", "/api/v1/namespaces/mine")
        name = await self.snapshot() if number % 3 == 0 else ""
        if name:
            await self.ask("POST", "/debug/state", {"action": "release", "snapshot": name})
        await self.restore("", "follow" if number % 5 == 0 else "expire")
        for watch in watches:
            watch.close()

    async def serves(self) -> bool:
        """Report whether the kind of the definition is served."""
        return (await self.server.request("GET", GIZMOS)).code == 200

    async def counts(self) -> dict[str, Any]:
        """Count what is alive, once everything that ends soon has ended."""
        await deferLater(reactor, 0.2)
        resources = self.server.instance.resources
        store: Any = resources.store
        versions = store._versions
        await store.compact(await store.revision())
        await deferLater(reactor, 0.05)
        gc.collect()
        kinds = Counter(map(type, gc.get_objects()))
        caches = list(resources.cacher.caches)
        return {
            "watches": sum(sum(cache.dispatcher.members()) for cache in caches),
            "groups": sum(cache.dispatcher.groups for cache in caches),
            "caches": len(caches),
            "followers": sum(len(cache._followers) for cache in caches),
            "objects": sum(map(len, caches)),
            "bytes": sum(cache.raw_bytes for cache in caches),
            "keys": (len(versions), len(versions._keys), len(versions._past), versions.changes, len(versions._dead)),
            "ends": len(store._lifetimes),
            "snapshots": len(self.control.kept()),
            "files": len(os.listdir("/proc/self/fd")),
            "watchers": kinds[Watcher] + kinds[Group] + kinds[InProcessWatch],
            "nodes": kinds[OwnerNode],
            "blocks": sys.getallocatedblocks(),
        }

    async def test_resets_leave_nothing(self) -> None:
        """After 200 resets with objects, definitions and watches there is as much as after the first few: objects,
        keys, history, watches, open files and blocks of memory (reference STORE-42).
        """
        for number in range(40):
            await self.round(number)
        before = await self.counts()
        for number in range(40, 40 + ROUNDS):
            await self.round(number)
        after = await self.counts()
        grown = after.pop("blocks") - before.pop("blocks")
        self.assertEqual(after, before)
        self.assertLess(grown, BLOCKS, f"{grown} blocks for {ROUNDS} resets")

    async def test_watches_are_let_go(self) -> None:
        """A watch that a reset has ended is not referenced by the server any more."""
        await self.server.watch(f"{MAPS}?watch=1")
        await self.restore()
        gc.collect()
        cache = self.server.instance.resources.targets.stored_target("", "v1", "configmaps").stored.cache
        self.assertEqual((cache.dispatcher.groups, cache.dispatcher.members()), (0, (0, 0)))
        self.assertEqual([each for each in gc.get_objects() if type(each) is InProcessWatch and each._open], [])
