"""Server-side apply: the merged object, and the field owners after an update or an apply (reference APPLY-20).

Operates on whole objects without metadata.managedFields; `field_manager.py` adds the rules of the API.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol

import msgspec

from orchtw.apply import field_tree
from orchtw.apply.field_set import NOTHING, FieldSet
from orchtw.apply.field_tree import Tree, is_member
from orchtw.apply.managed_fields import UNTRACKED, FieldOwner, Managed, Owned
from orchtw.apply.merge_type import MapType
from orchtw.apply.typed import Changes, claimed, compare, merge_maps, remove, unowned, with_structs
from orchtw.wire.objects import Object


class Versions(Protocol):
    """Versions of a kind: their types, and conversion between them."""

    def type_of(self, api_version: str) -> MapType | None:
        """Return the type of objects in a version, or None if that is not served."""

    def convert(self, obj: Object, source: str, wanted: str) -> Object:
        """Convert `obj` from version `source` to a served one; returns a new object."""


class FieldConflict(msgspec.Struct, frozen=True):
    """Fields of one owner that an apply would change."""

    owner: FieldOwner
    owned: Owned
    fields: FieldSet


class ApplyConflicts(Exception):
    """Error: an apply without force would change fields of other owners. `conflicts` are sorted by owner."""

    def __init__(self, conflicts: list[FieldConflict]) -> None:
        super().__init__(f"{len(conflicts)} owners in conflict")
        self.conflicts = conflicts


class OneVersion(msgspec.Struct, frozen=True):
    """`Versions` of objects that are served in a single version."""

    api_version: str
    kind: MapType

    def type_of(self, api_version: str) -> MapType | None:
        """Return the type if it is that version, else None."""
        return self.kind if api_version == self.api_version else None

    def convert(self, obj: Object, source: str, wanted: str) -> Object:
        """Return `obj` itself: there is only one version."""
        return obj


class Merger:
    """Merger of objects of one kind at one endpoint, which ignores `reset_fields`, by version."""

    def __init__(self, versions: Versions, reset_fields: Mapping[str, FieldSet] | None = None) -> None:
        self._versions = versions
        self._reset_fields = reset_fields or {}

    def update(
        self, live: Object, new: Object, api_version: str, managed: Managed, owner: FieldOwner, now: str | None
    ) -> Managed:
        """Return the owners after `owner` replaced `live` by `new`: changed fields are then owned by `owner` alone.

        The time of `owner`'s entry is set to `now` if its set changes. Returns `managed` itself if nothing changes.
        """
        views = _Views(self._versions, self._reset_fields, live, new, api_version)
        changes = views.changes(api_version)
        out = self._without_changes(managed, owner, views)
        gained = field_tree.difference(field_tree.union(changes.modified, changes.added), UNTRACKED.tree)
        before = managed.get(owner)
        own = before.fields.tree if before else field_tree.LEAF
        tree = field_tree.union(field_tree.difference(own, changes.removed), gained)
        if tree == own:
            return out
        out = dict(out)
        if tree:
            out[owner] = Owned(FieldSet(tree), api_version, now)
        else:
            out.pop(owner, None)
        return out

    def apply(
        self,
        live: Object,
        applied: Object,
        api_version: str,
        managed: Managed,
        owner: FieldOwner,
        *,
        force: bool,
        claims: Tree | None = None,
    ) -> tuple[Object, Managed]:
        """Return `live` merged with `applied`, and the owners after that; each the given one if it does not change.

        `claims` are the fields of `applied` (see `claimed`), if they are known already. Fields that `owner` applied
        before and no longer does are removed, unless they have another owner. Raises ApplyConflicts unless `force`d;
        with force, other owners lose the changed fields.
        """
        kind = self._kind(api_version)
        merged = merge_maps(kind, live, applied)
        tree = field_tree.difference(claimed(kind, applied) if claims is None else claims, UNTRACKED.tree)
        tree = field_tree.recursive_difference(tree, self._reset_fields.get(api_version, NOTHING).tree)
        last = managed.get(owner)
        with_own = managed
        if last is None:
            if tree:
                with_own = {**managed, owner: Owned(FieldSet(tree), api_version, None)}
        elif last.api_version != api_version or last.fields.tree != tree:
            with_own = {**managed, owner: Owned(FieldSet(tree), api_version, last.time)}
            merged = self._pruned(merged, api_version, with_own, last)
        if merged is not live and compare(kind, live, merged):
            views = _Views(self._versions, self._reset_fields, live, merged, api_version)
            if not force:
                self._refuse(managed, owner, views)
            with_own = self._without_changes(with_own, owner, views)
        else:
            merged = live
        if not tree and owner in with_own:
            with_own = {other: owned for other, owned in with_own.items() if other != owner}
        return merged, with_own

    def _kind(self, api_version: str) -> MapType:
        kind = self._versions.type_of(api_version)
        if kind is None:
            raise LookupError(f"{api_version} is not served")
        return kind

    def _refuse(self, managed: Managed, owner: FieldOwner, views: _Views) -> None:
        conflicts = []
        for other in sorted(managed):
            owned = managed[other]
            if other != owner:
                touched = field_tree.intersection(owned.fields.tree, views.touched(owned.api_version))
                if touched:
                    conflicts.append(FieldConflict(other, owned, FieldSet(touched)))
        if conflicts:
            raise ApplyConflicts(conflicts)

    def _without_changes(self, managed: Managed, owner: FieldOwner, views: _Views) -> Managed:
        """Return `managed` with the changed fields taken from all but `owner`; `managed` itself if none are."""
        out = None
        for other, owned in managed.items():
            if other == owner:
                continue
            changes = views.changes(owned.api_version)
            tree = owned.fields.tree
            for lost in (changes.modified, changes.added, changes.removed):
                tree = field_tree.difference(tree, lost)
            if tree is owned.fields.tree and tree:
                continue
            if out is None:
                out = dict(managed)
            if tree:
                out[other] = owned.replaced(FieldSet(tree))
            else:
                del out[other]
        return managed if out is None else out

    def _pruned(self, merged: Object, api_version: str, managed: Managed, last: Owned) -> Object:
        """Return `merged` without the fields that the applier owned before and that have no owner in any version now.
        """
        sets: dict[str, list[Tree]] = {}
        for owned in managed.values():
            sets.setdefault(owned.api_version, []).append(owned.fields.tree)
        owned_in = {version: field_tree.union_of(trees) for version, trees in sets.items()}
        before = last.api_version
        kind = self._kind(before)
        gone = unowned(kind, last.fields.tree, owned_in.pop(before, {}))
        if not gone:
            return merged
        convert = self._versions.convert
        whole = convert(merged, api_version, before) if before != api_version else merged
        pruned = remove(kind, whole, gone) or {}
        for version, tree in owned_in.items():
            view = self._kind(version)
            kept = _put_back(view, convert(whole, before, version), convert(pruned, before, version), tree)
            pruned = convert(kept, version, before)
        return convert(pruned, before, api_version) if before != api_version else pruned


def _put_back(kind: MapType, whole: Object, pruned: Object, owned: Tree) -> Object:
    """Return `pruned` with the owned fields restored from `whole`."""
    present = with_structs(kind, claimed(kind, whole))
    left = claimed(kind, _without_emptied(whole, pruned))
    kept = field_tree.union(with_structs(kind, left), with_structs(kind, owned))
    return remove(kind, whole, field_tree.difference(present, kept)) or {}


def _without_emptied(whole: Object, pruned: Object) -> Object:
    """Return `pruned` without nulls where `whole` has a value: a conversion sets required fields to null if empty."""
    out: Object = {}
    for key, value in pruned.items():
        before = whole.get(key)
        if value is None and before is not None:
            continue
        if isinstance(value, dict) and isinstance(before, dict):
            value = _without_emptied(before, value)
        out[key] = value
    return out


class _Views:
    """Changes between two objects, computed in each version that owners use."""

    def __init__(
        self, versions: Versions, reset_fields: Mapping[str, FieldSet], live: Object, new: Object, api_version: str
    ) -> None:
        self._versions = versions
        self._reset_fields = reset_fields
        self._live = live
        self._new = new
        self._api_version = api_version
        self._changes: dict[str, Changes] = {}
        self._touched: dict[str, Tree] = {}

    def changes(self, api_version: str) -> Changes:
        """Return the changes in a version, without the endpoint's reset fields."""
        found = self._changes.get(api_version)
        if found is None:
            found = self._changes[api_version] = self._compare(api_version)
        return found

    def touched(self, api_version: str) -> Tree:
        """Return the added and modified fields in a version; computed once for all owners."""
        found = self._touched.get(api_version)
        if found is None:
            changes = self.changes(api_version)
            found = self._touched[api_version] = field_tree.union(changes.modified, changes.added)
        return found

    def _compare(self, api_version: str) -> Changes:
        live, new = self._live, self._new
        if api_version != self._api_version:
            live = self._versions.convert(live, self._api_version, api_version)
            new = self._versions.convert(new, self._api_version, api_version)
        kind = self._versions.type_of(api_version)
        assert kind is not None  # entries of other versions are dropped when they are read
        ignored = self._reset_fields.get(api_version)
        if not ignored:
            return compare(kind, live, new)
        # Fields that are ignored as a whole need no comparison: a write of the status sends the specification too.
        changes = compare(kind, _without(live, ignored.tree), _without(new, ignored.tree))
        if not changes:
            return changes
        return Changes(
            field_tree.recursive_difference(changes.added, ignored.tree),
            field_tree.recursive_difference(changes.modified, ignored.tree),
            field_tree.recursive_difference(changes.removed, ignored.tree),
        )


def _without(obj: Object, ignored: Tree) -> Object:
    """Return `obj` without the top-level fields that are members of `ignored`."""
    whole = {step for step, tree in ignored.items() if is_member(tree)}
    return {key: part for key, part in obj.items() if "f:" + key not in whole}
