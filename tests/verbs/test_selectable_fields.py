"""Fields that definitions make selectable, in lists, watches and deletions of custom resources (reference CRD-71)."""

from __future__ import annotations

import re
from typing import Any
from urllib.parse import quote

import orjson
from twisted.internet import reactor

from tests.emulated import since
from tests.in_process import InProcessServer
from tests.registry.custom.definitions import GROUP, definition, lamp, serve, version
from tests.verbs.answered import Case

DEFINITIONS = "/apis/apiextensions.orch.io/v1/customresourcedefinitions"
V1 = f"/apis/{GROUP}/v1"
LAMPS = f"{V1}/namespaces/default/lamps"
MERGE = {"content-type": "application/merge-patch+json"}
SELECTABLE = [{"jsonPath": f".spec.{name}"} for name in ("colour", "lit", "replicas")]


@since((1, 30))
class SelectableFieldTests(Case):
    async def setUp(self) -> None:  # type: ignore[override]
        await super().setUp()
        older = version("v1", selectableFields=SELECTABLE)
        await serve(self.server, older, version("v2", storage=False, selectableFields=SELECTABLE[:1]))
        for name, spec in (
            ("a", {"colour": "red", "lit": True, "replicas": 3}),
            ("b", {"colour": "blue", "lit": False}),
            ("c", {}),
        ):
            await self.ask("POST", LAMPS, lamp(name, spec=spec), 201)

    async def found(self, selector: str, path: str = LAMPS) -> list[str]:
        """The names of the objects that a selector finds."""
        answer = await self.ask("GET", f"{path}?fieldSelector={quote(selector)}")
        return [each["metadata"]["name"] for each in answer["items"]]

    async def test_lists(self) -> None:
        """Values are compared as text, and an absent one is empty."""
        for selector, names in (
            ("spec.colour=red", ["a"]),
            ("spec.colour==red", ["a"]),
            ("spec.colour!=red", ["b", "c"]),
            ("spec.colour=", ["c"]),
            ("spec.lit=true", ["a"]),
            ("spec.lit=false", ["b"]),
            ("spec.replicas=3", ["a"]),
            ("spec.replicas=", ["b", "c"]),
            ("spec.colour=red,spec.lit=true,metadata.name=a", ["a"]),
            ("spec.colour=red,spec.lit=false", []),
        ):
            self.assertEqual(await self.found(selector), names, selector)
            self.assertEqual(await self.found(selector, f"{V1}/lamps"), names, selector)

    async def test_versions(self) -> None:
        """Each version has fields of its own."""
        path = f"/apis/{GROUP}/v2/lamps"
        self.assertEqual(await self.found("spec.colour=red", path), ["a"])
        why = await self.message("GET", f"{path}?fieldSelector=spec.lit%3Dtrue", 400)
        self.assertEqual(why, "field label not supported: spec.lit")
        why = await self.message("GET", f"{LAMPS}?fieldSelector=spec.size%3D3", 400)
        self.assertEqual(why, "field label not supported: spec.size")

    async def test_deletion(self) -> None:
        """A selective deletion of the collection leaves the others."""
        await self.ask("DELETE", f"{LAMPS}?fieldSelector={quote('spec.colour=red')}")
        self.assertEqual(await self.found(""), ["b", "c"])

    async def test_watch(self) -> None:
        """A watch tells of what comes into the selection as added, and of what leaves it as deleted."""
        watch = await self.server.watch(f"{LAMPS}?watch=1&fieldSelector={quote('spec.colour=red')}&resourceVersion=0")
        for name, colour in (("b", "red"), ("c", "green"), ("a", "blue")):
            await self.send("PATCH", f"{LAMPS}/{name}", 200, orjson.dumps({"spec": {"colour": colour}}), MERGE)
        events: list[Any] = [await watch.next() for _ in range(3)]
        watch.close()
        told = [(each["type"], each["object"]["metadata"]["name"]) for each in events]
        self.assertEqual(told, [("ADDED", "a"), ("ADDED", "b"), ("DELETED", "a")])

    async def test_openapi(self) -> None:
        """The document lists them with the kind, and with the operations that take selectors (reference CRD-71)."""
        document = await self.ask("GET", f"/openapi/v3/apis/{GROUP}/v1")
        wanted = [{"fieldPath": each["jsonPath"][1:]} for each in SELECTABLE]
        kind = document["components"]["schemas"]["com.example.shop.v1.Lamp"]
        self.assertEqual(kind["x-orch-selectable-fields"], wanted)
        path = document["paths"][f"{V1}/namespaces/{{namespace}}/lamps"]
        for method, there in (("get", True), ("delete", True), ("post", False)):
            self.assertEqual(path[method].get("x-orch-selectable-fields"), wanted if there else None, method)

    async def test_change(self) -> None:
        """A field that the definition adds can be selected by at once, for objects from before too."""
        url = f"{DEFINITIONS}/lamps.{GROUP}"
        more = [*SELECTABLE, {"jsonPath": ".extra"}]
        patch = [{"op": "replace", "path": "/spec/versions/0/selectableFields", "value": more}]
        await self.ask("POST", LAMPS, lamp("d", extra="x"), 201)
        headers = {"content-type": "application/json-patch+json"}
        await self.send("PATCH", url, 200, orjson.dumps(patch), headers)
        self.assertEqual(await self.found("extra=x"), ["d"])

    async def test_restart(self) -> None:
        """Objects that a new process finds in the store can be selected as before."""
        await self.server.stop()
        self.server = InProcessServer(reactor, self.folder)
        await self.server.start()
        self.assertEqual(await self.found("spec.colour=red"), ["a"])

    async def test_earlier_release(self) -> None:
        """A process that emulates an earlier release, or whose gate is off, does not select by stored definitions."""
        off = (("CustomResourceFieldSelectors", "false"),)
        for settings in ({"feature_gates": off}, {"emulated_version": "1.24"}):
            await self.server.stop()
            self.server = InProcessServer(reactor, self.folder, **settings)
            await self.server.start()
            why = await self.message("GET", f"{LAMPS}?fieldSelector=spec.colour%3Dred", 400)
            self.assertEqual(why, "field label not supported: spec.colour")


@since((1, 35))
class ObservedGenerationTests(Case):
    async def test_written(self) -> None:
        """Clients can write the generations that they observed; the server sets none (reference CRD-74)."""
        await serve(self.server, version("v1"))
        url = f"{DEFINITIONS}/lamps.{GROUP}"
        self.assertNotIn("observedGeneration", (await self.ask("GET", url))["status"])
        condition = {"type": "Checked", "status": "True", "observedGeneration": 1}
        change = {"status": {"observedGeneration": 1, "conditions": [condition]}}
        await self.send("PATCH", f"{url}/status", 200, orjson.dumps(change), MERGE)
        found = (await self.ask("GET", url))["status"]
        self.assertEqual(found["observedGeneration"], 1)
        (kept,) = (each for each in found["conditions"] if each["type"] == "Checked")
        self.assertEqual(kept["observedGeneration"], 1)


class EarlierReleaseTests(Case):
    async def setUp(self) -> None:  # type: ignore[override]
        self.server = InProcessServer(reactor, self.mktemp(), emulated_version="1.24")
        await self.server.start()
        self.addCleanup(lambda: self.server.stop())

    async def test_fields(self) -> None:
        """Before 1.30 definitions have no selectable fields, and rules before 1.27 no expressions for messages."""
        rules = [{"rule": "true", "messageExpression": "1", "optionalOldSelf": True}]
        schema = {"openAPIV3Schema": {"type": "object", "x-orch-validations": rules}}
        await serve(self.server, version("v1", schema=schema, subresources={}, selectableFields=SELECTABLE))
        url = f"{DEFINITIONS}/lamps.{GROUP}"
        (found,) = (await self.ask("GET", url))["spec"]["versions"]
        self.assertNotIn("selectableFields", found)
        self.assertEqual(found["schema"]["openAPIV3Schema"]["x-orch-validations"], [{"rule": "true"}])
        why = await self.message("GET", f"{LAMPS}?fieldSelector=spec.colour%3Dred", 400)
        self.assertEqual(why, "field label not supported: spec.colour")

    async def test_strict(self) -> None:
        """Strict validation does not know the newer fields (reference KIND-90)."""
        more = {"messageExpression": "1", "reason": "a", "fieldPath": ".a", "optionalOldSelf": True}
        schema = {"openAPIV3Schema": {"type": "object", "x-orch-validations": [{"rule": "true", **more}]}}
        made = definition(version("v1", schema=schema, subresources={}, selectableFields=SELECTABLE))
        made["status"] = {"observedGeneration": 1, "conditions": [{"observedGeneration": 1}]}
        why = await self.message("POST", f"{DEFINITIONS}?fieldValidation=Strict", 400, made)
        rule = "spec.versions[0].schema.openAPIV3Schema.x-orch-validations[0]"
        wanted = [*(f"{rule}.{name}" for name in more), "spec.versions[0].selectableFields"]
        wanted += ["status.observedGeneration", "status.conditions[0].observedGeneration"]
        self.assertEqual(sorted(re.findall('unknown field "([^"]+)"', why)), sorted(wanted))

    async def test_expressions(self) -> None:
        """A rule may use what the emulated release has, and nothing newer (reference CRD-28)."""
        schema = {"type": "object", "x-orch-validations": [{"rule": "self.?metadata.hasValue()"}]}
        with self.assertRaisesRegex(ValueError, "compilation failed: ERROR: <input>:1:6: "):
            await serve(self.server, version("v1", schema={"openAPIV3Schema": schema}, subresources={}))
