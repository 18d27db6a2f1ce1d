"""Lists without duplicates and embedded objects, held against schemas (reference CRD-13, CRD-15, CRD-37)."""

from __future__ import annotations

from typing import Any

from twisted.trial.unittest import SynchronousTestCase

from orchtw.naming.naming import Naming
from orchtw.schema.custom.extensions import extensions
from orchtw.schema.custom.marked import Marked

NAMING = Naming.orch()
SET = {"type": "array", "x-orch-list-type": "set"}
MAP = {"type": "array", "x-orch-list-type": "map", "x-orch-list-map-keys": ["k"], "items": {"type": "object"}}
RESOURCE = {"type": "object", "x-orch-embedded-resource": True}


def found(value: Any, schema: dict[str, Any], old: Any = None) -> list[str]:
    """Return the violations by a value at `v`."""
    return [str(each) for each in Marked(extensions(NAMING), NAMING).causes(value, schema, "v", old)]


class ListTests(SynchronousTestCase):
    def test_sets(self) -> None:
        """The first repetition of a value in a set is named, once."""
        self.assertEqual(found(["a", "b"], SET), [])
        self.assertEqual(found(["a", "b", "a", "a"], SET), ['v[2]: Duplicate value: "a"'])

    def test_maps(self) -> None:
        """Entries of a map are told apart by their keys alone."""
        self.assertEqual(found([{"k": 1, "x": 1}, {"k": 2, "x": 1}], MAP), [])
        twice = 'v[1]: Duplicate value: map[string]interface {}{"k":1}'
        self.assertEqual(found([{"k": 1, "x": 1}, {"k": 1, "x": 2}], MAP), [twice])

    def test_deep(self) -> None:
        """Lists are found in members, under free keys and in other lists."""
        schema = {"properties": {"a": {"type": "array", "items": {"additionalProperties": SET}}}}
        (cause,) = found({"a": [{}, {"x": [1, 1]}]}, schema)
        self.assertIn("Duplicate value: 1", cause)
        self.assertTrue(cause.startswith("v.a[1]"), cause)

    def test_before(self) -> None:
        """Nothing is said of lists if those before had faults, too."""
        self.assertEqual(found(["a", "a"], SET, old=["b", "b"]), [])
        self.assertEqual(len(found(["a", "a"], SET, old=["b"])), 1)


class ResourceTests(SynchronousTestCase):
    def test_type(self) -> None:
        """An embedded object has an apiVersion and a kind, in their forms."""
        self.assertEqual(found({"apiVersion": "a/v1", "kind": "Thing"}, RESOURCE), [])
        self.assertEqual(found({}, RESOURCE), ["v.apiVersion: Required value", "v.kind: Required value"])
        odd = found({"apiVersion": "a/b/c", "kind": "no kind"}, RESOURCE)
        self.assertIn("unexpected GroupVersion string: a/b/c", odd[0])
        self.assertIn("may have mixed case, but should otherwise match", odd[1])
        self.assertEqual(len(odd), 2)

    def test_metadata(self) -> None:
        """Its metadata has the rules of every object's, but needs no name."""
        obj: dict[str, Any] = {"apiVersion": "v1", "kind": "Thing", "metadata": {"labels": {"a": "b"}}}
        self.assertEqual(found(obj, RESOURCE), [])
        (cause,) = found({**obj, "metadata": {"labels": {"a": "no label"}}}, RESOURCE)
        self.assertTrue(cause.startswith("v.metadata.labels"), cause)
