"""Tests of `orchtw.apply.server_side_apply`: the rows of reference APPLY-20, and laws that hold for all objects."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st
from twisted.trial.unittest import SynchronousTestCase

from orchtw.apply import field_tree
from orchtw.apply.field_set import FieldSet
from orchtw.apply.managed_fields import FieldOwner, Managed, encode
from orchtw.apply.server_side_apply import ApplyConflicts, Merger, OneVersion
from orchtw.apply.typed import claimed, present, reconcile
from orchtw.wire.objects import Object
from tests.apply.merging import OBJECTS, PARTS, QUICK, TYPE, type_of_schema

MERGER = Merger(OneVersion("v1", TYPE))


def apply(live: Object, managed: Managed, who: str, obj: Object, *, force: bool = False) -> tuple[Object, Managed]:
    return MERGER.apply(live, obj, "v1", managed, FieldOwner.applier(who), force=force)


def update(live: Object, managed: Managed, who: str, obj: Object) -> tuple[Object, Managed]:
    return obj, MERGER.update(live, obj, "v1", managed, FieldOwner.updater(who, "v1"), None)


def fields_of(managed: Managed, who: str) -> FieldSet | None:
    return next((owned.fields for owner, owned in managed.items() if owner.manager == who), None)


class OwnershipTests(SynchronousTestCase):
    """Each test is a row of the table in reference APPLY-20."""

    def test_other_value_without_force_is_a_conflict(self) -> None:
        """A different value is refused, and nothing given is changed."""
        live, managed = apply({}, {}, "a", {"size": 1})
        error = self.assertRaises(ApplyConflicts, apply, live, managed, "b", {"size": 2})
        self.assertEqual([list(conflict.fields.texts()) for conflict in error.conflicts], [[".size"]])
        self.assertEqual(live, {"size": 1})

    def test_force_takes_the_field_from_all(self) -> None:
        """A forced value belongs to its applier alone; entries without fields are gone."""
        live, managed = apply({}, {}, "a", {"size": 1})
        live, managed = apply(live, managed, "c", {"size": 1, "args": ["x"]})
        live, managed = apply(live, managed, "b", {"size": 2}, force=True)
        self.assertEqual(live, {"size": 2, "args": ["x"]})
        self.assertIsNone(fields_of(managed, "a"))
        self.assertEqual(fields_of(managed, "b"), FieldSet.named("size"))
        self.assertEqual(fields_of(managed, "c"), FieldSet.named("args"))

    def test_equal_value_is_shared(self) -> None:
        """An applier of the live value becomes a co-owner; a change by any owner is then a conflict."""
        live, managed = apply({}, {}, "a", {"size": 1})
        live, managed = apply(live, managed, "b", {"size": 1})
        self.assertEqual(fields_of(managed, "a"), fields_of(managed, "b"))
        self.assertRaises(ApplyConflicts, apply, live, managed, "a", {"size": 2})

    def test_left_out_but_owned_by_another_stays(self) -> None:
        """Letting go of a shared field only ends the ownership, of appliers and updaters alike."""
        live, managed = update({}, {}, "u", {"size": 1})
        live, managed = apply(live, managed, "b", {"size": 1, "args": ["x"]})
        live, managed = apply(live, managed, "b", {"args": ["x"]})
        self.assertEqual(live, {"size": 1, "args": ["x"]})
        self.assertEqual(fields_of(managed, "b"), FieldSet.named("args"))

    def test_left_out_by_the_only_owner_is_removed(self) -> None:
        """A field owned by no other manager is removed, so that its default may return; so are list and map items."""
        whole = {
            "size": 1,
            "tags": ["a", "b"],
            "box": {"counts": {"a": 1, "b": 2}},
            "items": [{"port": 1}, {"port": 2}],
        }
        part = {"tags": ["a"], "box": {"counts": {"a": 1}}, "items": [{"port": 2}]}
        live, managed = apply({}, {}, "b", whole)
        self.assertEqual(apply(live, managed, "b", part)[0], part)

    def test_update_takes_what_it_changes(self) -> None:
        """An update never conflicts; the changed field is the updater's alone."""
        live, managed = apply({}, {}, "a", {"size": 1, "args": ["x"]})
        live, managed = update(live, managed, "u", {"size": 2, "args": ["x"]})
        self.assertEqual(fields_of(managed, "a"), FieldSet.named("args"))
        self.assertEqual(fields_of(managed, "u"), FieldSet.named("size"))

    def test_update_that_removes_takes_ownership_away(self) -> None:
        """A field that an update removed has no owner, and an owner without fields has no entry."""
        live, managed = apply({}, {}, "a", {"size": 1})
        self.assertEqual(update(live, managed, "u", {})[1], {})

    def test_item_goes_although_an_updater_owns_a_part(self) -> None:
        """An item that its applier lets go is removed: a part of it in another's set does not hold it."""
        live, managed = apply({}, {}, "a", {"items": [{"port": 1}]})
        live, managed = update(live, managed, "u", {"items": [{"port": 1, "note": "a"}]})
        live, managed = apply(live, managed, "a", {"size": 1})
        self.assertEqual((live, fields_of(managed, "u")), ({"size": 1}, None))

    def test_struct_stays_with_the_part_that_another_owns(self) -> None:
        """A struct is not removed as long as something in it is owned."""
        live, managed = apply({}, {}, "a", {"box": {"width": 1}})
        live, managed = apply(live, managed, "b", {"box": {"counts": {"a": 1}}})
        self.assertEqual(apply(live, managed, "a", {})[0], {"box": {"counts": {"a": 1}}})

    def test_granular_become_atomic_is_owned_as_a_whole(self) -> None:
        """Owners of a part own the whole, so that another's change conflicts (reference APPLY-28)."""
        parts = FieldSet.named("box.x", "list.y")
        atomic = {"type": "object", "x-orch-map-type": "atomic", "properties": {"x": {"type": "integer"}}}
        kind = type_of_schema({"type": "object", "properties": {"box": atomic, "list": {"type": "array"}}})
        self.assertEqual(FieldSet(reconcile(kind, parts.tree)), FieldSet.named("box", "list"))

    def test_atomic_become_granular_is_owned_at_its_top(self) -> None:
        """The former owner keeps the field but no entries in it (reference APPLY-28)."""
        self.assertEqual(reconcile(TYPE, FieldSet.named("box").tree), FieldSet.named("box").tree)

    def test_noop_gives_back_what_it_was_given(self) -> None:
        """An apply that changes neither object nor sets returns both as they are."""
        live, managed = apply({}, {}, "a", {"size": 1, "items": [{"port": 1}]})
        again, owners = apply(live, managed, "a", {"items": [{"port": 1}], "size": 1})
        self.assertIs(again, live)
        self.assertIs(owners, managed)


class Renamed:
    """Converter between two versions: `size` in v1 is `extent` in v2."""

    def __init__(self) -> None:
        number = {"type": "integer"}
        self.kinds = {
            "v1": type_of_schema({"type": "object", "properties": {"size": number, "n": number}}),
            "v2": type_of_schema({"type": "object", "properties": {"extent": number, "n": number}}),
        }

    def type_of(self, api_version: str) -> Any:
        return self.kinds.get(api_version)

    def convert(self, obj: Object, source: str, wanted: str) -> Object:
        names = {("v1", "v2"): {"size": "extent"}, ("v2", "v1"): {"extent": "size"}}.get((source, wanted), {})
        return {names.get(key, key): value for key, value in obj.items()}


class Shown:
    """Converter between two versions with the same fields, which shows absent `parts` as null."""

    def type_of(self, api_version: str) -> Any:
        parts = {"type": "array", "items": {"type": "string"}, "x-orch-list-type": "atomic"}
        number = {"type": "integer"}
        extra = {"type": "object", "properties": {"n": number}}
        return type_of_schema({"type": "object", "properties": {"parts": parts, "n": number, "extra": extra}})

    def convert(self, obj: Object, source: str, wanted: str) -> Object:
        return {"parts": None, **obj}


class VersionTests(SynchronousTestCase):
    """Owners that used other versions of the object (reference APPLY-15)."""

    def setUp(self) -> None:
        self.merger = Merger(Renamed())
        self.live, self.managed = self.merger.apply(
            {}, {"size": 1, "n": 1}, "v1", {}, FieldOwner.applier("a"), force=False
        )

    def test_conflict_is_told_in_the_owners_version(self) -> None:
        """An apply in v2 that takes a field from an owner of v1 reports the conflict with its v1 path."""
        error = self.assertRaises(
            ApplyConflicts,
            self.merger.apply,
            {"extent": 1, "n": 1},
            {"extent": 2},
            "v2",
            self.managed,
            FieldOwner.applier("b"),
            force=False,
        )
        self.assertEqual([list(conflict.fields.texts()) for conflict in error.conflicts], [[".size"]])

    def test_removal_is_found_in_the_version_applied_before(self) -> None:
        """A field applied in v1 and left out in v2 is removed, under its other name."""
        live, managed = self.merger.apply(
            {"extent": 1, "n": 1}, {"n": 1}, "v2", self.managed, FieldOwner.applier("a"), force=False
        )
        self.assertEqual(live, {"n": 1})
        self.assertEqual([owned.api_version for owned in managed.values()], ["v2"])

    def test_owner_of_another_version_holds_the_field(self) -> None:
        """A field released in v2 stays while another manager owns it in v1."""
        managed = self.merger.apply(
            {"extent": 1, "n": 1}, {"extent": 1}, "v2", self.managed, FieldOwner.applier("b"), force=False
        )[1]
        live = self.merger.apply(
            {"extent": 1, "n": 1}, {"n": 1}, "v2", managed, FieldOwner.applier("b"), force=False
        )[0]
        self.assertEqual(live, {"extent": 1, "n": 1})

    def test_update_in_another_version_takes_the_field(self) -> None:
        """An update through v2 takes the field from its owner of v1."""
        managed = self.merger.update(
            {"extent": 1, "n": 1}, {"extent": 3, "n": 1}, "v2", self.managed, FieldOwner.updater("u", "v2"), None
        )
        self.assertEqual(fields_of(managed, "a"), FieldSet.named("n"))
        self.assertEqual(fields_of(managed, "u"), FieldSet.named("extent"))

    def test_what_a_version_cannot_leave_out(self) -> None:
        """A list that a version shows as null when absent is removed all the same (reference APPLY-22)."""
        merger, owner = Merger(Shown()), FieldOwner.applier("a")
        for wanted, left in ({"n": 1}, {"parts": None, "n": 1}), ({"extra": {"n": 1}}, {"parts": None}):
            live, managed = merger.apply({}, {"parts": ["p"], **wanted}, "v1", {}, owner, force=False)
            live = merger.apply(live, wanted, "v2", managed, owner, force=False)[0]
            self.assertEqual(live, {**wanted, **left})


WRITES = st.lists(
    st.tuples(st.sampled_from(["a", "b", "c"]), st.sampled_from(["apply", "update"]), OBJECTS), max_size=5
)


class PropertyTests(SynchronousTestCase):
    @QUICK
    @given(OBJECTS, OBJECTS, st.sets(st.sampled_from(sorted(PARTS))))
    def test_disjoint_applies_commute(self, left: Object, right: Object, first: set[str]) -> None:
        """Two managers who apply different fields get the same object and owners in either order (reference
        APPLY-31).
        """
        left = {key: value for key, value in left.items() if key in first}
        right = {key: value for key, value in right.items() if key not in first}
        one = apply(*apply({}, {}, "a", left), "b", right)
        other = apply(*apply({}, {}, "b", right), "a", left)
        self.assertEqual(one[0], other[0])
        self.assertEqual(encode(one[1]), encode(other[1]))

    @QUICK
    @given(WRITES, OBJECTS)
    def test_apply_is_idempotent(self, writes: Any, obj: Object) -> None:
        """After an apply, whatever was before, the same apply is a no-op (reference APPLY-31)."""
        live, managed = apply(*self._written(writes), "a", obj, force=True)
        again, owners = apply(live, managed, "a", obj)
        self.assertIs(again, live)
        self.assertEqual(encode(owners), encode(managed))

    @QUICK
    @given(WRITES)
    def test_sets_cover_exactly_the_fields_present(self, writes: Any) -> None:
        """Every leaf of the object is owned, and whatever is owned is there (reference APPLY-31)."""
        live, managed = self._written(writes)
        owned: field_tree.Tree = {}
        for each in managed.values():
            owned = field_tree.union(owned, each.fields.tree)
        there = {step: tree for step, tree in present(TYPE, live).items() if step != "."} if live else {}
        self.assertFalse(field_tree.difference(owned, there))
        self.assertFalse(field_tree.difference(field_tree.leaves(claimed(TYPE, live)), owned))

    @QUICK
    @given(OBJECTS, OBJECTS)
    def test_applied_values_are_in_the_result(self, before: Object, obj: Object) -> None:
        """After a forced apply every applied field is there with its value: applying it to nothing adds nothing."""
        live, managed = apply(*update({}, {}, "u", before), "a", obj, force=True)
        self.assertEqual(fields_of(managed, "a") or FieldSet(), FieldSet(claimed(TYPE, obj)))
        self.assertFalse(field_tree.difference(claimed(TYPE, obj), claimed(TYPE, live)))

    def _written(self, writes: Any) -> tuple[Object, Managed]:
        live: Object = {}
        managed: Managed = {}
        for who, operation, obj in writes:
            if operation == "apply":
                live, managed = apply(live, managed, who, obj, force=True)
            else:
                live, managed = update(live, managed, who, obj)
        return live, managed
