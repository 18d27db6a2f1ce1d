"""Custom resources in several versions against a real process and a real webhook (reference CRD-24)."""

from __future__ import annotations

from typing import Any

from twisted.internet.defer import Deferred, gatherResults

from orchtw.testing.webhook import Reply
from orchtw.wire.objects import Object
from tests.end_to_end.conversion_case import DEFINITIONS, ConversionCase, WebhookCase
from tests.end_to_end.routes import SPECS, TEXT, members, spec

TABLE = "application/json;as=Table;g=meta.orch.io;v=v1"
APPLY = {"Content-Type": "application/apply-patch+yaml"}


class NameTests(ConversionCase):
    """Conversion with strategy None."""

    async def test_only_the_name_changes(self) -> None:
        """Objects are shown in every version, less what its schema does not know (reference CRD-24, CRD-41)."""
        await self.define(None, v1=members(size=TEXT, old=TEXT), v2=members(size=TEXT, new=TEXT))
        obj = {**self.route("v1"), "spec": {"size": "1", "old": "x"}}
        await self.created(self.path("v1"), obj)
        found = (await self.client.get(self.path("v2", "a"))).json
        self.assertEqual((found["apiVersion"], found["spec"]), (f"{self.crd_group}/v2", {"size": "1"}))
        answered = await self.client.merge(self.path("v2", "a"), {"spec": {"new": "y", "size": "2"}})
        self.assertEqual(answered.code, 200, answered)
        self.assertEqual(await self.spec("v1"), {"size": "2"})

    async def test_older_versions(self) -> None:
        """Objects in another version are readable, and rewritten by an empty update (reference CRD-40)."""
        await self.define(None, v1=members(size=TEXT), v2=members(size={**TEXT, "default": "9"}))
        await self.created(self.path("v1"), {**self.route("v1"), "spec": {}})
        await self.store_in("v2")
        self.assertEqual(await self.spec("v2"), {})
        before = (await self.client.get(self.path("v1", "a"))).json
        first = await self.client.put(self.path("v1", "a"), before)
        self.assertNotEqual(first.version, before["metadata"]["resourceVersion"])
        again = await self.client.put(self.path("v1", "a"), first.json)
        self.assertEqual(again.version, first.version)


class WebhookTests(WebhookCase):
    """Reads and writes through versions that are not stored."""

    async def test_every_version(self) -> None:
        """All verbs work in every version, whichever is stored (reference CRD-24)."""
        await self.define_by_webhook()
        created = await self.created(self.path("v1beta1"), self.route("v1beta1"))
        self.assertEqual(created["spec"], {"host": "h", "port": 80})
        shown = {version: await self.spec(version) for version in SPECS}
        self.assertEqual(shown, {version: spec(version, "h", 80) for version in SPECS})
        answered = await self.client.merge(self.path("v1alpha1", "a"), {"spec": {"hostPort": "i:81"}})
        self.assertEqual((answered.code, answered.json["spec"]), (200, {"hostPort": "i:81"}), answered)
        self.assertEqual(answered.json["metadata"]["generation"], 2)
        self.assertEqual(await self.spec("v1"), {"address": {"host": "i", "port": 81}})
        found = (await self.client.get(self.path("v1beta1", "a"))).json
        found["spec"]["port"] = 82
        answered = await self.client.put(self.path("v1beta1", "a"), found)
        self.assertEqual((answered.code, answered.json["spec"]["port"]), (200, 82), answered)
        answered = await self.client.merge(self.path("v1alpha1", "a", "status"), {"status": {"phase": "Up"}})
        self.assertEqual((answered.code, answered.json["status"]), (200, {"phase": "Up"}), answered)
        self.assertEqual(await self.spec("v1"), {"address": {"host": "i", "port": 82}})
        answered = await self.client.post(f"{self.path('v1beta1')}?dryRun=All", self.route("v1beta1", "b"))
        self.assertEqual((answered.code, answered.json["spec"]), (201, {"host": "h", "port": 80}), answered)
        self.assertNotIn("resourceVersion", answered.json["metadata"])
        answered = await self.client.delete(self.path("v1alpha1", "a"))
        self.assertEqual(answered.code, 200, answered)
        await self.until(self.path("v1", "a"), 404)

    async def test_rules_of_the_request(self) -> None:
        """Causes name the fields of the version that was written, and defaults are its own (reference CRD-41)."""
        await self.define_by_webhook()
        answered = await self.client.post(self.path("v1beta1"), self.route("v1beta1", port=0))
        self.assertEqual(answered.code, 422, answered)
        self.assertEqual([each["field"] for each in answered.json["details"]["causes"]], ["spec.port"])
        stored = await self.created(self.path("v1"), {**self.route("v1"), "spec": {"address": {"host": "x"}}})
        self.assertEqual(stored["spec"]["address"]["port"], 443)
        self.assertEqual(await self.spec("v1alpha1"), {"hostPort": "x:443"})

    async def test_lists(self) -> None:
        """A list is converted in few calls, by few connections, and not again (reference CRD-42)."""
        await self.define_by_webhook()
        path = self.path("v1")
        await gatherResults(
            [Deferred.fromCoroutine(self.created(path, self.route("v1", f"r{number}"))) for number in range(1000)]
        )
        self.assertEqual(len(self.webhook.asked), 0)
        found = (await self.client.get(self.path("v1beta1"))).json
        self.assertEqual(len(found["items"]), 1000)
        self.assertTrue(all(each["spec"] == {"host": "h", "port": 80} for each in found["items"]))
        self.assertTrue(all(each["apiVersion"] == f"{self.crd_group}/v1beta1" for each in found["items"]))
        self.assertEqual(len(self.webhook.asked), 2)
        self.assertLessEqual(self.webhook.accepted, 4)
        again = (await self.client.get(self.path("v1beta1"))).json
        self.assertEqual((len(again["items"]), len(self.webhook.asked)), (1000, 2))
        self.assertEqual(len((await self.client.get(path)).json["items"]), 1000)
        self.assertEqual(len(self.webhook.asked), 2)
        page = (await self.client.get(self.path("v1alpha1") + "?limit=10")).json
        self.assertEqual((len(page["items"]), len(self.webhook.asked)), (10, 3))
        table = await self.client.get(self.path("v1beta1"), TABLE)
        self.assertEqual((len(table.json["rows"]), len(self.webhook.asked)), (1000, 3))

    async def test_scale(self) -> None:
        """Each version has its replicas where it says (reference CRD-23, CRD-41)."""
        await self.define_by_webhook()
        await self.created(self.path("v1"), self.route("v1", port=3))
        path = self.path("v1beta1", "a", "scale")
        self.assertEqual((await self.client.get(path)).json["spec"], {"replicas": 3})
        answered = await self.client.merge(path, {"spec": {"replicas": 4}})
        self.assertEqual((answered.code, answered.json["spec"]), (200, {"replicas": 4}), answered)
        self.assertEqual(await self.spec("v1"), {"address": {"host": "h", "port": 4}})
        answered = await self.client.get(self.path("v1alpha1", "a", "scale"))
        self.assertEqual(answered.code, 404, answered)

    async def test_large_objects(self) -> None:
        """Large objects are converted for every form that there is (reference CRD-42, CRD-43)."""
        await self.define_by_webhook()
        note = "x" * 200_000
        obj = self.route("v1")
        obj["spec"]["note"] = note
        before = (await self.client.get(self.path("v1"))).version
        await self.created(self.path("v1"), obj)
        watch = await self.client.watch(f"{self.path('v1beta1')}?watch=1&resourceVersion={before}")
        tables = await self.client.watch(f"{self.path('v1beta1')}?watch=1", TABLE)
        self.assertEqual((await watch.event())["object"]["spec"]["note"], note)
        self.assertEqual((await tables.event())["object"]["rows"][0]["cells"], ["a", "h"])
        await self.client.merge(self.path("v1", "a"), {"spec": {"address": {"host": "i"}}})
        self.assertEqual((await watch.event())["object"]["spec"], {"host": "i", "port": 80, "note": note})
        self.assertEqual((await tables.event())["object"]["rows"][0]["cells"], ["a", "i"])
        found = (await self.client.get(self.path("v1beta1"))).json
        self.assertEqual(found["items"][0]["spec"]["note"], note)
        past = await self.client.get(f"{self.path('v1beta1')}?resourceVersion={found['metadata']['resourceVersion']}")
        self.assertEqual(past.code, 200)
        partial = await self.client.get(self.path("v1beta1", "a"), TABLE.replace("Table", "PartialObjectMetadata"))
        self.assertEqual(partial.json["kind"], "PartialObjectMetadata", partial)
        yaml = await self.client.get(self.path("v1beta1", "a"), "application/yaml")
        self.assertIn(f"apiVersion: {self.crd_group}/v1beta1", yaml.body.decode())

    async def test_watch(self) -> None:
        """A watch shows events in its own version, in order, those of what is gone too (reference CRD-43)."""
        await self.define_by_webhook()
        await self.created(self.path("v1"), self.route("v1"))
        watch = await self.client.watch(self.path("v1beta1") + "?watch=1")
        for port in range(81, 91):
            await self.client.merge(self.path("v1", "a"), {"spec": {"address": {"port": port}}})
        await self.client.delete(self.path("v1", "a"))
        events = [await watch.event() for _ in range(12)]
        self.assertEqual([each["type"] for each in events], ["ADDED", *["MODIFIED"] * 10, "DELETED"])
        self.assertEqual([each["object"]["spec"]["port"] for each in events], [*range(80, 91), 90])
        self.assertEqual({each["object"]["apiVersion"] for each in events}, {f"{self.crd_group}/v1beta1"})

    async def test_watch_fails(self) -> None:
        """A watch that cannot go on ends with an error, and those of the stored version go on (reference CRD-43)."""
        await self.define_by_webhook()
        other = await self.client.watch(self.path("v1beta1") + "?watch=1")
        plain = await self.client.watch(self.path("v1") + "?watch=1")
        self.webhook.answer = lambda asked: Reply(code=500, body=b"no", content_type="text/plain")
        await self.created(self.path("v1"), self.route("v1"))
        self.assertEqual((await plain.event())["type"], "ADDED")
        event = await other.event()
        self.assertEqual((event["type"], event["object"]["code"]), ("ERROR", 500))
        words = 'an error on the server ("no") has prevented the request from succeeding'
        self.assertEqual(event["object"]["message"], self.failed(f"failed: {words}"))
        answered = await self.client.get(self.path("v1beta1") + "?watch=1")
        self.assertEqual(answered.code, 500)

    async def test_apply(self) -> None:
        """Managers that apply through different versions keep their fields (reference CRD-24)."""
        await self.define_by_webhook()

        async def apply(version: str, manager: str, wanted: Object) -> Any:
            obj = {"apiVersion": f"{self.crd_group}/{version}", "kind": "Route", "metadata": {"name": "a"}}
            path = f"{self.path(version, 'a')}?fieldManager={manager}"
            return await self.client.send("PATCH", path, {**obj, "spec": wanted}, APPLY)

        first = await apply("v1", "one", {"address": {"host": "h"}})
        self.assertEqual(first.code, 201, first)
        second = await apply("v1beta1", "two", {"port": 81})
        self.assertEqual((second.code, second.json["spec"]), (200, {"host": "h", "port": 81}), second)
        changed = await self.client.merge(self.path("v1", "a"), {"spec": {"address": {"port": 80}}})
        self.assertEqual(changed.code, 200, changed)
        conflict = await apply("v1beta1", "two", {"port": 81})
        self.assertEqual(conflict.code, 409, conflict)
        third = await apply("v1beta1", "two", {"port": 80})
        self.assertEqual((third.code, third.json["spec"]), (200, {"host": "h", "port": 80}), third)
        conflict = await apply("v1beta1", "three", {"host": "i"})
        self.assertEqual(conflict.code, 409, conflict)
        text = 'Apply failed with 1 conflict: conflict with "one": .spec.address.host'
        self.assertEqual(conflict.json["message"], text)
        managers = {(each["manager"], each["apiVersion"]) for each in third.json["metadata"]["managedFields"]}
        self.assertLessEqual(
            {("one", f"{self.crd_group}/v1"), ("two", f"{self.crd_group}/v1beta1")}, managers, third
        )
        gone = await apply("v1beta1", "two", {})
        self.assertEqual(gone.code, 200, gone)

    async def test_older_review(self) -> None:
        """A webhook that names v1beta1 first is asked in v1beta1 (reference CRD-42)."""
        await self.define_by_webhook("v1", "v7", "v1beta1", "v1")
        await self.created(self.path("v1"), self.route("v1"))
        await self.spec("v1beta1")
        review = self.webhook.asked[0].json
        self.assertEqual(review["apiVersion"], "apiextensions.orch.io/v1beta1")
        self.assertEqual(review["request"]["desiredAPIVersion"], f"{self.crd_group}/v1beta1")
        self.assertEqual(self.webhook.asked[0].target, "/convert?timeout=30s")


class StorageTests(WebhookCase):
    """Another version becomes the one of the store."""

    async def test_switch(self) -> None:
        """Stored objects stay readable in every version, and are rewritten by writes (reference CRD-40)."""
        await self.define_by_webhook("v1beta1")
        await self.created(self.path("v1beta1"), self.route("v1beta1"))
        await self.store_in("v1")
        found = (await self.client.get(f"{DEFINITIONS}/routes.{self.crd_group}")).json
        self.assertEqual(found["status"]["storedVersions"], ["v1beta1", "v1"])
        asked = len(self.webhook.asked)
        self.assertEqual(await self.spec("v1beta1"), {"host": "h", "port": 80})
        self.assertEqual(len(self.webhook.asked), asked)
        self.assertEqual(await self.spec("v1"), {"address": {"host": "h", "port": 80}})
        self.assertEqual(len(self.webhook.asked), asked + 1)
        before = (await self.client.get(self.path("v1", "a"))).json
        answered = await self.client.put(self.path("v1", "a"), before)
        self.assertNotEqual(answered.version, before["metadata"]["resourceVersion"])
        self.assertEqual(answered.json["metadata"]["generation"], before["metadata"]["generation"])
        asked = len(self.webhook.asked)
        self.assertEqual(await self.spec("v1"), {"address": {"host": "h", "port": 80}})
        self.assertEqual(len(self.webhook.asked), asked)
        again = await self.client.put(self.path("v1", "a"), answered.json)
        self.assertEqual(again.version, answered.version)

    async def test_end_of_a_version(self) -> None:
        """A version goes once the status no longer says that objects are stored in it (reference CRD-40)."""
        await self.define_by_webhook("v1beta1")
        await self.created(self.path("v1beta1"), self.route("v1beta1"))
        await self.store_in("v1")
        path = f"{DEFINITIONS}/routes.{self.crd_group}"
        found = (await self.client.get(path)).json
        versions = [each for each in found["spec"]["versions"] if each["name"] != "v1beta1"]
        refused = await self.client.merge(path, {"spec": {"versions": versions}})
        self.assertEqual(refused.code, 422, refused)
        self.assertIn("status.storedVersions[0]", refused.json["message"])
        answered = await self.client.merge(f"{path}/status", {"status": {"storedVersions": ["v1"]}})
        self.assertEqual(answered.code, 200, answered)
        await self.redefine(versions=versions)
        await self.until(self.path("v1beta1"), 404)
        self.assertEqual(await self.spec("v1"), {"address": {"host": "h", "port": 80}})
        self.assertEqual(await self.spec("v1alpha1"), {"hostPort": "h:80"})

    async def test_dead_webhook(self) -> None:
        """Objects stored in the wanted version need no webhook; others fail with a clear message
        (reference CRD-24).
        """
        await self.define_by_webhook("v1beta1")
        await self.created(self.path("v1beta1"), self.route("v1beta1", "old"))
        await self.store_in("v1")
        await self.created(self.path("v1"), self.route("v1", "new"))
        await self.webhook.stop()
        self.assertEqual(await self.spec("v1beta1", "old"), {"host": "h", "port": 80})
        self.assertEqual(await self.spec("v1", "new"), {"address": {"host": "h", "port": 80}})
        url = f"{self.webhook.url}/convert?timeout=30s"
        refused = f'failed: Post "{url}": dial tcp 127.0.0.1:{self.webhook.port}: connect: connection refused'
        answered = await self.client.get(self.path("v1", "old"))
        self.assertRefused(answered, 500, "", self.failed(refused, "v1beta1"))
        answered = await self.client.get(self.path("v1"))
        self.assertRefused(answered, 500, "", self.failed(refused, "v1beta1"))
        answered = await self.client.post(self.path("v1beta1"), self.route("v1beta1", "more"))
        self.assertRefused(answered, 500, "", self.failed(refused, "v1beta1"))
        self.assertEqual((await self.client.delete(self.path("v1", "new"))).code, 200)
        self.webhook.start()
        self.assertEqual(await self.spec("v1", "old"), {"address": {"host": "h", "port": 80}})
