"""Large writes: what takes long is done in the thread, and an object stays within its limits."""
# covers: orchtw.registry.field_ownership, orchtw.writes.drafts

from __future__ import annotations

from threading import current_thread, main_thread
from typing import Any

import orjson
from twisted.internet import reactor as installed_reactor
from twisted.internet.defer import ensureDeferred, gatherResults
from twisted.trial.unittest import TestCase

from orchtw.admission import order
from orchtw.admission.attributes import Attributes
from orchtw.registry.field_ownership import FieldOwnership
from orchtw.registry.offload import INLINE_BYTES
from orchtw.registry.stored import Stored
from orchtw.testing.in_process import ClientAnswer
from orchtw.verbs import delete_collection
from orchtw.writes import drafts, object_interfaces
from tests.in_process import InProcessServer
from tests.verbs.served import PLUGIN, Recorder

reactor: Any = installed_reactor
MAPS = "/api/v1/namespaces/default/configmaps"
APPLY = {"content-type": "application/apply-patch+yaml"}
MERGE = {"content-type": "application/merge-patch+json"}


class LargeWriteTests(TestCase):
    async def setUp(self) -> None:  # type: ignore[override]  # trial awaits it
        self.server = InProcessServer(reactor, self.mktemp(), controllers=())  # they would write as well
        await self.server.start()
        self.addCleanup(self.server.stop)
        self.threads: dict[str, bool] = {}
        for owner, name in ((Stored, "prepare"), (Stored, "load"), (FieldOwnership, "of")):
            self.note(owner, name, name)
        self.note(Stored, "load_draft", "load")

    def note(self, owner: type, name: str, noted: str) -> None:
        """Remember, as `noted`, whether the last call of a method was made outside the reactor's thread."""
        method = getattr(owner, name)

        def noting(*args: Any) -> Any:
            self.threads[noted] = current_thread() is not main_thread()
            return method(*args)

        self.patch(owner, name, noting)

    async def create(self, name: str, size: int) -> ClientAnswer:
        return await self.server.request("POST", MAPS, {"metadata": {"name": name}, "data": {"key": "x" * size}})

    async def test_small(self) -> None:
        """Small objects take no detour, but for a kind's first objects (reference LIMIT-24)."""
        for name in ("first", "a"):
            self.threads.clear()
            self.assertEqual((await self.create(name, 100)).code, 201)
            path = f"{MAPS}/{name}"
            self.assertEqual((await self.server.request("PATCH", path, {"data": {"b": "c"}}, MERGE)).code, 200)
        self.assertEqual(set(self.threads.values()), {False})

    async def test_large_body(self) -> None:
        """A large body is decoded, changed and encoded in the thread."""
        self.assertEqual((await self.create("a", INLINE_BYTES)).code, 201)
        self.assertTrue(self.threads["prepare"])
        self.assertEqual((await self.server.request("GET", f"{MAPS}/a")).json["data"]["key"], "x" * INLINE_BYTES)

    async def test_large_object(self) -> None:
        """So is a small change of a large object, in any form, and its end."""
        await self.create("a", INLINE_BYTES)
        document = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}, "data": {"d": "e"}}
        for headers, body, query in ((MERGE, {"data": {"b": "c"}}, ""), (APPLY, document, "?fieldManager=me")):
            self.threads.clear()
            answer = await self.server.request("PATCH", f"{MAPS}/a{query}", orjson.dumps(body), headers)
            self.assertEqual(answer.code, 200)
            self.assertEqual((self.threads["load"], self.threads["prepare"]), (True, True))
        patch = {"metadata": {"finalizers": ["example.com/wait"]}}
        await self.server.request("PATCH", f"{MAPS}/a", patch, MERGE)
        self.threads.clear()
        self.assertEqual((await self.server.request("DELETE", f"{MAPS}/a")).code, 200)
        self.assertTrue(self.threads["prepare"])

    async def test_refusals(self) -> None:
        """A refusal comes out of the thread as it does without."""
        large = {"metadata": {"name": "a", "labels": {"-": "x"}}, "data": {"key": "x" * INLINE_BYTES}}
        small = {**large, "data": {}}
        answers = [await self.server.request("POST", MAPS, obj) for obj in (large, small)]
        self.assertEqual([answer.code for answer in answers], [422, 422])
        self.assertEqual(answers[0].body, answers[1].body)

    async def test_racing(self) -> None:
        """Writers of one large object, off the reactor and on it, all get through, and nothing is lost."""
        await self.create("a", INLINE_BYTES)
        changes = [{"data": {f"k{number}": "x" * (number % 2 * INLINE_BYTES)}} for number in range(8)]
        patches = [self.server.request("PATCH", f"{MAPS}/a", change, MERGE) for change in changes]
        answers = await gatherResults([ensureDeferred(patch) for patch in patches])
        self.assertEqual({answer.code for answer in answers}, {200})
        stored = (await self.server.request("GET", f"{MAPS}/a")).json
        self.assertEqual(len(stored["data"]), 9)

    async def test_growth_ends(self) -> None:
        """Many patches come to no more than one request may bring (413); what is too large may still shrink."""
        await self.create("a", 1000)
        self.patch(drafts, "MAX_STORED_BYTES", 100_000)
        answer = await self.server.request("PATCH", f"{MAPS}/a", {"data": {"b": "x" * 90_000}}, MERGE)
        self.assertEqual(answer.code, 200)
        answer = await self.server.request("PATCH", f"{MAPS}/a", {"data": {"c": "x" * 90_000}}, MERGE)
        self.assertEqual((answer.code, answer.json["reason"]), (413, "RequestEntityTooLarge"))
        self.patch(drafts, "MAX_STORED_BYTES", 10)
        answer = await self.server.request("PATCH", f"{MAPS}/a", {"data": {"b": "x" * 80_000}}, MERGE)
        self.assertEqual(answer.code, 200)

    async def test_parts(self) -> None:
        """The same of the number of parts."""
        keys = {f"k{number}": "" for number in range(40_000)}
        answer = await self.server.request("POST", MAPS, {"metadata": {"name": "a"}, "data": keys})
        self.assertEqual(answer.code, 201)
        more = {f"l{number}": "" for number in range(40_000)}
        answer = await self.server.request("PATCH", f"{MAPS}/a", {"data": more}, MERGE)
        self.assertEqual(answer.code, 413)
        self.assertIn("members", answer.json["message"])


class LargeAdmissionTests(TestCase):
    async def test_in_the_thread(self) -> None:
        """Views and changes of large objects by plugins are made in the thread."""
        plugin = Recorder()
        self.patch(order, "PLUGINS", {PLUGIN: lambda host, settings, given: plugin})
        server = InProcessServer(reactor, self.mktemp(), enable_admission_plugins=(PLUGIN,))
        await server.start()
        self.addCleanup(server.stop)
        target = server.instance.resources.targets.find("events.orch.io", "v1", "events")
        assert target is not None
        threads: list[bool] = []

        async def annotate(attributes: Attributes) -> None:
            if attributes.operation != "DELETE":
                (await attributes.edit())["metadata"]["annotations"] = {"a": attributes.operation}

        def noting(function: Any) -> Any:
            def noted(*args: Any) -> Any:
                threads.append(current_thread() is not main_thread())
                return function(*args)

            return noted

        plugin.mutate = annotate
        for owner, name in ((target, "to_storage"), (target, "from_storage"), (object_interfaces, "load_json")):
            self.patch(owner, name, noting(getattr(owner, name)))
        path = "/apis/events.orch.io/v1/namespaces/default/events"
        time = "2020-01-01T00:00:00.000000Z"
        names = {name: "a" for name in ("reportingController", "reportingInstance", "action", "reason")}
        about = {"namespace": "default", "fieldPath": "x" * INLINE_BYTES}
        event = {"metadata": {"name": "e"}, "eventTime": time, "type": "Normal", "regarding": about, **names}
        self.assertEqual((await server.request("POST", path, event)).code, 201)
        series = {"count": 2, "lastObservedTime": time}
        patched = await server.request("PATCH", f"{path}/e", {"series": series}, MERGE)
        self.assertEqual(patched.json["metadata"]["annotations"], {"a": "UPDATE"})
        self.assertEqual((await server.request("DELETE", f"{path}/e")).code, 200)
        self.assertGreater(len(threads), 8)
        self.assertEqual(set(threads), {True})


class DeleteCollectionTests(TestCase):
    async def setUp(self) -> None:  # type: ignore[override]  # trial awaits it
        self.server = InProcessServer(reactor, self.mktemp())
        await self.server.start()
        self.addCleanup(self.server.stop)
        for number in range(100):
            finalizers = ["example.com/wait"] if number % 10 == 0 else []
            obj = {"metadata": {"name": f"m{number:02}", "finalizers": finalizers}}
            await self.server.request("POST", MAPS, obj)

    async def test_a_few_at_a_time(self) -> None:
        """Some are under way together, never all, and the answer keeps the list's order (reference LIMIT-8)."""
        under_way = most = 0
        delete = self.server.instance.deletion.delete

        async def counting(*args: Any) -> Any:
            nonlocal under_way, most
            under_way += 1
            most = max(most, under_way)
            try:
                return await delete(*args)
            finally:
                under_way -= 1

        self.patch(self.server.instance.deletion, "delete", counting)
        for query in ("?dryRun=All", ""):
            answer = await self.server.request("DELETE", MAPS + query)
            names = [item["metadata"]["name"] for item in answer.json["items"]]
            self.assertEqual(names, [f"m{number:02}" for number in range(100)])
        self.assertTrue(1 < most <= delete_collection.AT_A_TIME, most)
        left = (await self.server.request("GET", MAPS)).json["items"]
        self.assertEqual(len(left), 10)

    async def test_lets_others_in(self) -> None:
        """A dry run, which waits for nothing, is not done in one turn of the reactor."""
        turns = 0
        done = ensureDeferred(self.server.request("DELETE", f"{MAPS}?dryRun=All"))

        def turn() -> None:
            nonlocal turns
            turns += 1
            if not done.called:
                reactor.callLater(0, turn)

        turn()
        await done
        self.assertGreaterEqual(turns, 100 // delete_collection.AT_A_TIME)
