"""OpenAPI of custom kinds (reference OPENAPI-18)."""
# covers: orchtw.schema.openapi.published, orchtw.schema.openapi.release, orchtw.schema.openapi.shares

from __future__ import annotations

import gc
import json
from typing import Any
from weakref import ref

import attrs
import orjson
from twisted.trial.unittest import SynchronousTestCase

from orchtw.naming.naming import Naming
from orchtw.schema.catalogue import Catalogue, ResourceType
from orchtw.schema.custom.structural import CustomSchema
from orchtw.schema.openapi.protobuf.message_classes import document_class
from orchtw.schema.openapi.published import Published
from orchtw.schema.schemas import OBJECT_META, Schemas
from tests.registry.widgets import GROUP, gadget, widget

PATH = f"apis/{GROUP}/v1"
NAME = "com.example.shop.v1.Widget"
META = "io.orch.apimachinery.pkg.apis.meta.v1.ObjectMeta"
STRUCTURE = {
    "type": "object",
    "description": "A thing with a size.",
    "required": ["spec"],
    "properties": {
        "apiVersion": {"type": "string"},
        "kind": {"type": "string"},
        "metadata": {"type": "object"},
        "spec": {
            "type": "object",
            "required": ["size", "note"],
            "properties": {
                "size": {"type": "integer", "format": "int32", "minimum": 1, "maximum": 9, "default": 3},
                "note": {"type": "string", "nullable": True, "maxLength": 5, "pattern": "^a"},
                "port": {"x-orch-int-or-string": True, "anyOf": [{"type": "integer"}, {"type": "string"}]},
                "colour": {"type": "string", "enum": ["red", "blue"], "not": {"enum": ["blue"]}},
                "free": {
                    "type": "object",
                    "x-orch-preserve-unknown-fields": True,
                    "properties": {"a": {"type": "string"}},
                },
                "template": {
                    "type": "object",
                    "x-orch-embedded-resource": True,
                    "properties": {"data": {"type": "object", "additionalProperties": {"type": "string"}}},
                },
                "open": {"type": "object", "additionalProperties": True},
                "parts": {
                    "type": "array",
                    "maxItems": 3,
                    "items": {"type": "object", "properties": {"n": {"type": "string", "nullable": True}}},
                    "x-orch-list-type": "map",
                    "x-orch-list-map-keys": ["n"],
                },
            },
        },
    },
}


def published(structure: dict[str, Any] = STRUCTURE, before: Published | None = None) -> Published:
    """Config maps, and widgets of that structure."""
    catalogue = Catalogue.load(Naming.orch())
    schemas = Schemas(catalogue)
    few = tuple(each for each in catalogue.resources if each.plural == "configmaps")
    add(schemas, widget(), structure)
    return Published(schemas, (*few, widget()), before)


def add(schemas: Schemas, resource: ResourceType, structure: dict[str, Any]) -> None:
    """Make a kind known."""
    schema = CustomSchema(resource.message, orjson.dumps(structure), schemas.struct(OBJECT_META), schemas.naming)
    schemas.change((), [(resource, schema)])


class CustomKindTests(SynchronousTestCase):
    """One definition with everything that is said in other words."""

    def v2(self, structure: dict[str, Any] = STRUCTURE) -> Any:
        return orjson.loads(published(structure).v2.json.body)["definitions"][NAME]

    def v3(self, structure: dict[str, Any] = STRUCTURE) -> Any:
        return orjson.loads(published(structure).v3[PATH].json.body)["components"]["schemas"][NAME]

    def test_v3_says_all(self) -> None:
        """Version 3 has the schema as it is."""
        found = self.v3()
        spec = found["properties"]["spec"]
        given: Any = STRUCTURE["properties"]["spec"]  # type: ignore[index]
        for name in ("size", "note", "port", "colour", "free", "open", "parts"):
            self.assertEqual(spec["properties"][name], given["properties"][name])
        self.assertEqual(spec["required"], ["size", "note"])
        self.assertEqual(found["description"], "A thing with a size.")
        kinds = [{"group": GROUP, "kind": "Widget", "version": "v1"}]
        self.assertEqual(found["x-orch-group-version-kind"], kinds)

    def test_every_object(self) -> None:
        """Objects, and those inside them, have apiVersion, kind and the release's metadata."""
        for found, at in ((self.v3(), "components/schemas"), (self.v2(), "definitions")):
            template = found["properties"]["spec"]["properties"]["template"]
            for each in (found, template):
                self.assertEqual(each["properties"]["kind"]["type"], "string")
                self.assertIn(f"#/{at}/{META}", str(each["properties"]["metadata"]))
                for key, begins in (
                    ("apiVersion", "APIVersion defines the versioned schema of this representation of an object. "),
                    ("kind", "Kind is a string value representing the REST resource this object represents. "),
                    ("metadata", "Standard object's metadata. "),
                ):
                    self.assertTrue(each["properties"][key]["description"].startswith(begins), key)

    def test_v2_says_less(self) -> None:
        """Version 2 leaves out what its readers would get wrong."""
        spec = self.v2()["properties"]["spec"]
        self.assertEqual(spec["required"], ["size"])
        properties = spec["properties"]
        self.assertEqual(properties["size"], {"type": "integer", "format": "int32", "minimum": 1, "maximum": 9})
        self.assertEqual(properties["note"], {"maxLength": 5, "pattern": "^a"})
        self.assertEqual(properties["port"], {"x-orch-int-or-string": True})
        self.assertEqual(properties["colour"], {"type": "string", "enum": ["red", "blue"]})
        self.assertEqual(properties["free"], {"x-orch-preserve-unknown-fields": True})
        self.assertEqual(properties["parts"]["items"]["properties"], {"n": {}})
        self.assertEqual(properties["open"], {"type": "object", "additionalProperties": True})

    def test_v2_of_everything(self) -> None:
        """Of a kind that keeps whatever it is given version 2 says nothing but that objects are of that kind."""
        everything = {
            "type": "object",
            "description": "A thing.",
            "required": ["spec"],
            "x-orch-preserve-unknown-fields": True,
            "properties": {"spec": {"type": "object"}},
        }
        kinds = [{"group": GROUP, "kind": "Widget", "version": "v1"}]
        self.assertEqual(self.v2(everything), {"type": "object", "x-orch-group-version-kind": kinds})

    def test_v2_of_a_part(self) -> None:
        """Each part is reduced as the release's readers need it (reference OPENAPI-18)."""
        text, keeps = {"type": "string"}, {"x-orch-preserve-unknown-fields": True}
        inner = {"type": "object", "properties": {"a": text}, "required": ["a"]}
        maybe = {**inner, "nullable": True}
        both = {"x-orch-int-or-string": True}
        for given, shown in (
            (maybe, {"required": ["a"]}),
            ({"type": "array", "items": text, "nullable": True}, {}),
            ({"type": "array", "items": text, **keeps}, keeps),
            ({"type": "object", **keeps}, keeps),
            ({**inner, **keeps, "default": {}}, {"required": ["a"], **keeps}),
            ({"type": "object", "additionalProperties": text, "nullable": True}, {"additionalProperties": text}),
            ({"type": "object", "additionalProperties": True}, {"type": "object", "additionalProperties": True}),
            ({"type": "array"}, {}),
            ({"type": "array", "items": {"type": "object", **keeps}}, {"type": "array", "items": keeps}),
            ({"type": "object", "additionalProperties": maybe, "required": ["b"]},
             {"type": "object", "additionalProperties": {"required": ["a"]}}),
            ({"type": "object", "properties": {"m": maybe, "b": text}, "required": ["m", "b"]},
             {"type": "object", "properties": {"m": {"required": ["a"]}, "b": text}, "required": ["b"]}),
            ({"type": "object", "properties": {"m": maybe}, "required": ["m"]},
             {"type": "object", "properties": {"m": {"required": ["a"]}}}),
            ({**both, "anyOf": [{"type": "integer"}, {"type": "string"}], "maxLength": 5}, {**both, "maxLength": 5}),
            ({**text, "nullable": True, "enum": ["a", None], "default": "a"}, {"enum": ["a", None]}),
            ({**text, "allOf": [{"minLength": 1}], "oneOf": [{}], "not": {"enum": ["b"]}, "example": "a"}, text),
            ({"type": "object", "x-orch-embedded-resource": True, **keeps},
             {"x-orch-embedded-resource": True, **keeps}),
        ):  # fmt: skip
            with self.subTest(given=given):
                root = {"type": "object", "properties": {"part": given}}
                self.assertEqual(self.v2(root)["properties"]["part"], shown)

    def test_embedded(self) -> None:
        """An object inside another one says of which kind it is (reference OPENAPI-18)."""
        given = {"type": "object", "x-orch-embedded-resource": True, "required": ["kind", "data"]}
        root = {"type": "object", "properties": {"part": given}}
        bodies = self.v2(root), self.v3(root)
        for found in bodies:
            self.assertEqual(found["properties"]["part"]["required"], ["kind", "data", "apiVersion"])

    def test_v3_of_int_or_string(self) -> None:
        """Version 3 says of which types a number or text is, whatever else a schema asks for."""
        kind = {"x-orch-int-or-string": True}
        types = [{"type": "integer"}, {"type": "string"}]
        choice = [{"maximum": 5}, {"pattern": "%$"}]
        for given, added in (
            (kind, {"anyOf": types}),
            ({**kind, "anyOf": types}, {}),
            ({**kind, "allOf": [{"anyOf": types}, {"minLength": 1}]}, {}),
            ({**kind, "anyOf": choice}, {"allOf": [{"anyOf": types}]}),
        ):
            root = {"type": "object", "properties": {"part": given}}
            self.assertEqual(self.v3(root)["properties"]["part"], {**given, **added})

    def test_protobuf(self) -> None:
        """The binary forms have what the JSON has."""
        two: Any = document_class("v2").FromString(published().v2.protobuf.body)
        found = {each.name: each.value for each in two.definitions.additional_properties}
        members = {each.name: each.value for each in found[NAME].properties.additional_properties}
        spec = {each.name: each.value for each in members["spec"].properties.additional_properties}
        self.assertEqual((spec["size"].minimum, spec["size"].maximum, spec["note"].pattern), (1, 9, "^a"))
        self.assertTrue(spec["open"].additional_properties.boolean)
        self.assertIn(f"/{PATH}/namespaces/{{namespace}}/widgets", [each.name for each in two.paths.path])
        three: Any = document_class("v3").FromString(published().v3[PATH].protobuf.body)
        schemas = {each.name: each.value.schema for each in three.components.schemas.additional_properties}
        members = {each.name: each.value.schema for each in schemas[NAME].properties.additional_properties}
        spec = {each.name: each.value.schema for each in members["spec"].properties.additional_properties}
        self.assertTrue(spec["note"].nullable)
        self.assertEqual(len(spec["port"].any_of), 2)
        self.assertEqual(len(getattr(spec["colour"], "not").enum), 1)


class ChangeTests(SynchronousTestCase):
    """Documents while definitions come, change and go."""

    def test_hash_follows_the_schema(self) -> None:
        """The index has another hash after a change of the schema, and the same after none."""
        before = published()
        self.assertEqual(published(before=before).v3_hash(PATH), before.v3_hash(PATH))
        self.assertEqual(before.v3[PATH].json.hash, before.v3_hash(PATH))
        changed = published({**STRUCTURE, "description": "Another thing."}, before)
        self.assertNotEqual(changed.v3_hash(PATH), before.v3_hash(PATH))
        self.assertIn(b"Another thing.", changed.v3[PATH].json.body)

    def test_index_renders_nothing(self) -> None:
        """The index is there before the documents of added kinds are."""
        fresh = published()
        fresh.index("/x")
        self.assertEqual([each.kept for each in fresh._shares[PATH]], [{}] * 2)

    def test_release_is_kept(self) -> None:
        """Documents of the release are rendered once."""
        before = published()
        after = published(before=before)
        self.assertIs(after.v3["api/v1"], before.v3["api/v1"])
        self.assertIs(after._release.v2, before._release.v2)

    def test_nothing_is_held(self) -> None:
        """Replaced documents are freed at once: a v2 document takes a megabyte and more."""
        gc.disable()
        self.addCleanup(gc.enable)
        before = published()
        self.assertIn(b"Widget", before.v2.json.body)
        self.assertIn(b"Widget", before.v2.protobuf.body)
        self.assertIn(b"Widget", before.v3[PATH].json.body)
        held = ref(before), ref(before.v2), ref(before.v3[PATH]), ref(before._schemas)
        published({**STRUCTURE, "description": "Another thing."}, before)
        del before
        self.assertEqual([each() for each in held], [None] * len(held))

    def test_unchanged_kinds_are_kept(self) -> None:
        """A change of one kind leaves the shares of others as they were rendered, in one group version too."""
        catalogue = Catalogue.load(Naming.orch())

        def both(structure: dict[str, Any], before: Published | None = None) -> Published:
            schemas = Schemas(catalogue)
            add(schemas, widget(), structure)
            add(schemas, gadget(widget()), STRUCTURE)
            return Published(schemas, (widget(), gadget(widget())), before)

        before = both(STRUCTURE)
        self.assertIn(b"Gadget", before.v2.protobuf.body)
        after = both({**STRUCTURE, "description": "Another thing."}, before)
        index, one, other = before._shares[PATH]
        same = [each is before for each, before in zip(after._shares[PATH], (index, one, other), strict=True)]
        self.assertEqual(same, [True, False, True])
        self.assertIn(b"Another thing.", after.v2.json.body)
        self.assertIn(b"Gadget", after.v3[PATH].json.body)

    def test_joined(self) -> None:
        """The v2 document has every definition once, though each part is rendered for itself."""
        catalogue = Catalogue.load(Naming.orch())
        schemas = Schemas(catalogue)
        first, second = widget(), attrs.evolve(gadget(widget()), group="other.example.com", storage_group="other")
        add(schemas, first, STRUCTURE)
        add(schemas, second, STRUCTURE)
        body = Published(schemas, (first, second)).v2.json.body
        names: list[str] = []

        def members(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
            names.extend(key for key, _ in pairs if key.startswith(("com.example", "io.orch")))
            return dict(pairs)

        json.loads(body, object_pairs_hook=members)
        self.assertEqual(len(names), len(set(names)))
        self.assertIn(NAME, names)
