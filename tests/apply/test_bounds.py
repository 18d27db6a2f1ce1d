"""No patch and no apply costs more than in proportion to the patch and the object."""
# covers: orchtw.apply.field_tree

from __future__ import annotations

import json
from typing import Any

import orjson
from hypothesis import given
from hypothesis import strategies as st
from twisted.trial.unittest import SynchronousTestCase

from orchtw.apply import field_tree, json_patch, server_side_apply, strategic_merge_patch
from orchtw.apply.conflict import conflict_error
from orchtw.apply.field_set import FieldSet
from orchtw.apply.field_tree import Tree, decode, union, union_of
from orchtw.apply.json_patch import CannotApply, _equal
from orchtw.apply.managed_fields import (
    ANCIENT_CHANGES,
    MAX_UPDATE_MANAGERS,
    FieldOwner,
    Managed,
    Owned,
    capped,
)
from orchtw.apply.merge_type import Types
from orchtw.apply.server_side_apply import FieldConflict, Merger, OneVersion
from orchtw.apply.shown import go_plain
from orchtw.apply.type_check import MAX_PROBLEMS, problems
from orchtw.errors import MAX_CAUSES, BadRequest
from orchtw.naming.naming import Naming
from orchtw.schema.catalogue import Catalogue
from orchtw.schema.codec.codecs import Codecs
from orchtw.wire.objects import Object
from tests.apply.merging import QUICK
from tests.effort import MOST, CountedText, calls, growth

PODS = Codecs(Catalogue.load(Naming.orch())).kind("v1", "Pod")
_PATHS = st.lists(st.sampled_from("abc"), min_size=1, max_size=3).map(tuple)
_SETS = st.lists(_PATHS).map(lambda paths: FieldSet.of(*paths))
_JSON = st.recursive(
    st.none() | st.booleans() | st.sampled_from([0, 1, 1.0, "", "a"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from("ab"), inner),
    max_leaves=8,
)
_VERSIONS = st.sampled_from(["v1", "v2"])
_MANAGERS = st.sampled_from([ANCIENT_CHANGES, *(f"m{number}" for number in range(20))])
_OWNERS = st.builds(FieldOwner.updater, _MANAGERS, _VERSIONS) | st.builds(FieldOwner.applier, _MANAGERS)
_MANAGED = st.dictionaries(_OWNERS, st.tuples(_SETS, st.sampled_from(["", "1", "2", "3"])), max_size=30)


class JsonPatchTests(SynchronousTestCase):
    def test_moved_elements(self) -> None:
        """Inserts at the start of a long list are refused before they take long; usual ones fit.

        (reference LIMIT-8)
        """
        insert = {"op": "add", "path": "/0", "value": 1}
        self.assertEqual(len(json_patch.json_patch([0] * 10_000, [insert] * 10_000)), 20_000)
        self.patch(json_patch, "MAX_MOVED", 1000)
        self.assertEqual(len(json_patch.json_patch([0] * 100, [insert] * 9)), 109)
        self.assertRaises(CannotApply, json_patch.json_patch, [0] * 100, [insert] * 10)
        self.assertRaises(CannotApply, json_patch.json_patch, [0] * 100, [{"op": "remove", "path": "/0"}] * 12)

    @QUICK
    @given(_JSON, _JSON)
    def test_equality(self, left: Any, right: Any) -> None:
        """1 is 1.0 and not true, at any depth, as a comparison level by level has it."""
        self.assertEqual(_equal(left, right), equal_by_levels(left, right))
        self.assertTrue(_equal(left, left))

    def test_one_comparison(self) -> None:
        """Nested values are compared once, not again at each level."""
        text = CountedText("x")
        value: Any = text
        other: Any = "x"
        for _ in range(100):
            value, other = [value], [other]
        self.assertTrue(_equal(value, other))
        self.assertEqual(text.comparisons, 1)


def equal_by_levels(left: Any, right: Any) -> bool:
    """Compare two JSON values recursively, level by level: the reference implementation."""
    if left != right:
        return False
    if type(left) is dict:
        return all(equal_by_levels(value, right[key]) for key, value in left.items())
    if type(left) is list:
        return all(map(equal_by_levels, left, right))
    return (type(left) is bool) is (type(right) is bool)


class StrategicTests(SynchronousTestCase):
    def test_the_same_element_again(self) -> None:
        """A patch that names one element thousands of times does not copy it each time without end."""
        live = {"spec": {"containers": [{"name": "a", "env": [{"name": f"e{number}"} for number in range(1000)]}]}}
        change = {"name": "a", "env": [{"name": "e0", "value": "x"}]}
        patch = {"spec": {"containers": [change] * 100}}
        merged = strategic_merge_patch.strategic_merge(live, patch, PODS.schema)
        self.assertEqual(merged["spec"]["containers"][0]["env"][0]["value"], "x")
        self.patch(strategic_merge_patch, "MAX_COPIED", 10_000)
        with self.assertRaises(BadRequest):
            strategic_merge_patch.strategic_merge(live, patch, PODS.schema)

    def test_shown(self) -> None:
        """An error shows the beginning of what it quotes, and looks at no more; short values are shown whole."""
        self.assertEqual(go_plain({"b": [1, True, None], "a": {}, "c": []}), "map[a:map[] b:[1 true <nil>] c:[]]")
        self.assertLess(len(go_plain([["x"] * 10] * 100_000)), 5000)
        self.assertLess(calls(lambda: go_plain([1] * 100_000)), 20_000)


class FieldTreeTests(SynchronousTestCase):
    @QUICK
    @given(st.lists(_SETS))
    def test_union_of_many(self, sets: list[FieldSet]) -> None:
        """In pairs comes to what one after the other does."""
        expected: Tree = {}
        for each in sets:
            expected = union(expected, each.tree)
        self.assertEqual(union_of(each.tree for each in sets), expected)

    def test_effort(self) -> None:
        """Adding paths one at a time does not copy the existing tree for each addition."""
        copied = 0
        joined = field_tree._joined

        def counting(a: Tree, b: Tree) -> Tree:
            nonlocal copied
            copied += len(a) + len(b)
            return joined(a, b)

        self.patch(field_tree, "_joined", counting)
        union_of({f"f:{number}": {}} for number in range(4096))
        self.assertLessEqual(copied, 4096 * 13)

    def test_unusual_spellings(self) -> None:
        """Steps that are spelled in other ways come together, however many (reference LIMIT-8)."""
        spelled: Object = {f'k:{{"name":{" " * (number + 1)}"a"}}': {f"f:{number}": {}} for number in range(300)}
        tree = decode(orjson.loads(orjson.dumps({'k:{"name":"a"}': {"f:x": {}}, **spelled})))
        self.assertEqual(len(tree['k:{"name":"a"}']), 301)
        self.assertLess(growth(lambda size: decode({f'v: {number}': {} for number in range(size)}), 1000), MOST)


class OwnershipTests(SynchronousTestCase):
    @QUICK
    @given(_MANAGED)
    def test_capped(self, given: dict[FieldOwner, tuple[FieldSet, str]]) -> None:
        """Capping too many owners at once equals merging them one after the other."""
        managed = {owner: Owned(fields, owner.api_version or "v1", time) for owner, (fields, time) in given.items()}
        self.assertEqual(plain(capped(managed)), plain(capped_one_by_one(managed)))

    def test_changes_are_put_together_once(self) -> None:
        """Not once for each of the owners that they are held against."""
        joined = 0

        def counting(a: Tree, b: Tree) -> Tree:
            nonlocal joined
            joined += 1
            return union(a, b)

        kind = Types().root(PODS.schema)
        merger = Merger(OneVersion("v1", kind))
        managed = {
            FieldOwner.applier(f"m{number}"): Owned(FieldSet.named(f"metadata.labels.l{number}"), "v1", None)
            for number in range(200)
        }
        live = {"metadata": {"labels": {f"l{number}": "a" for number in range(200)}}}
        applied = {"metadata": {"labels": {f"l{number}": "b" for number in range(200)}}}
        self.patch(field_tree, "union", counting)
        with self.assertRaises(server_side_apply.ApplyConflicts) as caught:
            merger.apply(live, applied, "v1", managed, FieldOwner.applier("me"), force=False)
        self.assertEqual(len(caught.exception.conflicts), 200)
        self.assertLess(joined, 10)

    def test_conflicts(self) -> None:
        """Thousands of them are counted, and some are told; a long path is told in part."""
        fields = FieldSet.of(*(("k" * 100_000, f"f{number}") for number in range(1000)))
        owner = FieldOwner.applier("m" * 10_000)
        error = conflict_error([FieldConflict(owner, Owned(fields, "v1", None), fields)])
        assert error.details is not None
        self.assertIn("Apply failed with 1000 conflicts", error.message)
        self.assertLessEqual(len(error.details["causes"]), MAX_CAUSES + 1)
        self.assertLess(len(json.dumps(error.to_status())), 1 << 20)

    def test_problems(self) -> None:
        """Places are put together for the problems that are told."""
        kind = Types().root(PODS.schema)
        value = {"metadata": {"labels": {"k" * 100_000: 1}}, "spec": {f"x{number}": 1 for number in range(5000)}}
        found = problems(kind, value)
        self.assertEqual(len(found), MAX_PROBLEMS)
        self.assertTrue(all(len(each) < 1000 for each in found))
        self.assertEqual(found[-1], ".spec.x18: field not declared in schema")


def plain(managed: Managed) -> dict[FieldOwner, Any]:
    return {owner: (owned.fields.tree, owned.api_version, owned.time) for owner, owned in managed.items()}


def capped_one_by_one(managed: Managed) -> Managed:
    """The plain rule: the oldest of a version goes into its bucket, until few enough are left."""
    updaters = [owner for owner in managed if owner.operation == "Update"]
    excess = len(updaters) - MAX_UPDATE_MANAGERS
    out, first_of = dict(managed), dict[str, FieldOwner]()
    for owner in sorted(updaters, key=lambda owner: (managed[owner].time or "", owner)):
        if excess <= 0:
            break
        owned = managed[owner]
        first = first_of.setdefault(owned.api_version, owner)
        if first is owner:
            continue
        bucket = FieldOwner.updater(ANCIENT_CHANGES, owned.api_version)
        into = out.get(bucket) or out.pop(first)
        if owner != bucket:
            del out[owner]
        out[bucket] = Owned(into.fields.union(owned.fields), owned.api_version, owned.time)
        excess -= 1
    return out
