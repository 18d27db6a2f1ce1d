"""OpenAPI v2 documents of other servers."""

from __future__ import annotations

from typing import Any

import orjson
from hypothesis import given
from hypothesis import strategies as st
from twisted.trial.unittest import SynchronousTestCase

from orchtw.schema.openapi.foreign import Unusable, beside, fitted
from orchtw.schema.openapi.protobuf import v2 as v2_protobuf
from tests.properties import examples

PART = "apis/example.com/v1"
KINDS = "x-orch-group-version-kind"
REF = "#/definitions/"
LAMP = {
    "description": "A lamp.",
    "type": "object",
    "required": ["spec"],
    "properties": {"spec": {"$ref": f"{REF}Spec"}, "kind": {"type": "string", "default": "Lamp", "enum": ["Lamp"]}},
    KINDS: [{"group": "example.com", "version": "v1", "kind": "Lamp"}],
    "allOf": [{}],
}
SPEC = {"type": "object", "additionalProperties": {"type": "array", "items": {"type": "integer", "minimum": 1}}}
OPERATION = {
    "operationId": "read",
    "produces": ["application/json"],
    "parameters": [{"$ref": "#/parameters/name"}, {"name": "body", "in": "body", "schema": {"$ref": f"{REF}Lamp"}}],
    "responses": {"200": {"description": "OK", "schema": {"$ref": f"{REF}Lamp"}}},
    "x-orch-action": "get",
    "security": [{"a": []}],
}
DOCUMENT = {
    "swagger": "2.0",
    "paths": {
        f"/{PART}/lamps": {"get": OPERATION, "parameters": [{"name": "x", "in": "query", "type": "string"}]},
        "/apis/example.com/v1beta1/lamps": {"get": {}},
        "/apis/example.com/": {"get": {}},
    },
    "parameters": {"name": {"name": "name", "in": "path", "required": True, "type": "string", "pattern": "x"}},
    "definitions": {"Lamp": LAMP, "Spec": SPEC, "Unused": {"type": "object"}},
}
JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | st.text(max_size=3),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=8,
)


def odd(document: Any, path: list[str], value: Any) -> Any:
    """The document with another value at a place."""
    if not path:
        return value
    return {**document, path[0]: odd(document[path[0]], path[1:], value)}


class ForeignTests(SynchronousTestCase):
    def test_fitted(self) -> None:
        """The paths of its part, what these need, and nothing that cannot be said here (reference AGG-13)."""
        found = fitted(orjson.dumps(DOCUMENT), PART)
        self.assertEqual(list(found.paths), [f"/{PART}/lamps"])
        self.assertEqual(list(found.definitions), ["Lamp", "Spec"])
        self.assertNotIn("allOf", found.definitions["Lamp"])
        self.assertEqual(found.definitions["Lamp"][KINDS], LAMP[KINDS])
        operation = found.paths[f"/{PART}/lamps"]["get"]
        name = {"name": "name", "in": "path", "type": "string", "required": True}
        self.assertEqual(operation["parameters"][0], name)
        self.assertEqual((operation["operationId"], operation["x-orch-action"]), ("read", "get"))
        self.assertTrue(v2_protobuf.encode_pieces(found.paths, found.definitions))

    def test_references_to_nothing(self) -> None:
        """A reference that leads nowhere is dropped (reference AGG-13)."""
        found = fitted(orjson.dumps(odd(DOCUMENT, ["definitions"], {})), PART)
        self.assertEqual(found.definitions, {})

    @examples(100)
    @given(
        st.sampled_from(
            [
                ["paths", f"/{PART}/lamps"],
                ["paths", f"/{PART}/lamps", "get"],
                ["paths", f"/{PART}/lamps", "get", "parameters"],
                ["paths", f"/{PART}/lamps", "get", "responses"],
                ["definitions", "Lamp"],
                ["definitions", "Lamp", "properties"],
                ["definitions", "Lamp", "type"],
                ["parameters", "name"],
            ]
        ),
        JSON,
    )
    def test_odd(self, path: list[str], value: Any) -> None:
        """Whatever stands in a document, it is refused or can be said in Protobuf too (reference AGG-13)."""
        try:
            found = fitted(orjson.dumps(odd(DOCUMENT, path, value), option=orjson.OPT_NON_STR_KEYS), PART)
        except Unusable:
            return
        v2_protobuf.encode_pieces(found.paths, found.definitions)

    def test_same(self) -> None:
        """A definition that says the same is shared, whatever kinds it stands for (reference AGG-13)."""
        found = fitted(orjson.dumps(DOCUMENT), PART)
        known = {"Lamp": {**found.definitions["Lamp"], KINDS: []}}
        share = beside(found, {"Lamp"}, known, KINDS)
        self.assertEqual(share.names, {"Spec"})

    def test_other_meaning(self) -> None:
        """One whose name means something else gets another name, wherever it is referred to (reference AGG-13)."""
        found = fitted(orjson.dumps(DOCUMENT), PART)
        share = beside(found, {"Spec", "Spec_v2"}, {"Spec": {"type": "string"}}, KINDS)
        self.assertEqual(share.names, {"Lamp", "Spec_v3"})
        paths, definitions = share.documents()
        self.assertEqual(definitions["Lamp"]["properties"]["spec"], {"$ref": f"{REF}Spec_v3"})
        self.assertIn(f"/{PART}/lamps", paths)
