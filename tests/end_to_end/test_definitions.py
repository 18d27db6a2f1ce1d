"""Definitions that come, change and go while others work: races, load, and ends (reference CRD-8, CRD-25)."""

from __future__ import annotations

from typing import Any

from twisted.internet.task import deferLater

from orchtw.naming.naming import Naming
from orchtw.wire.objects import Object
from tests.definitions.build import definition, in_vocabulary, part, text, version, whole
from tests.end_to_end.case import full_size, reactor
from tests.end_to_end.definitions import PAUSE_S, DefinitionCase, gizmo, is_true
from tests.end_to_end.test_controllers import reference
from tests.end_to_end.test_start import ProcessCase

MANY = 500 if full_size("ORCHTW_FULL_DEFINITIONS") else 40
WRITERS = 4
WRITES = 25
FINALIZER = "example.com/hold"
DEFINITIONS = "/apis/apiextensions.orch.io/v1/customresourcedefinitions"
AGAIN = "/apis/again.example.com/v1/namespaces/default"


def thing(definition: Object, name: str, size: int = 1, **metadata: Any) -> Object:
    """An object of a kind of gizmos."""
    spec = definition["spec"]
    meta = {"name": name, **metadata}
    api_version = f"{spec['group']}/v1"
    return {"apiVersion": api_version, "kind": spec["names"]["kind"], "metadata": meta, "spec": {"size": size}}


def numbered(group: str, number: int) -> Object:
    """One of many kinds in a group."""
    kind = f"Kind{number}"
    spec = part(size=whole(default=number), name=text(maxLength=number + 10))
    return definition(group, kind, [version("v1", spec)], short=f"k{number}")


class RaceTests(DefinitionCase):
    async def test_many_at_once(self) -> None:
        """Definitions that are created all at once are all served, with their own schemas, and go all at once."""
        group = self.own_group()
        kinds = [numbered(group, number) for number in range(MANY)]
        await self.install(*kinds)
        found = (await self.client.get(f"/apis/{group}/v1")).json["resources"]
        self.assertEqual({each["name"] for each in found}, {each["spec"]["names"]["plural"] for each in kinds})
        self.assertEqual(len({each["shortNames"][0] for each in found}), MANY)
        made = await self.together(
            [self.created(self.custom(each), {**thing(each, "a"), "spec": {}}) for each in kinds]
        )
        self.assertEqual([each["spec"]["size"] for each in made], list(range(MANY)))
        await self.documented(group, kinds)
        await self.together([self.uninstall(each["metadata"]["name"]) for each in kinds])
        await self.until_code(f"/apis/{group}/v1", 404)
        groups = (await self.client.get("/apis")).json["groups"]
        self.assertNotIn(group, {each["name"] for each in groups})

    async def documented(self, group: str, kinds: list[Object]) -> None:
        """Both OpenAPI documents have every kind."""
        names = {each["spec"]["names"]["kind"] for each in kinds}

        async def in_v3() -> bool:
            answer = await self.client.get(f"/openapi/v3/apis/{group}/v1")
            return answer.code == 200 and names <= _kinds(answer.json["components"]["schemas"], self.extension)

        async def in_v2() -> bool:
            answer = await self.client.get("/openapi/v2")
            return names <= _kinds(answer.json["definitions"], self.extension)

        await self.until("all kinds in OpenAPI v3", in_v3)
        await self.until("all kinds in OpenAPI v2", in_v2)

    @property
    def extension(self) -> str:
        """The extension that says which kind a schema is of."""
        return f"{self.naming.extension_prefix}group-version-kind"

    async def test_names_taken(self) -> None:
        """Of two definitions that want one kind one is served, and the other when that has gone (reference CRD-7)."""
        group = self.own_group()
        first, second = gizmo(group), gizmo(group, plural="gadgets")
        second["spec"]["names"]["singular"] = "gadget"
        await self.install(first)
        named = in_vocabulary(second, self.naming)
        await self.created(self.definitions, named)
        self.addCleanup(self.uninstall, named["metadata"]["name"])
        path = f"{self.definitions}/{named['metadata']['name']}"

        async def refused() -> bool:
            conditions = (await self.client.get(path)).json.get("status", {}).get("conditions") or ()
            found = {each["type"]: each for each in conditions}
            return bool(found.get("NamesAccepted", {}).get("status") == "False")

        await self.until("the names are refused", refused)
        live = (await self.client.get(path)).json
        self.assertFalse(is_true(live, "Established"))
        self.assertEqual((await self.client.get(self.everywhere(second))).code, 404)
        await self.uninstall(first["metadata"]["name"])
        await self.served(named["metadata"]["name"])


class LoadTests(DefinitionCase):
    async def test_schema_changes_under_load(self) -> None:
        """While a schema changes over and over, each write meets the rules of before or after, and none is lost."""
        kind = gizmo(self.own_group())
        await self.install(kind)
        path = f"{self.definitions}/{kind['metadata']['name']}"
        collection = self.custom(kind)
        stop: list[bool] = []
        stored: set[str] = set()

        async def write(worker: int) -> None:
            number = 0
            while not stop:
                number += 1
                name = f"w{worker}-{number}"
                answer = await self.client.post(collection, thing(kind, name, size=number % 8))
                self.assertIn(answer.code, (201, 422), answer)
                if answer.code == 201:
                    stored.add(name)

        async def change() -> None:
            for number in range(20):
                live = (await self.client.get(path)).json
                size = _spec(live)["properties"]["size"]
                size["maximum"] = 3 if number % 2 else 10
                _spec(live)["properties"][f"extra{number}"] = {"type": "string", "default": f"d{number}"}
                answer = await self.client.put(path, live)
                if answer.code != 409:  # the conditions are written beside
                    self.assertEqual(answer.code, 200, answer)
            stop.append(True)

        await self.together([*(write(worker) for worker in range(WRITERS)), change()])
        listed = (await self.client.get(collection)).json["items"]
        self.assertEqual({each["metadata"]["name"] for each in listed}, stored)

        async def defaulted() -> bool:
            items = (await self.client.get(collection)).json["items"]
            extras = [key for key in _spec((await self.client.get(path)).json)["properties"] if "extra" in key]
            return bool(extras) and all(set(extras) <= set(each["spec"]) for each in items)

        await self.until("old objects show the new defaults", defaulted)

    async def test_deleted_under_load(self) -> None:
        """A definition goes while writers write: they are told so, nothing is left, and nothing comes back."""
        kind = gizmo(self.own_group())
        await self.install(kind)
        collection = self.custom(kind)
        codes: set[int] = set()

        async def write(worker: int) -> None:
            for number in range(10 * WRITES):
                answer = await self.client.post(collection, thing(kind, f"w{worker}-{number}"))
                codes.add(answer.code)
                if answer.code not in (201, 405):
                    self.assertEqual(answer.code, 404, answer)
                    return

        async def remove() -> None:
            await self.until("objects are there", self.some(collection, WRITES))
            await self.uninstall(kind["metadata"]["name"])

        await self.together([*(write(worker) for worker in range(WRITERS)), remove()])
        self.assertIn(201, codes)
        self.assertIn(404, codes)
        await self.install(kind)
        self.assertEqual((await self.client.get(collection)).json["items"], [])

    def some(self, collection: str, count: int) -> Any:
        async def there() -> bool:
            return len((await self.client.get(collection)).json["items"]) >= count

        return there

    async def test_again_with_another_schema(self) -> None:
        """A kind that comes back with another schema has no objects and nothing of the old rules."""
        group = self.own_group()
        await self.install(gizmo(group, part(size=whole(0, 10))))
        await self.created(self.custom(gizmo(group)), thing(gizmo(group), "a", size=3))
        await self.uninstall(gizmo(group)["metadata"]["name"])
        kind = definition(group, "Gizmo", [version("v1", part(size=text(maxLength=2)))])
        await self.install(kind)
        self.assertEqual((await self.client.get(self.custom(kind))).json["items"], [])
        self.assertEqual((await self.client.post(self.custom(kind), thing(kind, "a", size=3))).code, 422)
        await self.created(self.custom(kind), {**thing(kind, "a"), "spec": {"size": "3"}})


class EndTests(DefinitionCase):
    async def test_watches_end(self) -> None:
        """Those who watch the objects see them go, and their streams end with the definition."""
        kind = gizmo(self.own_group())
        await self.install(kind)
        await self.created(self.custom(kind), thing(kind, "a"))
        version = (await self.client.get(self.custom(kind))).version
        paths = (self.custom(kind), self.everywhere(kind))
        watches = [await self.client.watch(f"{path}?watch=1&resourceVersion={version}") for path in paths]
        await self.uninstall(kind["metadata"]["name"])
        for watch in watches:
            events = await watch.rest()
            self.assertEqual([each["type"] for each in events], ["DELETED"])

    async def test_version_ends(self) -> None:
        """A version that is served no longer ends with its watches, and the other stays."""
        spec = part(size=whole())
        kind = definition(self.own_group(), "Gizmo", [version("v1beta1", spec), version("v1", spec)])
        await self.install(kind)
        await self.created(self.custom(kind), thing(kind, "a"))
        old = self.custom(kind, version="v1beta1")
        start = (await self.client.get(old)).version
        watch = await self.client.watch(f"{old}?watch=1&resourceVersion={start}")
        path = f"{self.definitions}/{kind['metadata']['name']}"
        live = (await self.client.get(path)).json
        live["spec"]["versions"][0]["served"] = False
        self.assertEqual((await self.client.put(path, live)).code, 200)
        await self.until_code(old, 404)
        self.assertEqual(await watch.rest(), [])
        self.assertEqual((await self.client.get(self.custom(kind, "a"))).json["spec"], {"size": 1})

    async def test_finalizers_hold(self) -> None:
        """An object with a finalizer keeps the definition terminating; nothing new is made; then both go."""
        kind = gizmo(self.own_group())
        await self.install(kind)
        await self.created(self.custom(kind), thing(kind, "held", finalizers=[FINALIZER]))
        await self.created(self.custom(kind), thing(kind, "free"))
        path = f"{self.definitions}/{kind['metadata']['name']}"
        await self.client.delete(path)

        async def terminating() -> bool:
            return is_true((await self.client.get(path)).json, "Terminating")

        await self.until("the definition is terminating", terminating)
        await self.until_code(self.custom(kind, "free"), 404)
        refused = await self.client.post(self.custom(kind), thing(kind, "late"))
        message = "create not allowed while custom resource definition is terminating"
        self.assertRefused(refused, 405, "MethodNotAllowed", message)
        held = (await self.client.get(self.custom(kind, "held"))).json
        self.assertIn("deletionTimestamp", held["metadata"])
        patch = {"metadata": {"finalizers": None}}
        self.assertEqual((await self.client.merge(self.custom(kind, "held"), patch)).code, 200)
        await self.until_code(path, 404)
        await self.until_code(self.custom(kind), 404)

    async def test_namespace(self) -> None:
        """A namespace that ends takes custom objects with it, and waits for their finalizers."""
        kind = gizmo(self.own_group())
        await self.install(kind)
        for number in range(5):
            await self.created(self.custom(kind), thing(kind, f"g{number}"))
        await self.created(self.custom(kind), thing(kind, "held", finalizers=[FINALIZER]))
        await self.client.delete(f"/api/v1/namespaces/{self.namespace}")
        await self.until_code(self.custom(kind, "g0"), 404)
        live = (await self.client.get(f"/api/v1/namespaces/{self.namespace}")).json
        self.assertEqual(live["status"]["phase"], "Terminating")
        patch = {"metadata": {"finalizers": None}}
        self.assertEqual((await self.client.merge(self.custom(kind, "held"), patch)).code, 200)
        await self.until_code(f"/api/v1/namespaces/{self.namespace}", 404)
        self.assertEqual((await self.client.get(self.everywhere(kind))).json["items"], [])

    async def test_owners(self) -> None:
        """Custom objects own others and are owned: background, foreground and orphan (reference CTRL-13)."""
        kind = gizmo(self.own_group())
        await self.install(kind)
        things, maps = self.custom(kind), self.core("configmaps")
        for policy in ("Background", "Foreground", "Orphan"):
            name = policy.lower()
            owner = await self.created(things, thing(kind, name))
            child = await self.created(things, thing(kind, f"{name}-child", ownerReferences=[reference(owner)]))
            meta = {"name": f"{name}-map", "ownerReferences": [reference(child)]}
            await self.created(maps, {"metadata": meta})
            await self.client.delete(f"{things}/{name}", {"propagationPolicy": policy})
            await self.until_code(f"{things}/{name}", 404)
            if policy == "Orphan":
                left = (await self.client.get(f"{things}/{name}-child")).json
                self.assertNotIn("ownerReferences", left["metadata"])
                self.assertEqual((await self.client.get(f"{maps}/{name}-map")).code, 200)
            else:
                await self.until_code(f"{things}/{name}-child", 404)
                await self.until_code(f"{maps}/{name}-map", 404)

    async def test_absent_owner(self) -> None:
        """Dependents of a removed kind's owners go, once that is known."""
        kind = gizmo(self.own_group())
        await self.install(kind)
        for name in ("first", "second"):
            owner = await self.created(self.custom(kind), thing(kind, name))
            meta = {"name": f"of-{name}", "ownerReferences": [reference(owner)]}
            await self.created(self.core("configmaps"), {"metadata": meta})
        await self.client.delete(f"{self.custom(kind)}/first")
        await self.until_code(self.core("configmaps", "of-first"), 404)  # so the collector knows objects of the kind
        await self.uninstall(kind["metadata"]["name"])
        await self.until_code(self.core("configmaps", "of-second"), 404)


class RestartTests(ProcessCase):
    async def test_killed(self) -> None:
        """A server that was killed serves all kinds and their objects when it is ready again."""
        server = self.server()
        await server.start()
        client = self.client(server)
        naming = Naming.orch()
        kinds = [in_vocabulary(numbered("again.example.com", number), naming) for number in range(20)]
        collections = [f"{AGAIN}/{each['spec']['names']['plural']}" for each in kinds]
        for kind, collection in zip(kinds, collections, strict=True):
            self.assertEqual((await client.post(DEFINITIONS, kind)).code, 201)
            while (await client.get(collection)).code != 200:
                await deferLater(reactor, PAUSE_S, lambda: None)
            made = await client.post(collection, {**thing(kind, "a"), "spec": {}})
            self.assertEqual(made.code, 201, made)
        self.assertEqual(await server.kill9(), -9)
        await server.start()
        client = self.client(server)
        while (await client.get("/readyz")).code != 200:
            await deferLater(reactor, PAUSE_S, lambda: None)
        for number, collection in enumerate(collections):
            answer = await client.get(f"{collection}/a")
            self.assertEqual((answer.code, answer.json.get("spec")), (200, {"size": number}))
        found = (await client.get("/apis/again.example.com/v1")).json["resources"]
        self.assertEqual(len(found), len(kinds))


def _spec(definition: Object) -> Object:
    """The schema of the first version's spec."""
    schema = definition["spec"]["versions"][0]["schema"]["openAPIV3Schema"]
    found: Object = schema["properties"]["spec"]
    return found


def _kinds(schemas: Object, extension: str) -> set[str]:
    """The kinds that schemas say they are of."""
    return {each["kind"] for schema in schemas.values() for each in schema.get(extension) or ()}
