"""Custom objects over the wire: what is pruned, filled in, refused and shown (reference CRD-14)."""

from __future__ import annotations

import json
from typing import Any

from tests.end_to_end.client import MERGE_PATCH, Answer
from tests.end_to_end.custom_case import CustomCase, structure, version

TABLE = "application/json;as=Table;v=v1;g=meta.orch.io,application/json"
APPLY = "application/apply-patch+yaml"


class ValueTests(CustomCase):
    """Pruning, defaults and validation."""

    async def test_pruned_and_completed(self) -> None:
        """Unknown fields go, defaults come, what is kept is kept (CRD-15, CRD-16)."""
        await self.define()
        spec: Any = {
            "unknown": 1, "note": None, "box": {"any": {"thing": [1]}}, "port": "http",
            "parts": [{"name": "a", "more": 1}],
        }  # fmt: skip
        answer = await self.client.post(self.widgets(), self.widget(spec=spec) | {"extra": True})
        self.assertEqual(answer.code, 201, answer)
        found = answer.json
        self.assertNotIn("extra", found)
        self.assertEqual(
            found["spec"],
            {
                "size": 3, "note": None, "box": {"any": {"thing": [1]}}, "port": "http",
                "parts": [{"name": "a", "count": 1}],
            },
        )  # fmt: skip
        warnings = answer.headers["warning"]
        for field in ("extra", "spec.unknown", "spec.parts[0].more"):
            self.assertIn(f'299 - "unknown field \\"{field}\\""', warnings)
        self.assertEqual((await self.client.get(self.widgets("w"))).json, found)

    async def test_null_is_filled(self) -> None:
        """A null that is not allowed counts as missing if there is a default (CRD-16)."""
        await self.define()
        found = await self.created(self.widgets(), self.widget(spec={"size": None}))
        self.assertEqual(found["spec"], {"size": 3})

    async def test_strict(self) -> None:
        """Unknown fields are refused on request instead of pruned (WRITE-26)."""
        await self.define()
        path = f"{self.widgets()}?fieldValidation=Strict"
        answer = await self.client.post(path, self.widget(spec={"unknown": 1}))
        self.assertEqual((answer.code, answer.json["reason"]), (400, "BadRequest"), answer)
        self.assertIn('strict decoding error: unknown field "spec.unknown"', answer.json["message"])
        answer = await self.client.post(f"{self.widgets()}?fieldValidation=Ignore", self.widget(spec={"unknown": 1}))
        self.assertEqual(answer.code, 201)
        self.assertNotIn("warning", answer.headers)

    async def refused(self, *causes: str, **spec: Any) -> None:
        answer = await self.client.post(self.widgets(), self.widget(spec=spec))
        self.assertRefused(answer, 422, "Invalid", self.invalid("w", *causes))

    async def test_texts(self) -> None:
        """Each keyword is refused in the usual words (CRD-17)."""
        await self.define()
        await self.refused(
            "spec.size: Invalid value: 0: spec.size in body should be greater than or equal to 1", size=0
        )
        await self.refused(
            'spec.size: Invalid value: "string": spec.size in body must be of type integer: "string"', size="x"
        )
        await self.refused('spec.colour: Unsupported value: "x": supported values: "red", "blue"', colour="x")
        await self.refused(
            "spec.code: Invalid value: \"bb\": spec.code in body should match '^a+$'", code="bb"
        )
        short = 'spec.code: Invalid value: "a": spec.code in body should be at least 2 chars long'
        await self.refused(short, code="a")
        await self.refused("spec.parts[0].name: Required value", parts=[{}])
        await self.refused(
            'spec.parts[1]: Duplicate value: map[string]interface {}{"name":"a"}',
            parts=[{"name": "a"}, {"name": "a"}],
        )

    async def test_all_causes(self) -> None:
        """One answer names all that is wrong."""
        await self.define()
        answer = await self.client.post(self.widgets(), self.widget(spec={"size": 0, "colour": "x", "code": 1}))
        self.assertEqual(answer.code, 422, answer)
        fields = {each["field"] for each in answer.json["details"]["causes"]}
        self.assertEqual(fields, {"spec.size", "spec.colour", "spec.code"})

    async def test_types_of_the_body(self) -> None:
        """A body says its kind and version, which are those of the path (CRD-14)."""
        await self.define()
        other = self.widget() | {"kind": "Bar"}
        answer = await self.client.post(self.widgets(), other)
        self.assertEqual(answer.code, 422, answer)
        self.assertIn('kind: Invalid value: "Bar": must be Widget', answer.json["message"])
        bare = self.widget()
        del bare["kind"]
        answer = await self.client.post(self.widgets(), bare)
        self.assertEqual(answer.code, 400, answer)
        self.assertIn("Object 'Kind' is missing in '", answer.json["message"])
        answer = await self.client.post(self.widgets(), self.widget() | {"apiVersion": "other.example.com/v1"})
        self.assertEqual(answer.code, 400, answer)

    async def test_embedded(self) -> None:
        """An object inside says its kind and version, and its metadata is typed (CRD-15)."""
        await self.define()
        meta = {"name": "x", "odd": 1}
        template: Any = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": meta, "data": {"a": "b"}}
        found = await self.created(self.widgets(), self.widget(spec={"template": template}))
        self.assertEqual(found["spec"]["template"]["metadata"], {"name": "x"})
        answer = await self.client.post(self.widgets(), self.widget("v", spec={"template": {"kind": "ConfigMap"}}))
        self.assertEqual(answer.code, 422, answer)
        self.assertIn("spec.template.apiVersion", answer.json["message"])

    async def test_names(self) -> None:
        """Names must be DNS subdomains."""
        await self.define()
        answer = await self.client.post(self.widgets(), self.widget("Not_Good"))
        self.assertEqual(answer.code, 422, answer)
        self.assertIn("metadata.name", answer.json["message"])


class WriteTests(CustomCase):
    """Updates, patches and sub-resources."""

    async def test_generation_and_status(self) -> None:
        """Each path has its own half of the object; the generation counts what is asked for (CRD-21, CRD-22)."""
        await self.define()
        found = await self.created(self.widgets(), self.widget(status={"phase": "x"}))
        self.assertNotIn("status", found)
        self.assertEqual(found["metadata"]["generation"], 1)
        path = self.widgets("w")
        changed = (await self.client.merge(path, {"spec": {"size": 6}, "status": {"phase": "y"}})).json
        self.assertEqual((changed["metadata"]["generation"], changed.get("status")), (2, None))
        change = {"spec": {"size": 9}, "status": {"phase": "z"}}
        changed = (await self.client.merge(f"{path}/status", change)).json
        self.assertEqual((changed["spec"]["size"], changed["status"]), (6, {"phase": "z"}))
        self.assertEqual(changed["metadata"]["generation"], 2)
        labelled = (await self.client.merge(path, {"metadata": {"labels": {"a": "b"}}})).json
        self.assertEqual((labelled["metadata"]["generation"], labelled["status"]), (2, {"phase": "z"}))

    async def test_without_status(self) -> None:
        """Without the sub-resource the status is a field like others."""
        await self.define(version(subresources={}))
        found = await self.created(self.widgets(), self.widget(status={"phase": "x"}))
        self.assertEqual(found["status"], {"phase": "x"})
        self.assertEqual((await self.client.get(f"{self.widgets('w')}/status")).code, 404)
        changed = (await self.client.merge(self.widgets("w"), {"status": {"phase": "y"}})).json
        self.assertEqual(changed["metadata"]["generation"], 2)

    async def test_put(self) -> None:
        """A PUT names the version that it changes, and creates nothing (WRITE-11)."""
        await self.define()
        answer = await self.client.put(self.widgets("w"), self.widget())
        self.assertEqual(answer.code, 404, answer)
        found = await self.created(self.widgets(), self.widget())
        answer = await self.client.put(self.widgets("w"), self.widget())
        text = "metadata.resourceVersion: Invalid value: 0x0: must be specified for an update"
        self.assertRefused(answer, 422, "Invalid", f'widgets.{self.api_group} "w" is invalid: {text}')
        found["spec"]["size"] = 8
        answer = await self.client.put(self.widgets("w"), found)
        self.assertEqual((answer.code, answer.json["spec"]["size"]), (200, 8))

    async def patch(self, kind: str, body: Any, query: str = "", path: str = "") -> Answer:
        data = json.dumps(body).encode()
        return await self.client.send("PATCH", (path or self.widgets("w")) + query, data, {"Content-Type": kind})

    async def test_patches(self) -> None:
        """JSON, merge and apply, no strategic merge (CRD-18)."""
        await self.define()
        await self.created(self.widgets(), self.widget())
        operations = [{"op": "replace", "path": "/spec/size", "value": 7}]
        answer = await self.patch("application/json-patch+json", operations)
        self.assertEqual((answer.code, answer.json["spec"]["size"]), (200, 7))
        answer = await self.patch(MERGE_PATCH, {"spec": {"size": 8}})
        self.assertEqual((answer.code, answer.json["spec"]["size"]), (200, 8))
        answer = await self.patch("application/strategic-merge-patch+json", {"spec": {"size": 9}})
        text = (
            "the body of the request was in an unknown format - accepted media types include: "
            "application/json-patch+json, application/merge-patch+json, application/apply-patch+yaml"
        )
        self.assertRefused(answer, 415, "UnsupportedMediaType", text)

    async def test_apply(self) -> None:
        """Lists and maps merge by their markers, fields have owners (CRD-13, APPLY-32)."""
        await self.define()
        first = self.widget(spec={"size": 4, "parts": [{"name": "a"}, {"name": "b", "count": 2}]})
        answer = await self.patch(APPLY, first, "?fieldManager=one")
        self.assertEqual(answer.code, 201, answer)
        second = self.widget(spec={"parts": [{"name": "b", "count": 2}, {"name": "c"}]})
        answer = await self.patch(APPLY, second, "?fieldManager=two")
        names = [each["name"] for each in answer.json["spec"]["parts"]]
        self.assertEqual(names, ["a", "b", "c"])
        third = self.widget(spec={"size": 5})
        answer = await self.patch(APPLY, third, "?fieldManager=two")
        self.assertEqual((answer.code, answer.json["reason"]), (409, "Conflict"), answer)
        self.assertIn('conflict with "one": .spec.size', answer.json["message"])
        answer = await self.patch(APPLY, self.widget(spec={"odd": 1}), "?fieldManager=two")
        self.assertIn(".spec.odd: field not declared in schema", answer.json["message"])

    async def test_scale(self) -> None:
        """The replicas of any kind through one (CRD-23)."""
        scale = {
            "specReplicasPath": ".spec.size", "statusReplicasPath": ".status.size",
            "labelSelectorPath": ".status.selector",
        }  # fmt: skip
        await self.define(version(subresources={"status": {}, "scale": scale}))
        await self.created(self.widgets(), self.widget())
        path = self.widgets("w", "scale")
        found = (await self.client.get(path)).json
        self.assertEqual((found["kind"], found["apiVersion"]), ("Scale", "autoscaling/v1"))
        self.assertEqual((found["spec"], found["status"]), ({"replicas": 5}, {"replicas": 0}))
        await self.client.merge(self.widgets("w", "status"), {"status": {"size": 2, "selector": "a=b"}})
        found = (await self.client.get(path)).json
        self.assertEqual(found["status"], {"replicas": 2, "selector": "a=b"})
        found["spec"]["replicas"] = 9
        self.assertEqual((await self.client.put(path, found)).json["spec"], {"replicas": 9})
        widget = (await self.client.get(self.widgets("w"))).json
        self.assertEqual((widget["spec"]["size"], widget["metadata"]["generation"]), (9, 2))
        answer = await self.client.merge(path, {"spec": {"replicas": 4}})
        self.assertEqual(answer.json["spec"], {"replicas": 4}, answer)


class ShownTests(CustomCase):
    """Lists, Tables and warnings."""

    async def test_columns(self) -> None:
        """Columns come from the definition; what is missing is null, dates are ages (CRD-19)."""
        columns = [
            {"name": "Size", "type": "integer", "jsonPath": ".spec.size"},
            {"name": "Phase", "type": "string", "jsonPath": ".status.phase", "priority": 1, "description": "How."},
            {"name": "Part", "type": "string", "jsonPath": '.spec.parts[?(@.name=="b")].count'},
            {"name": "Since", "type": "date", "jsonPath": ".metadata.creationTimestamp"},
        ]
        await self.define(version(additionalPrinterColumns=columns))
        await self.created(self.widgets(), self.widget(spec={"size": 5, "parts": [{"name": "b", "count": 4}]}))
        table = (await self.client.get(self.widgets(), TABLE)).json
        names = [each["name"] for each in table["columnDefinitions"]]
        self.assertEqual(names, ["Name", "Size", "Phase", "Part", "Since"])
        self.assertEqual(table["columnDefinitions"][2]["description"], "How.")
        self.assertEqual(table["columnDefinitions"][2]["priority"], 1)
        self.assertEqual(table["rows"][0]["cells"][:4], ["w", 5, None, "4"])
        self.assertRegex(table["rows"][0]["cells"][4], r"^\d+s$")

    async def test_no_columns(self) -> None:
        """Name and Age without any (CRD-19)."""
        await self.define()
        await self.created(self.widgets(), self.widget())
        table = (await self.client.get(self.widgets(), TABLE)).json
        self.assertEqual([each["name"] for each in table["columnDefinitions"]], ["Name", "Age"])

    async def test_lists(self) -> None:
        """Lists and their items say their kind; selectors work; other field selectors do not (OBJ-14)."""
        await self.define()
        labelled = self.widget("a")
        labelled["metadata"]["labels"] = {"x": "y"}
        await self.created(self.widgets(), labelled)
        await self.created(self.widgets(), self.widget("b"))
        found = (await self.client.get(self.widgets())).json
        self.assertEqual((found["kind"], found["apiVersion"]), ("WidgetList", f"{self.api_group}/v1"))
        self.assertEqual([each["kind"] for each in found["items"]], ["Widget", "Widget"])
        for query, names in (("labelSelector=x%3Dy", ["a"]), ("fieldSelector=metadata.name%3Db", ["b"])):
            found = (await self.client.get(f"{self.widgets()}?{query}")).json
            self.assertEqual([each["metadata"]["name"] for each in found["items"]], names)
        answer = await self.client.get(f"{self.widgets()}?fieldSelector=spec.size%3D5")
        self.assertEqual(answer.code, 400)

    async def test_accept(self) -> None:
        """JSON and YAML; Protobuf is not acceptable (CRD-18)."""
        await self.define()
        await self.created(self.widgets(), self.widget())
        protobuf = self.naming.protobuf_media_type
        self.assertEqual((await self.client.get(self.widgets("w"), protobuf)).code, 406)
        answer = await self.client.get(self.widgets("w"), f"{protobuf},application/json")
        self.assertEqual((answer.code, answer.headers["content-type"]), (200, "application/json"))
        self.assertIn(b"kind: Widget", (await self.client.get(self.widgets("w"), "application/yaml")).body)

    async def test_deprecated(self) -> None:
        """Requests in a deprecated version are warned (CRD-20)."""
        old, odd = version("v1alpha1", deprecated=True), version("v1beta1", deprecated=True, deprecationWarning="Go!")
        await self.define(version(), old, odd)
        answer = await self.client.get(self.widgets(version="v1alpha1"))
        text = f"{self.api_group}/v1alpha1 Widget is deprecated; use {self.api_group}/v1 Widget"
        self.assertIn(f'299 - "{text}"', answer.headers["warning"])
        self.assertIn('299 - "Go!"', (await self.client.get(self.widgets(version="v1beta1"))).headers["warning"])
        self.assertNotIn("warning", (await self.client.get(self.widgets())).headers)

    async def test_versions(self) -> None:
        """Each served version shows the same objects (CRD-24)."""
        await self.define(version(), version("v2"))
        await self.created(self.widgets(version="v2"), self.widget(version="v2"))
        for each in ("v1", "v2"):
            found = (await self.client.get(self.widgets("w", version=each))).json
            self.assertEqual(found["apiVersion"], f"{self.api_group}/{each}")
            self.assertEqual(found["spec"], {"size": 5})

    async def test_watch(self) -> None:
        """Watches show objects in the version that was asked for."""
        await self.define(version(), version("v2"))
        watch = await self.client.watch(f"{self.widgets(version='v2')}?watch=true")
        await self.created(self.widgets(), self.widget())
        event = await watch.event()
        self.assertEqual((event["type"], event["object"]["apiVersion"]), ("ADDED", f"{self.api_group}/v2"))

    async def test_rules(self) -> None:
        """Expressions hold over fields, and over what was before (CRD-10)."""
        rules = [
            {"rule": "self.size <= 10", "message": "too large"},
            {"rule": "self.size >= oldSelf.size", "message": "cannot shrink"},
        ]
        spec = {**structure()["properties"]["spec"], "x-orch-validations": rules}
        schema = {"openAPIV3Schema": {"type": "object", "properties": {"spec": spec}}}
        await self.define(version(schema=schema))
        answer = await self.client.post(self.widgets(), self.widget(spec={"size": 11}))
        text = 'spec: Invalid value: "object": too large'
        self.assertRefused(answer, 422, "Invalid", self.invalid("w", text))
        await self.created(self.widgets(), self.widget())
        answer = await self.client.merge(self.widgets("w"), {"spec": {"size": 4}})
        self.assertIn('spec: Invalid value: "object": cannot shrink', answer.json["message"])
