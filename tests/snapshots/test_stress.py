"""Restores beside all kinds of work, at times that no test has chosen with care."""

from __future__ import annotations

from random import Random
from typing import Any

from twisted.internet.defer import Deferred, gatherResults
from twisted.internet.task import deferLater
from twisted.logger import capturedLogs, formatEvent

from orchtw.registry.targets import REGISTRY
from tests.snapshots.case import DEFINITIONS, GIZMO, GIZMOS, MAPS, StateCase, config_map, gizmo, reactor

ROUNDS = 40


class StressTests(StateCase):
    """Writers of several kinds, and restores in between."""

    settings = {"leader_elect": True, "feature_gates": (("APIServerIdentity", "true"),)}
    timeout = 300

    async def objects(self) -> dict[str, bytes]:
        """Return the values of the store."""
        store = self.server.instance.resources.store
        return {item.key: item.value async for page in store.scan(REGISTRY) for item in page.items}

    async def work(self, random: Random) -> None:
        """Do something that may be undone, or refused, at any time."""
        name = f"n{random.randrange(4)}"
        space = f"/api/v1/namespaces/s{random.randrange(2)}"
        ports = {"ports": [{"port": 80}], "type": "NodePort"}
        deeds: list[tuple[str, str, Any]] = [
            ("POST", MAPS, config_map(name)),
            ("PUT", f"{MAPS}/{name}", config_map(name, a=str(random.random()))),
            ("DELETE", f"{MAPS}/{name}", None),
            ("DELETE", MAPS, None),
            ("POST", "/api/v1/namespaces", {"metadata": {"name": space[-2:]}}),
            ("POST", f"{space}/configmaps", config_map(name)),
            ("POST", f"{space}/secrets", {"metadata": {"name": name}}),
            ("DELETE", space, None),
            ("POST", "/api/v1/namespaces/default/services", {"metadata": {"name": name}, "spec": ports}),
            ("DELETE", f"/api/v1/namespaces/default/services/{name}", None),
            ("POST", DEFINITIONS, gizmo()),
            ("DELETE", f"{DEFINITIONS}/gizmos.example.com", None),
            ("POST", GIZMOS, {**GIZMO, "metadata": {"name": name}}),
            ("DELETE", f"{GIZMOS}/{name}", None),
        ]
        answer = await self.server.request(*random.choice(deeds))
        self.assertIn(answer.code, (200, 201, 202, 403, 404, 405, 409, 422, 429), answer)

    async def keep_on(self, random: Random, done: list[object]) -> None:
        """Go on working until the end."""
        while not done:
            await self.work(random)
            await deferLater(reactor, random.choice((0, 0, 0.001, 0.005)))

    async def test_state_is_exact(self) -> None:
        """Right after a restore without other writers, and once controllers have looked at it, the store has exactly
        what it had, but for this server's own Leases; nothing raises, numbers are accounted for, and the leader stays
        (reference STORE-41).
        """
        random = Random(27)
        manager = self.server.instance.membership.duties.manager
        names = ["start"]
        states = {"start": await self.objects()}
        for number in range(ROUNDS):
            done: list[object] = []
            workers = [Deferred.fromCoroutine(self.keep_on(Random(random.random()), done)) for _ in range(4)]
            await deferLater(reactor, random.uniform(0, 0.05))
            await self.restore(random.choice(names), random.choice(("expire", "follow")))  # beside the writers
            done.append(None)
            await gatherResults(workers)
            if number % 10 == 5:
                await self.control._quiet()
                names.append(await self.snapshot())
                states[names[-1]] = await self.objects()
            name = random.choice(names)
            await self.restore(name, random.choice(("expire", "follow")))
            await self.check(states[name], f"{name} in round {number}")
        await self.restore()
        await deferLater(reactor, 0.5)
        await self.check(states["start"], "start")
        renewed = self.control._host.renewed()

        async def settled() -> bool:  # APIServices of definitions follow a little later
            found, wanted = await self.objects(), states["start"]
            return all(found.get(key) == wanted.get(key) for key in (wanted.keys() | found.keys()) - set(renewed))

        await self.until(settled)
        with capturedLogs() as logs:
            await self.server.instance.resources.targets.repair_reservations()
        self.assertEqual([formatEvent(each) for each in logs], [], "numbers taken and Services do not agree")
        self.assertTrue(manager.leading)
        self.assertEqual(self.flushLoggedErrors(), [])

    async def check(self, wanted: dict[str, bytes], what: str) -> None:
        """Compare the store, and the caches with it."""
        found = await self.objects()
        renewed = self.control._host.renewed()
        self.assertEqual(len(renewed), 2)
        for key in wanted.keys() | found.keys():
            if key not in renewed and "/apiregistration" not in key:
                self.assertEqual(found.get(key), wanted.get(key), f"{key} of {what}")
        resources = self.server.instance.resources
        for cache in resources.cacher.caches:
            shown = [cache.prefix + entry.key for entry in cache.snapshot()]
            self.assertEqual(shown, sorted(key for key in found if key.startswith(cache.prefix)), what)
