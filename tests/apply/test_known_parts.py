"""The fields of new and of applied objects, which parts that come again share: `orchtw.apply.known_parts`."""

from __future__ import annotations

from typing import Any

import orjson
from hypothesis import given
from hypothesis import strategies as some
from twisted.trial.unittest import SynchronousTestCase

from orchtw.apply import field_tree, known_parts
from orchtw.apply.field_set import FieldSet
from orchtw.apply.field_tree import Tree
from orchtw.apply.known_parts import Additions, Claims
from orchtw.apply.managed_fields import FieldOwner
from orchtw.apply.merge_type import MapType
from orchtw.apply.server_side_apply import Merger, OneVersion
from orchtw.apply.type_check import fits
from orchtw.apply.typed import claimed, gained
from orchtw.wire.objects import Object
from tests.apply.merging import type_of_schema
from tests.properties import examples

KIND = type_of_schema(
    {
        "type": "object",
        "properties": {
            "apiVersion": {"type": "string"},
            "metadata": {"type": "object", "properties": {"name": {"type": "string"}, "labels": {
                "type": "object", "additionalProperties": {"type": "string"}}}},
            "spec": {
                "type": "object",
                "properties": {
                    "box": {"type": "object", "properties": {"width": {"type": "integer"}}},
                    "free": {"type": "object", "x-orch-preserve-unknown-fields": True},
                    "args": {"type": "array", "items": {"type": "string"}},
                },
            },
            "data": {"type": "object", "additionalProperties": {"type": "string"}},
        },
    }
)  # fmt: skip
EMPTY: Object = {"apiVersion": "v1", "metadata": {}, "spec": {"args": None}}
SPECS: tuple[Object, ...] = (
    {},
    {"args": None},
    {"args": ["a"], "box": {"width": 1}},
    {"box": {}, "free": {"a": 1, "b": {"c": [1]}}},
    {"free": {"a": True}, "box": {"width": None}},
)
REST: tuple[Object, ...] = ({"metadata": {}}, {"metadata": {"name": "x", "labels": {"a": "b"}}, "data": {"a": "x"}})
_VALUES = some.sampled_from(["", "a", "b", None, 1, {"a": "b"}, "\ud800"])
METADATA = some.dictionaries(
    some.sampled_from(["name", "generateName", "labels", "annotations", "creationTimestamp", "finalizers"]),
    some.sampled_from(["", "x", "y", None, ["x"], [{"uid": "u"}], 1, 1.0, True])
    | some.dictionaries(some.sampled_from("abc"), _VALUES | some.just("v")),
)
IGNORED = (FieldSet(), FieldSet.named("spec.free", "data"), FieldSet.named("spec"))


class AdditionsTests(SynchronousTestCase):
    def setUp(self) -> None:
        self.patch(known_parts, "SHORTEST", 1)

    def test_as_merged(self) -> None:
        """Its fields are those that an update of the empty object would give to its writer (reference APPLY-18)."""
        for ignored in IGNORED:
            self.check(ignored, [{"apiVersion": "v1", "spec": spec, **rest} for spec in SPECS for rest in REST])

    def check(self, ignored: FieldSet, objects: list[Object]) -> None:
        found = Additions(KIND, EMPTY, ignored.tree)
        merger, owner = Merger(OneVersion("v1", KIND), {"v1": ignored}), FieldOwner.updater("me", "v1")
        for new in (*objects, *objects):
            merged = merger.update(EMPTY, new, "v1", {}, owner, None)
            expected = merged[owner].fields.tree if merged else field_tree.LEAF
            self.assertEqual(found.of(new), expected)
            self.assertEqual(orjson.dumps(found.of(new)), FieldSet(expected).encode(), "in the order of FieldsV1")

    @examples(60)
    @given(some.lists(METADATA, min_size=1, max_size=6))
    def test_any_metadata(self, drawn: list[Object]) -> None:
        """Metadata with equal keys and equal lists has the same fields, whatever the values of its labels."""
        for ignored in (FieldSet(), FieldSet.named("metadata.labels")):
            self.check(ignored, [{"apiVersion": "v1", "metadata": meta} for meta in drawn for _ in range(2)])

    def test_found_out_once(self) -> None:
        """A specification that comes again is not examined from the third time on; a similar one is another."""
        counted: list[Object] = []
        looked = gained

        def noted(kind: MapType, left: Object, right: Object) -> Tree:
            counted.append(right)
            return looked(kind, left, right)

        self.patch(known_parts, "gained", noted)
        found = Additions(KIND, EMPTY, {})
        for free in ({"a": 1}, {"a": 1}, {"a": True}, {"a": 1.0}, {"a": 1}, {"a": True}, {"a": True}):
            found.of({"spec": {"free": free}})
        values = [repr(each["spec"]["free"]["a"]) for each in counted if each]
        self.assertEqual(values, ["1", "1", "True", "1.0", "True"])

    def test_no_text(self) -> None:
        """A value that UTF-8 cannot encode is examined anew each time."""
        tree = Additions(KIND, EMPTY, {}).of({"spec": {"free": {"a\ud800": 1}}})
        self.assertIn("f:spec", tree)


class ClaimsTests(SynchronousTestCase):
    def setUp(self) -> None:
        self.patch(known_parts, "SHORTEST", 1)

    def test_as_claimed(self) -> None:
        """The fields are those that the object names, again and again."""
        found = Claims(KIND)
        for obj in [{"apiVersion": "v1", "spec": spec, **rest} for spec in SPECS for rest in REST] * 2:
            self.assertEqual(found.of(obj), claimed(KIND, obj))

    @examples(60)
    @given(some.lists(METADATA | some.sampled_from([None, "odd", []]), min_size=1, max_size=6))
    def test_any_metadata(self, drawn: list[Any]) -> None:
        """The fields of metadata are claimed as if nothing were known."""
        found = Claims(KIND)
        for meta in [*drawn, *drawn, *drawn]:
            obj = {"apiVersion": "v1", "metadata": meta}
            self.assertEqual(found.of(obj), claimed(KIND, obj) if fits(KIND, obj) else None)

    def test_misfits(self) -> None:
        """An object that does not fit its type claims no fields, each time it is asked about."""
        found = Claims(KIND)
        for obj in ({"spec": {"args": "no list"}}, {"spec": {"args": []}, "data": {"a": 1}}, {"odd": 1}) * 2:
            self.assertIsNone(found.of(obj))
