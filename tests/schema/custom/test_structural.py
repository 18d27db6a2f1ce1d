"""Structural schemas as nodes, as apply and selectors see them (reference APPLY-32, CRD-13, CRD-11)."""

from __future__ import annotations

from typing import Any

from twisted.trial.unittest import SynchronousTestCase

from orchtw.schema.nodes import ListSchema, MapSchema, Node, NodeForm, Scalar, StructSchema
from tests.schema.custom.made import schema_of

STRING = {"type": "string"}


def node_of(schema: dict[str, Any]) -> Node:
    return schema_of({"type": "object", "properties": {"a": schema}}).keys["a"].node


class NodesTests(SynchronousTestCase):
    def test_root(self) -> None:
        """Metadata is implied and first; what the schema says of it and of the type is left aside."""
        schema = schema_of({"type": "object", "properties": {"a": STRING, "kind": STRING, "metadata": {}}})
        self.assertEqual(list(schema.keys), ["metadata", "a"])
        self.assertIsNone(schema.unknown)
        open_schema = schema_of({"type": "object", "x-orch-preserve-unknown-fields": True})
        self.assertIs(open_schema.unknown, NodeForm.ANY)

    def test_scalars(self) -> None:
        """Scalars are scalars; what has no type is anything."""
        for kind, scalar in (("integer", Scalar.INT64), ("number", Scalar.DOUBLE), ("boolean", Scalar.BOOL)):
            self.assertIs(node_of({"type": kind}), scalar)
        self.assertIs(node_of({"x-orch-int-or-string": True}), NodeForm.INT_OR_STRING)
        self.assertIs(node_of({"x-orch-preserve-unknown-fields": True}), NodeForm.ANY)

    def test_lists(self) -> None:
        """Lists say how their elements are told apart; the defaults of keys are known."""
        item = {"type": "object", "properties": {"k": {**STRING, "default": "x"}}}
        marked = {"x-orch-list-type": "map", "x-orch-list-map-keys": ["k"]}
        found = node_of({"type": "array", "items": item, **marked})
        assert isinstance(found, ListSchema) and isinstance(found.element, StructSchema)
        self.assertEqual((found.list_type, found.map_keys), ("map", ("k",)))
        self.assertEqual(found.element.keys["k"].default, "x")
        plain = node_of({"type": "array", "items": STRING})
        assert isinstance(plain, ListSchema)
        self.assertEqual(plain.list_type, "")

    def test_objects(self) -> None:
        """Objects have fields, free keys, or both; markers make them atomic."""
        free = node_of({"type": "object", "additionalProperties": STRING, "x-orch-map-type": "atomic"})
        assert isinstance(free, MapSchema)
        self.assertEqual((free.value, free.map_type), (Scalar.STRING, "atomic"))
        struct = node_of({"type": "object", "properties": {"b": STRING}, "x-orch-map-type": "atomic"})
        assert isinstance(struct, StructSchema)
        self.assertEqual((list(struct.keys), struct.atomic, struct.unknown), (["b"], True, None))
        kept = node_of({"type": "object", "x-orch-preserve-unknown-fields": True, "properties": {"b": STRING}})
        assert isinstance(kept, StructSchema)
        self.assertIs(kept.unknown, NodeForm.ANY)
        anything = node_of({"type": "object", "additionalProperties": True})
        assert isinstance(anything, MapSchema)
        self.assertIs(anything.value, NodeForm.ANY)

    def test_embedded(self) -> None:
        """An embedded object has a type and metadata."""
        found = node_of({"type": "object", "x-orch-embedded-resource": True, "properties": {"spec": STRING}})
        assert isinstance(found, StructSchema)
        self.assertEqual(list(found.keys), ["apiVersion", "kind", "metadata", "spec"])
        self.assertIsInstance(found.keys["metadata"].node, StructSchema)
