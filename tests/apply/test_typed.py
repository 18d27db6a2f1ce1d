"""Tests of `orchtw.apply.typed` and `type_check`."""
# covers: orchtw.apply.type_check

from __future__ import annotations

from typing import Any

from twisted.trial.unittest import SynchronousTestCase

from orchtw.apply.field_set import FieldSet
from orchtw.apply.path_element import Key, keys_text
from orchtw.apply.type_check import MAX_PROBLEMS, fits, problems
from orchtw.apply.typed import claimed, compare, extract, merge, present, remove
from orchtw.naming.naming import Naming
from orchtw.schema.nodes import NodeForm
from tests.apply.merging import TYPE, type_of_schema
from tests.apply.openapi_types import node_of


def claims(obj: dict[str, Any]) -> FieldSet:
    return FieldSet(claimed(TYPE, obj))


def changes(left: dict[str, Any], right: dict[str, Any]) -> list[list[str]]:
    found = compare(TYPE, left, right)
    return [list(FieldSet(tree).texts()) for tree in (found.added, found.modified, found.removed)]


class FieldsTests(SynchronousTestCase):
    def test_default_keys_are_in_the_step_only(self) -> None:
        """A key field left out is in the item's step by its default, and is not a field of the applier
        (reference APPLY-5).
        """
        key = Key.of(port=1, protocol="TCP")
        self.assertEqual(claims({"items": [{"port": 1}]}), FieldSet.of(("items", key), ("items", key, "port")))

    def test_empty_and_null(self) -> None:
        """An empty or null map is a field of its applier; an empty granular list is not."""
        self.assertEqual(claims({"box": {}, "items": [], "tags": None}), FieldSet.named("box", "tags"))

    def test_new_containers_count(self) -> None:
        """The fields of an update include the containers that it adds (reference APPLY-4)."""
        tree = present(TYPE, {"box": {"counts": {"a": 1}}})
        self.assertEqual(FieldSet({"f:box": tree["f:box"]}), FieldSet.named("box", "box.counts", "box.counts.a"))

    def test_fields_of_structs_with_equal_keys(self) -> None:
        """Structs of the same keys differ below their containers; undeclared keys count (reference APPLY-4)."""
        full = present(TYPE, {"size": 1, "box": {"counts": {"a": 1}}})
        self.assertEqual(list(full), [".", "f:box", "f:size"])
        self.assertEqual(present(TYPE, {"size": 2, "box": {}}), {".": {}, "f:box": {}, "f:size": {}})
        self.assertEqual(present(TYPE, {"size": 1, "box": {"counts": {"a": 1}}}), full)
        self.assertEqual(list(present(TYPE, {"size": 1, "Other": 1})), [".", "f:Other", "f:size"])

    def test_keys_of_other_types(self) -> None:
        """A number, its text, and a boolean that equals it are keys of different items (reference APPLY-2)."""
        keys = [keys_text(("a", "b"), [value, "x"]) for value in (1, "1", True, 1.5)]
        texts = ("1", '"1"', "true", "1.5")
        self.assertEqual(keys, [f'k:{{"a":{text},"b":"x"}}' for text in texts])


class CompareTests(SynchronousTestCase):
    def test_added_modified_removed(self) -> None:
        """Every kind of container is compared part by part, atomic ones as a whole."""
        left = {
            "size": 1,
            "box": {"width": 1},
            "items": [{"port": 1, "note": "a"}],
            "args": ["x"],
            "tags": ["a", "b"],
        }
        right = {
            "size": 1,
            "box": {"counts": {"a": 1}},
            "items": [{"port": 1, "note": "b"}],
            "args": ["y"],
            "tags": ["b"],
        }
        self.assertEqual(
            changes(left, right),
            [
                [".box.counts", ".box.counts.a"],
                [".args", '.items[port=1,protocol="TCP"].note'],
                [".box.width", '.tags[="a"]'],
            ],
        )

    def test_order_of_items_is_no_change(self) -> None:
        """Sets and keyed lists are the same in another order."""
        self.assertEqual(
            changes(
                {"tags": ["a", "b"], "items": [{"port": 1}, {"port": 2}]},
                {"tags": ["b", "a"], "items": [{"port": 2}, {"port": 1}]},
            ),
            [[], [], []],
        )

    def test_untyped_values_of_other_sorts(self) -> None:
        """Without schema true is not 1, and an object that becomes a number loses its parts."""
        self.assertEqual(changes({"free": {"a": True}}, {"free": {"a": 1}}), [[], [".free.a"], []])
        self.assertEqual(changes({"free": {"a": {"b": 1}}}, {"free": {"a": 1}}), [[], [".free.a"], [".free.a.b"]])

    def test_duplicate_items_do_not_fail(self) -> None:
        """A live list whose keys are not unique is compared by the last of equals, not refused."""
        self.assertEqual(changes({"items": [{"port": 1}, {"port": 1}]}, {"items": [{"port": 1}]}), [[], [], []])


class MisfitTests(SynchronousTestCase):
    """Stored values from before their schema changed (reference CRD-63)."""

    MISFITS: Any = {"box": "full", "items": {"port": 1}, "tags": "a"}

    def test_fields(self) -> None:
        """A value that is not of its type is one field."""
        for key, value in self.MISFITS.items():
            self.assertEqual(claims({key: value}), FieldSet.named(key))
            self.assertEqual(present(TYPE, {key: value}), {".": {}, f"f:{key}": {}})

    def test_compared(self) -> None:
        """Parts of a value that fits only before or after a change count as added or removed, beside the change."""
        fine = {"box": {"width": 1}, "items": [{"port": 1}], "tags": ["b"]}
        for key, value in fine.items():
            wrong = {key: self.MISFITS[key]}
            added, modified, removed = changes(wrong, {key: value})
            self.assertEqual((modified, removed), ([f".{key}"], []))
            self.assertTrue(added and all(path.startswith(f".{key}") for path in added))
            self.assertEqual(changes({key: value}, wrong), [[], [f".{key}"], added])

    def test_merged(self) -> None:
        """It is replaced as a whole, and nothing can be taken out of it."""
        fine = {"box": {"width": 1}, "items": [{"port": 1}], "tags": ["b"]}
        for key, value in fine.items():
            wrong = {key: self.MISFITS[key]}
            self.assertEqual(merge(TYPE, wrong, {key: value}), {key: value})
            self.assertEqual(merge(TYPE, {key: value}, wrong), wrong)
            self.assertEqual(remove(TYPE, wrong, {f"f:{key}": {"f:x": {}}}), wrong)
            self.assertEqual(extract(TYPE, wrong, {f"f:{key}": {"f:x": {}}}), wrong)


class MergeTests(SynchronousTestCase):
    def test_shares_what_does_not_change(self) -> None:
        """The result is the live value itself where nothing changes."""
        live = {"size": 1, "box": {"width": 1}, "items": [{"port": 1}]}
        merged = merge(TYPE, live, {"size": 2, "items": [{"port": 1}]})
        self.assertEqual(merged, {**live, "size": 2})
        self.assertIs(merged["items"], live["items"])
        self.assertIs(merge(TYPE, live, {"items": [{"port": 1}]}), live)

    def test_empty_removes_nothing(self) -> None:
        """An empty or null container leaves the live one; a null scalar replaces."""
        live = {"size": 1, "box": {"width": 1}, "items": [{"port": 1}], "args": ["x"], "free": {"a": {"b": 1}}}
        applied: dict[str, Any] = {"size": None, "box": {}, "items": None, "args": [], "free": {"a": None}}
        self.assertEqual(merge(TYPE, live, applied), {**live, "size": None, "args": []})

    def test_new_items_follow_the_live_ones(self) -> None:
        """The live order comes first, then new items in the applied order."""
        merged = merge(TYPE, {"tags": ["c", "a"]}, {"tags": ["b", "a", "d"]})
        self.assertEqual(merged["tags"], ["c", "a", "b", "d"])


class PartTests(SynchronousTestCase):
    OBJ = {
        "size": 1,
        "items": [{"port": 1, "note": "a"}, {"port": 2}],
        "args": ["x"],
        "free": {"a": {"b": 1, "c": 2}},
    }

    def test_remove(self) -> None:
        """Paths go with all below them; what becomes empty goes too; arguments stay as they are."""
        paths = FieldSet.of(
            ("size",), ("items", Key.of(port=2, protocol="TCP")), ("free", "a", "b"), ("free", "a", "c")
        )
        self.assertEqual(remove(TYPE, self.OBJ, paths.tree), {"items": [{"port": 1, "note": "a"}], "args": ["x"]})
        self.assertEqual(len(self.OBJ), 4)

    def test_extract(self) -> None:
        """Only the named parts, items with their keys."""
        paths = FieldSet.of(("args",), ("items", Key.of(port=1, protocol="TCP"), "note"), ("free", "a", "c"))
        self.assertEqual(
            extract(TYPE, self.OBJ, paths.tree),
            {"items": [{"port": 1, "note": "a"}], "args": ["x"], "free": {"a": {"c": 2}}},
        )

    def test_extract_of_all_that_is_claimed_is_all(self) -> None:
        """The fields of an object name all of it."""
        self.assertEqual(extract(TYPE, self.OBJ, claimed(TYPE, self.OBJ)), self.OBJ)


class CheckTests(SynchronousTestCase):
    def _told(self, obj: Any) -> list[str]:
        told = problems(TYPE, obj)
        self.assertEqual(fits(TYPE, obj), not told)
        return told

    def test_texts(self) -> None:
        """Places and reasons are the reference's (reference APPLY-24)."""
        for obj, text in (
            ({"foo": 1}, ".foo: field not declared in schema"),
            ({"size": "x"}, ".size: expected numeric (int or float), got string"),
            ({"size": True}, ".size: expected numeric (int or float), got boolean"),
            ({"box": []}, ".box: expected map, got list"),
            ({"args": {}}, ".args: expected list, got map"),
            ({"args": [1]}, ".args[0]: expected string, got numeric"),
            (
                {"items": [{"port": 80}, {"port": 80, "protocol": "TCP"}]},
                '.items: duplicate entries for key [port=80,protocol="TCP"]',
            ),
            (
                {"items": [{"note": "a"}]},
                '.items: element 0: associative list with keys has an element that omits key field "port" '
                "(and doesn't have default value)",
            ),
            (
                {"tags": [None]},
                ".tags: element 0: associative list without keys has an element that's an explicit null",
            ),
            ({"tags": [{}]}, ".tags: element 0: associative list without keys has an element that's a map type"),
            ({"items": [None]}, ".items: element 0: associative list with keys may not have a null element"),
            ({"ref": {"x": 1}}, ".ref.x: field not declared in schema"),
            ([], "expected map, got list"),
        ):
            with self.subTest(text):
                self.assertEqual(self._told(obj), [text])

    def test_untyped_and_null_fit(self) -> None:
        """Anything goes below what keeps unknown fields, and null everywhere but among keyed items."""
        self.assertEqual(self._told({"free": {"a": [1, {"b": None}]}, "size": None, "items": None}), [])

    def test_problems_are_bounded(self) -> None:
        """An object with very many problems is answered with some."""
        self.assertEqual(len(problems(TYPE, {f"x{n}": 1 for n in range(1000)})), MAX_PROBLEMS)


class OpenAPITests(SynchronousTestCase):
    def test_markers_in_the_served_vocabulary(self) -> None:
        """Extensions are read under the vocabulary's prefix, and int-or-string is a scalar."""
        naming = Naming.kubernetes()
        self.assertIs(node_of({"x-kubernetes-int-or-string": True}, naming), NodeForm.INT_OR_STRING)
        self.assertIs(node_of({}, naming), NodeForm.ANY)

    def test_preserving_reaches_down(self) -> None:
        """Below a schema that keeps unknown fields, typed objects keep theirs too."""
        box = {"type": "object", "properties": {"a": {"type": "integer"}}}
        kind = type_of_schema({"type": "object", "x-orch-preserve-unknown-fields": True, "properties": {"box": box}})
        self.assertEqual(problems(kind, {"box": {"a": 1, "b": 2}}), [])
