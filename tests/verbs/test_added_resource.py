"""A resource that is added to a running server, from discovery to its end: only its source is another."""

from __future__ import annotations

import gc
import weakref
from collections.abc import Mapping
from typing import Any

import orjson
from twisted.internet import reactor
from twisted.internet.defer import ensureDeferred
from twisted.internet.task import deferLater

from orchtw.naming.naming import Naming
from orchtw.responses.watch_wires import Wires
from orchtw.testing.in_process import ClientAnswer
from orchtw.testing.in_process_watch import InProcessWatch, WatchEnded
from tests.in_process import InProcessServer
from tests.registry.widgets import GROUP, PREFIX, versions
from tests.verbs.answered import Case

V1 = f"/apis/{GROUP}/v1"
WIDGETS = f"{V1}/namespaces/default/widgets"
TABLE = "application/json;as=Table;g=meta.orch.io;v=v1"
PARTIAL = "application/json;as=PartialObjectMetadata;g=meta.orch.io;v=v1"
PROTOBUF = {"accept": Naming.orch().protobuf_media_type}


def widget(name: str, version: str = "v1", **more: Any) -> dict[str, Any]:
    """A widget as a client sends it."""
    return {"apiVersion": f"{GROUP}/{version}", "kind": "Widget", "metadata": {"name": name}, **more}


class AddedResourceCase(Case):
    """A server in this process to which widgets have been added."""

    async def setUp(self) -> None:  # type: ignore[override]
        await super().setUp()
        await self.add("v1", "v1beta1")

    async def begin(self) -> None:
        self.server = InProcessServer(reactor, self.folder)
        await self.server.start()

    async def add(self, *names: str) -> None:
        resources = self.server.instance.resources
        await resources.targets.add(versions(resources.codecs.schemas, *names))

    def remove(self) -> None:
        self.server.instance.resources.targets.remove(GROUP, "widgets")

    async def refused(self, method: str, url: str, body: Any, headers: Mapping[str, str]) -> ClientAnswer:
        return await self.server.request(method, url, body, headers)

    async def create(self, name: str, **more: Any) -> Any:
        return await self.ask("POST", WIDGETS, widget(name, **more), 201)

    async def watch(self, url: str, **headers: str) -> InProcessWatch:
        found = await self.server.watch(url, headers)
        self.addCleanup(found.close)
        return found

    async def seen(self, watch: InProcessWatch, count: int) -> list[tuple[str, str]]:
        """Type and name of the next events."""
        events = [await watch.next() for _ in range(count)]
        return [(event["type"], event["object"]["metadata"]["name"]) for event in events]


class PublishedTests(AddedResourceCase):
    async def test_discovery(self) -> None:
        """It is discovered as others are, under its singular name (reference DISC-5, DISC-12)."""
        groups = (await self.ask("GET", "/apis"))["groups"]
        self.assertEqual(groups[-1]["name"], GROUP)
        found = await self.ask("GET", f"/apis/{GROUP}")
        self.assertEqual(found, {"kind": "APIGroup", "apiVersion": "v1", **groups[-1]})
        resources = (await self.ask("GET", V1))["resources"]
        self.assertEqual([each["name"] for each in resources], ["widgets", "widgets/status"])
        self.assertEqual((resources[0]["singularName"], resources[0]["shortNames"]), ("widget", ["wd"]))
        self.assertIn(V1, (await self.ask("GET", "/", code=200))["paths"])

    async def test_removed(self) -> None:
        """A removed one leaves no trace in discovery and the index; its paths are a bare 404 (reference CRD-8)."""
        before = await self.ask("GET", "/")
        self.remove()
        after = await self.ask("GET", "/")
        gone = {f"/apis/{GROUP}", V1, f"/apis/{GROUP}/v1beta1"}
        self.assertEqual(set(before["paths"]) - set(after["paths"]), gone)
        self.assertNotIn(GROUP, [each["name"] for each in (await self.ask("GET", "/apis"))["groups"]])
        for path in (V1, WIDGETS, f"{WIDGETS}/a"):
            answer = await self.server.request("GET", path)
            self.assertEqual((answer.code, answer.body), (404, b"404 page not found\n"))

    async def test_openapi(self) -> None:
        """OpenAPI describes it as long as it is there, under new hashes; other groups' documents stay the same."""
        added = await self.server.request("GET", "/openapi/v2")
        self.assertIn("com.example.shop.v1.Widget", added.json["definitions"])
        index = (await self.ask("GET", "/openapi/v3"))["paths"]
        document = await self.ask("GET", index[f"apis/{GROUP}/v1"]["serverRelativeURL"])
        self.assertIn("com.example.shop.v1.Widget", document["components"]["schemas"])
        self.remove()
        removed = await self.server.request("GET", "/openapi/v2")
        self.assertNotEqual(removed.headers["etag"], added.headers["etag"])
        self.assertNotIn(GROUP.encode(), removed.body)
        self.assertEqual((await self.server.request("GET", f"/openapi/v3{V1}")).code, 404)
        left = (await self.ask("GET", "/openapi/v3"))["paths"]
        self.assertEqual({path: each for path, each in index.items() if GROUP not in path}, left)


class LifeTests(AddedResourceCase):
    async def test_life(self) -> None:
        """Created, read, changed in every way, listed, watched and deleted: in JSON, defaults and owners included."""
        watch = await self.watch(f"{WIDGETS}?watch=1")
        made = await self.create("a", spec={"parts": [{"name": "p"}]})
        self.assertEqual(made["spec"], {"size": 3, "parts": [{"name": "p", "count": 1}]})
        self.assertEqual(made["metadata"]["managedFields"][0]["apiVersion"], f"{GROUP}/v1")
        self.assertEqual(await self.ask("GET", f"{WIDGETS}/a"), made)
        merge, apply = "application/merge-patch+json", "application/apply-patch+yaml"
        await self.ask("PATCH", f"{WIDGETS}/a", b'{"spec":{"size":5}}', content_type=merge)
        wanted = orjson.dumps(widget("a", spec={"parts": [{"name": "q"}]}))
        found = await self.ask("PATCH", f"{WIDGETS}/a?fieldManager=m", wanted, content_type=apply)
        self.assertEqual([part["name"] for part in found["spec"]["parts"]], ["p", "q"])
        found["spec"]["size"] = 0
        found = await self.ask("PUT", f"{WIDGETS}/a", found)
        self.assertEqual(found["spec"]["size"], 0)
        found["status"] = {"phase": "Done"}
        await self.ask("PUT", f"{WIDGETS}/a/status", found)
        await self.ask("DELETE", f"{WIDGETS}/a")
        seen = await self.seen(watch, 6)
        self.assertEqual(seen, [("ADDED", "a"), *[("MODIFIED", "a")] * 4, ("DELETED", "a")])

    async def test_at_rest(self) -> None:
        """The store keeps the JSON document, and a restart reads it again."""
        made = await self.create("a", spec={"box": {"any": [None, {"b": 1}]}})
        kept = await self.server.instance.resources.store.get(f"{PREFIX}default/a")
        assert kept is not None
        document = orjson.loads(kept.value)
        self.assertEqual(document["metadata"]["resourceVersion"], "")
        document["metadata"]["resourceVersion"] = made["metadata"]["resourceVersion"]
        self.assertEqual(document, made)
        await self.server.stop()
        await self.begin()
        await self.add("v1", "v1beta1")
        self.assertEqual(await self.ask("GET", f"{WIDGETS}/a"), made)

    async def test_lists(self) -> None:
        """Items of a list name their kind in every form (reference OBJ-14); selectors and chunks are as
        everywhere.
        """
        for name in "abc":
            await self.create(name)
        found = await self.ask("GET", WIDGETS)
        self.assertEqual((found["kind"], found["apiVersion"]), ("WidgetList", f"{GROUP}/v1"))
        types = [(each["kind"], each["apiVersion"]) for each in found["items"]]
        self.assertEqual(types, [("Widget", f"{GROUP}/v1")] * 3)
        yaml = await self.server.request("GET", WIDGETS, headers={"accept": "application/yaml"})
        self.assertEqual(yaml.body.count(b"  kind: Widget\n"), 3)
        pretty = await self.ask("GET", f"{WIDGETS}?pretty=1")
        self.assertEqual(pretty, found)
        first = await self.ask("GET", f"{WIDGETS}?limit=2")
        rest = await self.ask("GET", f"{WIDGETS}?limit=2&continue={first['metadata']['continue']}")
        self.assertEqual([each["metadata"]["name"] for each in first["items"] + rest["items"]], ["a", "b", "c"])
        one = await self.ask("GET", f"{V1}/widgets?fieldSelector=metadata.name=b")
        self.assertEqual([each["metadata"]["name"] for each in one["items"]], ["b"])
        exact = f"{WIDGETS}?resourceVersionMatch=Exact&resourceVersion={first['metadata']['resourceVersion']}"
        await self.ask("DELETE", WIDGETS)
        self.assertEqual(len((await self.ask("GET", exact))["items"]), 3)
        self.assertEqual((await self.ask("GET", WIDGETS))["items"], [])

    async def test_other_version(self) -> None:
        """Every version shows the same objects under its own apiVersion."""
        await self.create("a", spec={"size": 2})
        beta = WIDGETS.replace("/v1/", "/v1beta1/")
        found = await self.ask("GET", f"{beta}/a")
        self.assertEqual((found["apiVersion"], found["spec"]), (f"{GROUP}/v1beta1", {"size": 2}))
        watch = await self.watch(f"{beta}?watch=1")
        self.assertEqual((await watch.next())["object"]["apiVersion"], f"{GROUP}/v1beta1")
        await self.ask("POST", beta, widget("b", "v1beta1"), 201)
        self.assertEqual((await self.ask("GET", f"{WIDGETS}/b"))["apiVersion"], f"{GROUP}/v1")

    async def test_transforms(self) -> None:
        """Tables and metadata alone are made of it, in answers and watches (reference TABLE-1, TABLE-9)."""
        await self.create("a")
        table = await self.ask("GET", WIDGETS, accept=TABLE)
        self.assertEqual((table["kind"], [row["cells"][0] for row in table["rows"]]), ("Table", ["a"]))
        self.assertEqual((await self.ask("GET", f"{WIDGETS}/a", accept=PARTIAL))["kind"], "PartialObjectMetadata")
        watch = await self.watch(f"{WIDGETS}?watch=1", accept=TABLE)
        self.assertEqual((await watch.next())["object"]["rows"][0]["cells"][0], "a")

    async def test_bookmarks(self) -> None:
        """A bookmark is of the kind that is watched, and has nothing but a version (reference WATCH-13)."""
        target = self.server.instance.resources.targets.find(GROUP, "v1", "widgets")
        assert target is not None
        event = orjson.loads(Wires(self.server.instance.resources.codecs).plain(target, "json").bookmark(7))
        self.assertEqual((event["type"], event["object"]["kind"]), ("BOOKMARK", "Widget"))
        self.assertEqual(event["object"]["metadata"], {"resourceVersion": "7", "creationTimestamp": None})

    async def test_dry_run(self) -> None:
        """Nothing is stored of what is only created in appearance."""
        made = await self.ask("POST", f"{WIDGETS}?dryRun=All", widget("a"), 201)
        self.assertNotIn("resourceVersion", made["metadata"])
        self.assertEqual((await self.ask("GET", WIDGETS))["items"], [])

    async def test_strict(self) -> None:
        """Unknown fields are dropped with a warning, or refused, as fieldValidation says (reference WRITE-24)."""
        answer = await self.server.request("POST", WIDGETS, widget("a", spec={"wheels": 4}))
        self.assertEqual((answer.code, answer.json["spec"]), (201, {"size": 3}))
        self.assertIn('unknown field \\"spec.wheels\\"', answer.headers["warning"])
        await self.ask("POST", f"{WIDGETS}?fieldValidation=Strict", widget("b", spec={"wheels": 4}), 400)


class FormTests(AddedResourceCase):
    async def test_no_protobuf(self) -> None:
        """It is not offered in Protobuf (406) and not read from it (415); other forms in the header count."""
        await self.create("a")
        for url in (WIDGETS, f"{WIDGETS}/a", f"{WIDGETS}?watch=1"):
            answer = await self.refused("GET", url, None, PROTOBUF)
            self.assertEqual(answer.code, 406)
        both = await self.server.request("GET", WIDGETS, headers={"accept": f"{PROTOBUF['accept']},application/json"})
        self.assertEqual((both.code, both.headers["content-type"]), (200, "application/json"))
        answer = await self.refused("POST", WIDGETS, b"k8s\0", {"content-type": PROTOBUF["accept"]})
        self.assertEqual(answer.code, 415)

    async def test_no_strategic_merge(self) -> None:
        """It has no strategic merge patches: 415 with the types that it takes (reference PATCH-1, CRD-18)."""
        await self.create("a")
        sent = {"content-type": "application/strategic-merge-patch+json"}
        answer = await self.refused("PATCH", f"{WIDGETS}/a", b'{"spec":{"size":1}}', sent)
        self.assertEqual(answer.code, 415)
        self.assertNotIn("strategic", answer.json["message"])


class EndTests(AddedResourceCase):
    async def test_namespace(self) -> None:
        """Its objects go with their namespace."""
        await self.ask("POST", "/api/v1/namespaces", {"metadata": {"name": "n"}}, 201)
        await self.ask("POST", WIDGETS.replace("default", "n"), widget("a"), 201)
        watch = await self.watch(f"{V1}/widgets?watch=1")
        self.assertEqual(await self.seen(watch, 1), [("ADDED", "a")])
        await self.ask("DELETE", "/api/v1/namespaces/n")
        self.assertEqual(await self.seen(watch, 1), [("DELETED", "a")])

    async def test_garbage(self) -> None:
        """Its objects own others and are owned, and are collected."""
        owner = await self.create("owner")
        reference = {"apiVersion": f"{GROUP}/v1", "kind": "Widget", "name": "owner", "uid": owner["metadata"]["uid"]}
        meta = {"name": "dependent", "ownerReferences": [reference]}
        maps = "/api/v1/namespaces/default/configmaps"
        await self.ask("POST", maps, {"metadata": meta}, 201)
        await self.ask("POST", WIDGETS, {**widget("x"), "metadata": meta}, 201)
        first, second = await self.watch(f"{maps}?watch=1"), await self.watch(f"{WIDGETS}?watch=1")
        names = {name for _, name in await self.seen(first, 1) + await self.seen(second, 2)}
        self.assertEqual(names, {"dependent", "owner"})
        await self.ask("DELETE", f"{WIDGETS}/owner")
        self.assertEqual(await self.seen(first, 1), [("DELETED", "dependent")])
        self.assertEqual(set(await self.seen(second, 2)), {("DELETED", "owner"), ("DELETED", "dependent")})

    async def test_watches(self) -> None:
        """When it is removed its watches end as they do at their time; those on others go on."""
        await self.create("a")
        watch, other = await self.watch(f"{WIDGETS}?watch=1"), await self.watch("/api/v1/namespaces?watch=1")
        self.assertEqual(await self.seen(watch, 1), [("ADDED", "a")])
        self.remove()
        with self.assertRaises(WatchEnded):
            await watch.next()
        self.assertEqual((await other.next())["type"], "ADDED")

    async def test_nothing_is_held(self) -> None:
        """Of a removed resource nothing stays in memory: neither objects nor what was made to show them.

        That does not wait for a search for reference cycles, which looks at what is old when memory has grown.
        """
        gc.disable()  # nothing refers to itself
        self.addCleanup(gc.enable)
        watch = await self.server.watch(f"{WIDGETS}?watch=1")
        await self.create("a")
        await self.ask("GET", WIDGETS, accept=TABLE)
        applied = orjson.dumps(widget("a"))
        await self.ask("PATCH", f"{WIDGETS}/a?fieldManager=m", applied, content_type="application/apply-patch+yaml")
        await self.ask("GET", "/openapi/v2")
        await self.ask("GET", f"/openapi/v3/apis/{GROUP}/v1")
        target = self.server.instance.resources.targets.find(GROUP, "v1", "widgets")
        assert target is not None
        held = [weakref.ref(target.stored), weakref.ref(target.stored.cache), weakref.ref(target.codec)]
        del target
        self.remove()
        with self.assertRaises(WatchEnded):
            while True:
                await watch.next()
        watch.close()
        del watch
        await deferLater(reactor, 0)
        self.assertEqual([each() for each in held], [None] * len(held))

    async def test_changed(self) -> None:
        """Added with another schema while it is served, it is never missing; its watches end, its objects stay."""
        made = await self.create("a")
        watch = await self.watch(f"{WIDGETS}?watch=1")
        self.assertEqual(await self.seen(watch, 1), [("ADDED", "a")])
        adding = ensureDeferred(self.add("v1", "v2"))
        self.assertEqual(await self.ask("GET", f"{WIDGETS}/a"), made)
        await adding
        with self.assertRaises(WatchEnded):
            await watch.next()
        self.assertEqual(await self.ask("GET", f"{WIDGETS}/a"), made)
        found = await self.ask("GET", f"{WIDGETS.replace('/v1/', '/v2/')}/a")
        self.assertEqual(found["apiVersion"], f"{GROUP}/v2")
        await self.create("b")

    async def test_again(self) -> None:
        """Its objects stay in the store: added again, it has them, under the versions that they had."""
        made = await self.create("a")
        self.remove()
        await self.ask("GET", "/api/v1/namespaces")
        await self.add("v1")
        self.assertEqual(await self.ask("GET", f"{WIDGETS}/a"), made)
        answer = await self.server.request("GET", f"{WIDGETS.replace('/v1/', '/v1beta1/')}/a")
        self.assertEqual(answer.code, 404)
