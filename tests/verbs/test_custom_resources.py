"""Custom resources over HTTP: what their definition makes of the verbs."""
# covers: orchtw.responses.transforms

from __future__ import annotations

from typing import Any

import orjson
from twisted.internet import reactor

from orchtw.naming.naming import Naming
from orchtw.responses.transforms import Transforms
from orchtw.rules.negotiation import Negotiator
from orchtw.schema.codec.envelope import unwrap
from orchtw.wire.objects import Object
from tests.in_process import InProcessServer
from tests.registry.custom.definitions import GROUP, SCALE, SCHEMA, lamp, serve, served, struct, version
from tests.verbs.answered import Case

V1 = f"/apis/{GROUP}/v1"
LAMPS = f"{V1}/namespaces/default/lamps"
TABLE = "application/json;as=Table;g=meta.orch.io;v=v1"
PROTOBUF = Naming.orch().protobuf_media_type
MERGE, JSON_PATCH, APPLY = (
    "application/merge-patch+json", "application/json-patch+json", "application/apply-patch+yaml",
)  # fmt: skip


class CustomCase(Case):
    """A server in this process that serves lamps."""

    async def create(self, name: str = "a", code: int = 201, **more: Any) -> Any:
        return await self.ask("POST", LAMPS, lamp(name, **more), code)

    async def merge(self, patch: Object, path: str = "", code: int = 200, query: str = "") -> Any:
        url = f"{LAMPS}/a{path}{query}"
        return await self.ask("PATCH", url, orjson.dumps(patch), code, content_type=MERGE)

    async def apply(self, obj: Object, path: str = "", code: int = 200, manager: str = "m", query: str = "") -> Any:
        url = f"{LAMPS}/a{path}?fieldManager={manager}{query}"
        return await self.ask("PATCH", url, orjson.dumps(obj), code, content_type=APPLY)


class RestartTests(CustomCase):
    async def test_first_request(self) -> None:
        """A server that has begun to serve knows all paths: none of them is a 404 for a moment (reference REQ-31)."""
        await serve(self.server)
        await self.server.stop()
        self.server = InProcessServer(reactor, self.folder)
        await self.server.start()
        self.assertEqual((await self.ask("GET", LAMPS))["items"], [])


class TypeTests(CustomCase):
    async def test_kind(self) -> None:
        """A body says its kind and version, those of the path (reference CRD-14)."""
        await serve(self.server)
        refused = await self.ask("POST", LAMPS, {**lamp(), "kind": "Candle"}, 422)
        self.assertEqual(
            refused["message"], f'Lamp.{GROUP} "a" is invalid: kind: Invalid value: "Candle": must be Lamp'
        )
        for body, text in (
            ({"apiVersion": f"{GROUP}/v1", "spec": {}}, "Object 'Kind' is missing in '{"),
            ({"kind": "Lamp"}, "Object 'apiVersion' is missing in '{"),
            ({**lamp(), "apiVersion": "v1"}, f"(v1) does not match the expected API version ({GROUP}/v1)"),
            ({**lamp(), "kind": 5}, "kind"),
        ):
            self.assertIn(text, (await self.ask("POST", LAMPS, body, 400))["message"])

    async def test_patched_kind(self) -> None:
        """A patch cannot make another kind of an object, or take its kind away (reference CRD-14)."""
        await serve(self.server)
        await self.create()
        refused = await self.merge({"kind": "Candle"}, code=422)
        self.assertIn('kind: Invalid value: "Candle": must be Lamp', refused["message"])
        self.assertIn("Object 'Kind' is missing", (await self.merge({"kind": None}, code=422))["message"])
        put = await self.ask("PUT", f"{LAMPS}/a", {**lamp(), "kind": "Candle"}, 422)
        self.assertEqual(put["details"]["causes"][0]["field"], "kind")


class StrategyTests(CustomCase):
    async def test_generation(self) -> None:
        """It counts changes of all but metadata, and status while that has its own path (reference CRD-21)."""
        await serve(self.server)
        self.assertEqual((await self.create(extra="x"))["metadata"]["generation"], 1)
        steps: list[tuple[Object, str, int]] = [
            ({"metadata": {"labels": {"a": "b"}}}, "", 1), ({"spec": {"size": 4}}, "", 2),
            ({"extra": "y"}, "", 3), ({"status": {"phase": "On"}}, "/status", 3),
            ({"status": {"phase": "Off"}}, "", 3),
            ({"spec": {"replicas": 2}}, "/scale", 4), ({"spec": {"size": 4}}, "", 4)]  # fmt: skip
        for patch, path, generation in steps:
            await self.merge(patch, path)
            found = await self.ask("GET", f"{LAMPS}/a")
            self.assertEqual((found["metadata"]["generation"], found["status"] if path == "/status" else 0),
                             (generation, {"phase": "On"} if path == "/status" else 0))  # fmt: skip

    async def test_no_subresources(self) -> None:
        """Without the sub-resource the status is as any other field, and there are no such paths (CRD-21, CRD-22)."""
        await serve(self.server, version(subresources=None))
        made = await self.create(status={"phase": "On"})
        self.assertEqual(made["status"], {"phase": "On"})
        changed = await self.merge({"status": {"phase": "Off"}})
        self.assertEqual((changed["status"], changed["metadata"]["generation"]), ({"phase": "Off"}, 2))
        for path in ("status", "scale"):
            await self.ask("GET", f"{LAMPS}/a/{path}", code=404)

    async def test_status(self) -> None:
        """The main path leaves the status alone; its own path takes nothing else, no metadata either (CRD-22)."""
        await serve(self.server)
        made = await self.create(status={"phase": "On"}, extra="x")
        self.assertNotIn("status", made)
        meta = {**made["metadata"], "labels": {"a": "b"}, "finalizers": ["f.example.com/x"]}
        sent = {**made, "metadata": meta, "status": {"phase": "On"}, "spec": {"size": 9}, "extra": "y"}
        found = await self.ask("PUT", f"{LAMPS}/a/status", sent)
        self.assertEqual((found["status"], found.get("spec"), found["extra"]), ({"phase": "On"}, None, "x"))
        self.assertFalse({"labels", "finalizers"} & set(found["metadata"]))
        owners = [(each["manager"], each.get("subresource"), each["fieldsV1"])
                  for each in found["metadata"]["managedFields"] if each.get("subresource")]  # fmt: skip
        self.assertEqual([fields for _, _, fields in owners], [{"f:status": {".": {}, "f:phase": {}}}])
        found.pop("status")
        kept = await self.ask("PUT", f"{LAMPS}/a", found)
        self.assertEqual(kept["status"], {"phase": "On"})
        kept.pop("status")
        self.assertNotIn("status", await self.ask("PUT", f"{LAMPS}/a/status", kept))

    async def test_update_asks_for_version(self) -> None:
        """A PUT names the version that it replaces, and never creates (reference KIND-7, KIND-8)."""
        await serve(self.server)
        await self.ask("PUT", f"{LAMPS}/a", lamp(), 404)
        made = await self.create()
        for path in ("", "/status"):
            refused = await self.ask("PUT", f"{LAMPS}/a{path}", lamp(), 422)
            self.assertEqual(
                refused["message"],
                f'lamps.{GROUP} "a" is invalid: metadata.resourceVersion: '
                "Invalid value: 0x0: must be specified for an update",
            )
        same = await self.ask("PUT", f"{LAMPS}/a", made)
        self.assertEqual(same["metadata"]["resourceVersion"], made["metadata"]["resourceVersion"])

    async def test_names(self) -> None:
        """Names are subdomains (reference CRD-14)."""
        await serve(self.server)
        self.assertIn("metadata.name", (await self.create("A_b", 422))["message"])
        await self.create("a.b-c")

    async def test_finalizers(self) -> None:
        """A terminating object stays as long as it has finalizers; there is no grace (reference DEL-11)."""
        await serve(self.server)
        body = lamp()
        body["metadata"]["finalizers"] = ["example.com/held"]
        await self.ask("POST", LAMPS, body, 201)
        gone = await self.ask("DELETE", f"{LAMPS}/a")
        self.assertEqual(gone["metadata"]["deletionGracePeriodSeconds"], 0)
        await self.merge({"metadata": {"finalizers": None}})
        await self.ask("GET", f"{LAMPS}/a", code=404)
        await self.create("b")
        self.assertEqual((await self.ask("DELETE", f"{LAMPS}/b"))["kind"], "Status")

    async def test_selectors(self) -> None:
        """Fields that can be selected by are name and namespace; any other is a 400 (reference CRD-14)."""
        await serve(self.server)
        await self.create()
        found = await self.ask("GET", f"{V1}/lamps?fieldSelector=metadata.name=a,metadata.namespace=default")
        self.assertEqual([each["kind"] for each in found["items"]], ["Lamp"])
        refused = await self.ask("GET", f"{LAMPS}?fieldSelector=spec.size=3", code=400)
        self.assertEqual(refused["message"], "field label not supported: spec.size")

    async def test_dry_run(self) -> None:
        """Nothing is stored of what is done in appearance, on any path."""
        await serve(self.server)
        made = await self.create(spec={"replicas": 1})
        await self.merge({"spec": {"size": 9}}, query="?dryRun=All")
        await self.merge({"status": {"phase": "x"}}, "/status", query="?dryRun=All")
        await self.merge({"spec": {"replicas": 9}}, "/scale", query="?dryRun=All")
        self.assertEqual(await self.ask("GET", f"{LAMPS}/a"), made)

    async def test_warned(self) -> None:
        """Requests to a deprecated version are warned of it (reference CRD-20)."""
        await serve(self.server, version(), version("v1beta1", storage=False, deprecated=True))
        answer = await self.server.request("GET", LAMPS.replace("/v1/", "/v1beta1/"))
        self.assertEqual(
            answer.headers["warning"], f'299 - "{GROUP}/v1beta1 Lamp is deprecated; use {GROUP}/v1 Lamp"'
        )
        self.assertNotIn("warning", (await self.server.request("GET", LAMPS)).headers)


class FormTests(CustomCase):
    async def test_patches(self) -> None:
        """Strategic merge patches are refused with the types that there are (reference CRD-18)."""
        await serve(self.server)
        await self.create()
        for path in ("", "/status", "/scale"):
            sent = "application/strategic-merge-patch+json"
            refused = await self.ask("PATCH", f"{LAMPS}/a{path}", b"{}", 415, content_type=sent)
            self.assertEqual(
                refused["message"],
                "the body of the request was in an unknown format - accepted media types include: "
                f"{JSON_PATCH}, {MERGE}, {APPLY}",
            )
        patch = b'[{"op":"add","path":"/spec","value":{"size":7}}]'
        found = await self.ask("PATCH", f"{LAMPS}/a", patch, content_type=JSON_PATCH)
        self.assertEqual(found["spec"]["size"], 7)

    async def test_protobuf(self) -> None:
        """Objects have no such form; their metadata has (reference CRD-61, ENC-6)."""
        await serve(self.server)
        await self.create()
        for url in (LAMPS, f"{LAMPS}/a", f"{LAMPS}?watch=1"):
            answer = await self.server.request("GET", url, headers={"accept": PROTOBUF})
            self.assertEqual((answer.code, answer.headers["content-type"]), (406, PROTOBUF))
            self.assertIn(b"only the following media types are accepted: application/json", answer.body)
        await self.ask("POST", LAMPS, b"k8s\0", 415, content_type=PROTOBUF)
        metadata = PROTOBUF + ";as=PartialObjectMetadata;g=meta.orch.io;v=v1"
        found = await self.server.request("GET", f"{LAMPS}/a", headers={"accept": metadata})
        api_version, kind, raw = unwrap(found.body)
        self.assertEqual((api_version, kind), ("meta.orch.io/v1", "PartialObjectMetadata"))
        made = await self.ask("GET", f"{LAMPS}/a")
        codecs = self.server.instance.resources.codecs
        self.assertEqual(codecs.kind(api_version, kind).decode_protobuf(raw)["metadata"], made["metadata"])
        found = await self.server.request("GET", LAMPS, headers={"accept": metadata + "List"})
        self.assertEqual(found.code, 406)
        listed = metadata.replace("Metadata;", "MetadataList;")
        api_version, kind, raw = unwrap((await self.server.request("GET", LAMPS, headers={"accept": listed})).body)
        items = codecs.kind(api_version, kind).decode_protobuf(raw)["items"]
        self.assertEqual([each["metadata"] for each in items], [made["metadata"]])
        target = self.server.instance.resources.targets.find(GROUP, "v1", "lamps")
        assert target is not None
        accept = Negotiator(Naming.orch()).accept(metadata, watch=True, protobuf=False)
        wire = Transforms(codecs, Naming.orch(), lambda: 0.0).wire(target, accept, {})
        entry = target.stored.get("default", "a")
        assert entry is not None
        self.assertIn(b"PartialObjectMetadata", wire.frame("ADDED", entry, entry.revision))


class TableTests(CustomCase):
    async def test_columns(self) -> None:
        """Each version has its own columns, in answers and watches (reference CRD-19)."""
        columns = [{"name": "Size", "type": "integer", "jsonPath": ".spec.size"},
                   {"name": "Ready", "type": "string",
                    "jsonPath": '.status.conditions[?(@.type=="Ready")].status'}]  # fmt: skip
        await serve(self.server, version(additionalPrinterColumns=columns), version("v2", storage=False))
        await self.create(spec={"size": 5})
        conditions = [{"type": "A", "status": "x"}, {"type": "Ready", "status": "True"}]
        await self.merge({"status": {"conditions": conditions}}, "/status")
        table = await self.ask("GET", LAMPS, accept=TABLE)
        self.assertEqual([each["name"] for each in table["columnDefinitions"]], ["Name", "Size", "Ready"])
        self.assertEqual(table["rows"][0]["cells"], ["a", 5, "True"])
        one = await self.ask("GET", f"{LAMPS}/a", accept=TABLE)
        self.assertEqual(one["rows"][0]["cells"], ["a", 5, "True"])
        other = await self.ask("GET", LAMPS.replace("/v1/", "/v2/"), accept=TABLE)
        self.assertEqual([each["name"] for each in other["columnDefinitions"]], ["Name", "Age"])
        self.assertEqual(len(other["rows"][0]["cells"]), 2)
        watch = await self.server.watch(f"{LAMPS}?watch=1", {"accept": TABLE})
        self.addCleanup(watch.close)
        self.assertEqual((await watch.next())["object"]["rows"][0]["cells"], ["a", 5, "True"])


class ScaleTests(CustomCase):
    async def test_read(self) -> None:
        """The Scale is what the paths lead to; what is missing of the status is 0 and empty (reference CRD-23)."""
        await serve(self.server)
        made = await self.create(spec={"replicas": 2})
        found = await self.ask("GET", f"{LAMPS}/a/scale")
        kept = ("name", "namespace", "uid", "resourceVersion", "creationTimestamp")
        self.assertEqual(found["metadata"], {key: made["metadata"][key] for key in kept})
        self.assertEqual((found["apiVersion"], found["kind"]), ("autoscaling/v1", "Scale"))
        self.assertEqual((found["spec"], found["status"]), ({"replicas": 2}, {"replicas": 0}))
        await self.merge({"status": {"replicas": 1, "selector": "a=b"}}, "/status")
        found = await self.ask("GET", f"{LAMPS}/a/scale")
        self.assertEqual(found["status"], {"replicas": 1, "selector": "a=b"})

    async def test_missing(self) -> None:
        """An object that says nothing of its replicas has no Scale, but can be given one (reference CRD-62)."""
        await serve(self.server)
        await self.create()
        refused = await self.ask("GET", f"{LAMPS}/a/scale", code=500)
        self.assertEqual(
            refused["message"], 'Internal error occurred: the spec replicas field ".spec.replicas" does not exist'
        )
        refused = await self.merge({"metadata": {"labels": None}}, "/scale", 400)
        self.assertEqual(refused["message"], 'the spec replicas field ".spec.replicas" cannot be empty')
        self.assertEqual((await self.merge({"spec": {"replicas": 4}}, "/scale"))["spec"], {"replicas": 4})

    async def test_defaults(self) -> None:
        """A part that a Scale adds has the schema's defaults at once, without an owner (reference CRD-23)."""
        await serve(self.server)
        await self.create(extra="x")
        await self.merge({"spec": {"replicas": 4}}, "/scale")
        lamp = await self.ask("GET", f"{LAMPS}/a")
        self.assertEqual(lamp["spec"], {"replicas": 4, "size": 3})
        owner = next(each for each in lamp["metadata"]["managedFields"] if each.get("subresource") == "scale")
        self.assertEqual(owner["fieldsV1"], {"f:spec": {".": {}, "f:replicas": {}}})

    async def test_write(self) -> None:
        """A Scale changes the replicas and nothing else; versions and UIDs are preconditions (reference CRD-62)."""
        await serve(self.server)
        made = await self.create(spec={"replicas": 2, "colour": "red"})
        await self.merge({"status": {"phase": "On"}}, "/status")
        scale = {"apiVersion": "autoscaling/v1", "kind": "Scale", "metadata": {"name": "a"}, "spec": {"replicas": 5}}
        found = await self.ask("PUT", f"{LAMPS}/a/scale", scale)
        self.assertEqual(found["spec"], {"replicas": 5})
        lamp = await self.ask("GET", f"{LAMPS}/a")
        self.assertEqual((lamp["spec"]["replicas"], lamp["spec"]["colour"]), (5, "red"))
        self.assertEqual((lamp["status"], lamp["metadata"]["generation"]), ({"phase": "On"}, 2))
        owner = next(each for each in lamp["metadata"]["managedFields"] if each.get("subresource") == "scale")
        self.assertEqual((owner["apiVersion"], owner["fieldsV1"]),
                         (f"{GROUP}/v1", {"f:spec": {"f:replicas": {}}}))  # fmt: skip
        for meta in ({"resourceVersion": made["metadata"]["resourceVersion"]}, {"uid": "other"}):
            await self.ask("PUT", f"{LAMPS}/a/scale", {**scale, "metadata": {"name": "a", **meta}}, 409)
        await self.ask("PUT", f"{LAMPS}/b/scale", {**scale, "metadata": {"name": "b"}}, 404)

    async def test_invalid(self) -> None:
        """A negative number of replicas is refused, whichever path it comes by (reference CRD-62)."""
        await serve(self.server)
        await self.create(spec={"replicas": 2})
        text = f'Lamp.{GROUP} "a" is invalid: .spec.replicas: Invalid value: -1: should be a non-negative integer'
        for path in ("/scale", ""):
            self.assertEqual((await self.merge({"spec": {"replicas": -1}}, path, 422))["message"], text)
        refused = await self.merge({"status": {"replicas": 1 << 31}}, "/status", 422)
        self.assertEqual(refused["details"]["causes"][0]["field"], ".status.replicas")

    async def test_apply(self) -> None:
        """An applied Scale owns the replicas where the object has them (reference CRD-62, APPLY-16)."""
        await serve(self.server)
        await self.create(spec={"replicas": 2})
        scale = {"apiVersion": "autoscaling/v1", "kind": "Scale", "metadata": {"name": "a"}, "spec": {"replicas": 3}}
        refused = await self.apply(scale, "/scale", 409)
        self.assertEqual(refused["details"]["causes"][0]["field"], ".spec.replicas")
        found = await self.apply(scale, "/scale", query="&force=true")
        self.assertEqual(found["spec"], {"replicas": 3})
        owners = (await self.ask("GET", f"{LAMPS}/a"))["metadata"]["managedFields"]
        mine = next(each for each in owners if each["manager"] == "m")
        self.assertEqual((mine["operation"], mine["subresource"], mine["fieldsV1"]),
                         ("Apply", "scale", {"f:spec": {"f:replicas": {}}}))  # fmt: skip

    async def test_other_places(self) -> None:
        """Paths may lead anywhere in spec and status; a selector's path may be left out (reference CRD-23)."""
        schema = struct(spec=struct(pods=struct(count={"type": "integer"})), status=SCHEMA["properties"]["status"])
        paths = {"specReplicasPath": ".spec.pods.count", "statusReplicasPath": ".status.replicas"}
        await serve(self.server, version(schema={"openAPIV3Schema": schema}, subresources={"scale": paths}))
        await self.create(spec={"pods": {"count": 1}}, status={"replicas": 3, "selector": "a=b"})
        found = await self.merge({"spec": {"replicas": 2}}, "/scale")
        self.assertEqual((found["spec"], found["status"]), ({"replicas": 2}, {"replicas": 3}))
        self.assertEqual((await self.ask("GET", f"{LAMPS}/a"))["spec"], {"pods": {"count": 2}})
        table = await self.ask("GET", f"{LAMPS}/a/scale", accept=TABLE)
        self.assertEqual(table["rows"][0]["cells"][:3], ["a", 2, 3])

    async def test_discovery(self) -> None:
        """Discovery shows it as the Scale of another group (reference DISC-5)."""
        await serve(self.server, version(subresources={"scale": SCALE}))
        found = (await self.ask("GET", V1))["resources"]
        self.assertEqual([each["name"] for each in found], ["lamps", "lamps/scale"])
        self.assertEqual((found[1]["group"], found[1]["version"], found[1]["kind"]), ("autoscaling", "v1", "Scale"))


class OwnershipTests(CustomCase):
    @staticmethod
    def owned(obj: Object, manager: str, subresource: str | None = None) -> Any:
        """The fields of a manager."""
        entries = [each for each in obj["metadata"]["managedFields"]
                   if (each["manager"], each.get("subresource")) == (manager, subresource)]  # fmt: skip
        return entries[0]["fieldsV1"] if entries else None

    async def test_lists(self) -> None:
        """Items of a map list are told apart by their keys, of which some are defaults (reference APPLY-32)."""
        await serve(self.server)
        await self.apply(lamp(spec={"parts": [{"name": "p", "count": 1}]}), code=201)
        found = await self.apply(lamp(spec={"parts": [{"name": "p", "kind": "old"}]}), manager="n")
        self.assertEqual(
            found["spec"]["parts"], [{"name": "p", "kind": "new", "count": 1}, {"name": "p", "kind": "old"}]
        )
        key = 'k:{"kind":"new","name":"p"}'
        self.assertEqual(
            self.owned(found, "m"), {"f:spec": {"f:parts": {key: {".": {}, "f:count": {}, "f:name": {}}}}}
        )
        found = await self.apply(lamp(spec={}))
        self.assertEqual(found["spec"]["parts"], [{"name": "p", "kind": "old"}])

    async def test_unknown(self) -> None:
        """Fields that the schema does not have cannot be applied; where it preserves them they can (APPLY-24)."""
        await serve(self.server)
        refused = await self.apply(lamp(spec={"wheels": 4}), code=400)
        self.assertEqual(
            refused["message"],
            f"failed to create typed patch object (/a; {GROUP}/v1, Kind=Lamp): "
            ".spec.wheels: field not declared in schema",
        )
        found = await self.apply(lamp(spec={"box": {"a": {"b": 1}, "l": [1]}}), code=201)
        fields: Object = {"f:spec": {"f:box": {"f:a": {".": {}, "f:b": {}}, "f:l": {}}}}
        self.assertEqual(self.owned(found, "m"), fields)

    async def test_without_schema(self) -> None:
        """A kind that preserves everything merges objects key by key, and replaces the rest (reference APPLY-34)."""
        schema = {"openAPIV3Schema": {"type": "object", "x-orch-preserve-unknown-fields": True}}
        await serve(self.server, version(schema=schema))
        await self.apply(lamp(spec={"a": {"b": 1}}, other=[1]), code=201)
        found = await self.apply(lamp(spec={"a": {"c": 2}}), manager="n")
        self.assertEqual((found["spec"], found["other"]), ({"a": {"b": 1, "c": 2}}, [1]))
        refused = await self.apply(lamp(spec={"a": {"b": 2}}), code=409, manager="n")
        self.assertEqual(refused["details"]["causes"][0]["field"], ".spec.a.b")

    async def test_paths(self) -> None:
        """Fields that a path cannot change are not owned through it (reference CRD-22)."""
        await serve(self.server)
        await self.apply(lamp(spec={"size": 1}, status={"phase": "x"}), code=201)
        body = lamp(spec={"size": 9}, status={"phase": "On"})
        body["metadata"]["labels"] = {"a": "b"}
        found = await self.apply(body, "/status")
        self.assertEqual((found["spec"], found["status"]), ({"size": 1}, {"phase": "On"}))
        self.assertEqual(self.owned(found, "m"), {"f:spec": {"f:size": {}}})
        self.assertEqual(self.owned(found, "m", "status"), {"f:status": {"f:phase": {}}})

    async def test_versions(self) -> None:
        """Owners through other versions keep their fields, and conflict in them (reference APPLY-29)."""
        await serve(self.server, version(), version("v2", storage=False))
        await self.apply(lamp(spec={"size": 1}), code=201)
        other = LAMPS.replace("/v1/", "/v2/") + "/a?fieldManager=n"
        body = orjson.dumps(lamp(version="v2", spec={"size": 2, "colour": "red"}))
        refused = await self.ask("PATCH", other, body, 409, content_type=APPLY)
        self.assertEqual(refused["details"]["causes"][0]["field"], ".spec.size")
        found = await self.ask("PATCH", other + "&force=true", body, content_type=APPLY)
        self.assertEqual((found["apiVersion"], found["spec"]["size"]), (f"{GROUP}/v2", 2))
        self.assertIsNone(self.owned(found, "m"))

    async def test_changed_schema(self) -> None:
        """Objects from before a schema changed can be changed and repaired (reference CRD-63)."""
        schema = struct(spec=struct(size={"type": "string"}, parts={"type": "string"}, box={"type": "string"},
                                    labels={"type": "array", "items": {"type": "string"}}))  # fmt: skip
        await serve(self.server, version(schema={"openAPIV3Schema": schema}))
        old = {"size": "large", "parts": "many", "box": "full", "labels": ["x"]}
        await self.create(spec=old)
        url = f"/apis/apiextensions.orch.io/v1/customresourcedefinitions/lamps.{GROUP}"
        change = {"spec": {"versions": [version(), version("v2", storage=False)]}}
        await self.ask("PATCH", url, orjson.dumps(change), content_type=MERGE)
        await served(self.server, "v2")
        self.assertEqual((await self.ask("GET", f"{LAMPS}/a"))["spec"], old)
        refused = await self.merge({"spec": {"size": 1}}, code=422)
        self.assertIn("spec.parts", [each["field"] for each in refused["details"]["causes"]])
        fine = {"size": 1, "parts": [{"name": "p"}], "box": {"a": 1}, "labels": {"a": "b"}}
        refused = await self.apply(lamp(spec=fine), code=409)
        self.assertEqual(len(refused["details"]["causes"]), 4)
        found = await self.apply(lamp(spec=fine), query="&force=true")
        self.assertEqual(found["spec"], {**fine, "parts": [{"name": "p", "kind": "new"}]})
        self.assertEqual([each for each in found["metadata"]["managedFields"] if each["operation"] == "Update"][0]
                         ["fieldsV1"], {"f:spec": {}})  # fmt: skip
