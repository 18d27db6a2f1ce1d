"""Writers and controllers at work while the state is restored."""

from __future__ import annotations

from typing import Any

from twisted.internet.defer import Deferred, gatherResults
from twisted.internet.task import deferLater

from orchtw.testing.admission_webhook import AdmissionWebhook
from tests.snapshots.case import MAPS, StateCase, config_map, reactor


class WritersTests(StateCase):
    """Writers that are at work while the state is restored."""

    async def test_no_list_shows_a_part(self) -> None:
        """Lists that come while a state is restored show all of it or nothing (reference STORE-41)."""
        for number in range(20):
            await self.created(MAPS, config_map(f"a{number}"))
        first = await self.snapshot()
        await self.restore()
        for number in range(20):
            await self.created(MAPS, config_map(f"b{number}"))
        second = await self.snapshot()
        seen: set[str] = set()
        done: list[object] = []

        async def read() -> None:
            while not done:
                names = await self.names(MAPS)
                self.assertEqual(len(names), 20)
                seen.add("".join(sorted({name[0] for name in names})))
                await deferLater(reactor, 0)

        readers = [Deferred.fromCoroutine(read()) for _ in range(3)]
        for number in range(20):
            await self.restore(second if number % 2 else first)
        done.append(None)
        await gatherResults(readers)
        self.assertEqual(seen, {"a", "b"})

    async def test_writes_come_before_or_after(self) -> None:
        """Of writes beside a restore, each is either undone or made afterwards; none is lost or fails."""
        name = await self.snapshot()

        async def write(number: int) -> str:
            obj = await self.created(MAPS, config_map(f"w{number}"))
            version: str = obj["metadata"]["resourceVersion"]
            return version

        writes = [Deferred.fromCoroutine(write(number)) for number in range(50)]
        restoring = Deferred.fromCoroutine(self.restore(name))
        late = [Deferred.fromCoroutine(write(number)) for number in range(50, 100)]
        done = await restoring
        versions = await gatherResults([*writes, *late])
        last = int(done["resourceVersion"])
        after = {f"w{number}" for number, version in enumerate(versions) if int(version) > last}
        self.assertEqual(set(await self.names(MAPS)), after)
        self.assertEqual(len(set(versions)), 100)

    async def test_create_that_waits_too_long_is_refused(self) -> None:
        """A create whose admission outlasts the restore is refused with 429: what it was admitted by is gone."""
        waiting: Deferred[None] = Deferred()
        webhook = AdmissionWebhook(reactor, "configmaps", mutating=False, vocabulary="kubernetes", timeoutSeconds=20)
        self.addCleanup(webhook.stop)
        await self.created(webhook.path, webhook.configuration)
        name = await self.snapshot()
        await self.created("/api/v1/namespaces", {"metadata": {"name": "mine"}})

        async def late(request: Any) -> Any:
            await waiting
            return {"allowed": True}

        webhook.answers = late
        path = "/api/v1/namespaces/mine/configmaps"
        creating = Deferred.fromCoroutine(self.server.request("POST", path, config_map("x")))
        await deferLater(reactor, 0.05)
        await self.restore(name)
        waiting.callback(None)
        refused = await creating
        self.assertEqual((refused.code, refused.headers["retry-after"]), (429, "1"))
        self.assertIsNone(await self.got("/api/v1/namespaces/mine"))
        self.assertEqual(await self.names("/api/v1/configmaps?fieldSelector=metadata.name%3Dx"), [])

    async def test_deletion_of_a_collection(self) -> None:
        """The deletion of a collection does not go on with the objects of a restored state (reference DEL-12)."""
        for number in range(200):
            await self.created(MAPS, config_map(f"x{number:03}"))
        name = await self.snapshot()
        deleting = Deferred.fromCoroutine(self.server.request("DELETE", MAPS))
        await deferLater(reactor, 0)
        await self.restore(name)
        self.assertEqual((await deleting).code, 429)
        self.assertEqual(len(await self.names(MAPS)), 200)

    async def test_restores_one_after_the_other(self) -> None:
        """Restores that are asked for at once are made one after the other, and one goes on without its client."""
        await self.created(MAPS, config_map("a"))
        name = await self.snapshot()
        first, second = Deferred.fromCoroutine(self.restore()), Deferred.fromCoroutine(self.restore(name))
        await gatherResults([first, second])
        self.assertEqual(await self.names(MAPS), ["a"])
        abandoned = Deferred.fromCoroutine(self.control.restore("start", expires=True))
        abandoned.addErrback(lambda failure: None)
        abandoned.cancel()

        async def gone() -> bool:
            return await self.names(MAPS) == []

        await self.until(gone)


class ControllersTests(StateCase):
    """Controllers that are at work while the state is restored: nothing that they had begun goes on."""

    async def filled(self, count: int = 200) -> None:
        """A namespace with many objects."""
        await self.created("/api/v1/namespaces", {"metadata": {"name": "mine"}})
        path = "/api/v1/namespaces/mine/configmaps"
        await gatherResults(
            [Deferred.fromCoroutine(self.created(path, config_map(f"x{number:03}"))) for number in range(count)]
        )

    async def test_namespace_that_was_being_emptied(self) -> None:
        """A namespace restored in the middle of its deletion keeps all of its objects, those not deleted yet too."""
        await self.filled()
        name = await self.snapshot()
        path = "/api/v1/namespaces/mine/configmaps"
        for _ in range(5):
            await self.ask("DELETE", "/api/v1/namespaces/mine")

            async def begun() -> bool:
                return len(await self.names(path)) < 200

            await self.until(begun)
            await self.restore(name)
            await deferLater(reactor, 0.05)
            self.assertEqual(len(await self.names(path)), 200)
            self.assertEqual((await self.got("/api/v1/namespaces/mine") or {})["status"]["phase"], "Active")

    async def test_namespace_made_anew(self) -> None:
        """A namespace of the same name that is made right after a reset keeps its objects, whatever was under way
        with the one before it.
        """
        path = "/api/v1/namespaces/mine/configmaps"
        for _ in range(10):
            await self.filled(20)
            await self.ask("DELETE", "/api/v1/namespaces/mine")
            await self.restore()
            await self.filled(20)
            await deferLater(reactor, 0.02)
            self.assertEqual(len(await self.names(path)), 20)
            await self.restore()
        await self.filled(20)
        await deferLater(reactor, 5.5)  # beyond the sweeps of all these namespaces
        self.assertEqual(len(await self.names(path)), 20)

    async def test_garbage_that_was_being_collected(self) -> None:
        """Dependents whose owner comes back are kept, and go with it when it is deleted again."""
        owner = await self.created(MAPS, config_map("owner"))
        meta = owner["metadata"]
        reference = {"apiVersion": "v1", "kind": "ConfigMap", "name": "owner", "uid": meta["uid"]}
        for number in range(100):
            obj = config_map(f"d{number:03}")
            obj["metadata"]["ownerReferences"] = [reference]
            await self.created(MAPS, obj)
        name = await self.snapshot()
        for _ in range(5):
            await self.ask("DELETE", f"{MAPS}/owner")

            async def begun() -> bool:
                return len(await self.names(MAPS)) < 100

            await self.until(begun)
            await self.restore(name)
            await deferLater(reactor, 0.05)
            self.assertEqual(len(await self.names(MAPS)), 101)
        await self.ask("DELETE", f"{MAPS}/owner")

        async def gone() -> bool:
            return await self.names(MAPS) == []

        await self.until(gone)
