"""Field manager: updates of metadata.managedFields for the write path (reference APPLY-1, APPLY-18)."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import msgspec

from orchtw.apply.conflict import conflict_error
from orchtw.apply.field_set import NOTHING, FieldSet
from orchtw.apply.field_tree import Tree
from orchtw.apply.known_parts import Additions, Claims
from orchtw.apply.last_applied import MIGRATING_MANAGER, annotation_names, refreshed, still_disputed
from orchtw.apply.managed_fields import (
    Entry,
    FieldOwner,
    Managed,
    ManagedFieldsError,
    capped,
    decode,
    encode,
    entry_of,
    is_reset,
)
from orchtw.apply.merge_type import MapType
from orchtw.apply.repeated_applies import Key, RepeatedApplies
from orchtw.apply.server_side_apply import ApplyConflicts, Merger, Versions
from orchtw.apply.type_check import problems
from orchtw.apply.typed import same
from orchtw.errors import BadRequest
from orchtw.naming.naming import Naming
from orchtw.wire.objects import Object

BEFORE_FIRST_APPLY = "before-first-apply"
"""Manager of the fields that an object had before its first apply."""

_TOO_DEEP = "nested too deeply"


class Applied(msgspec.Struct, frozen=True):
    """Outcome of an apply. If not `changed`, `obj` is the live object itself and need not be stored.

    A changed object has a resourceVersion only if the applied one had, as precondition.
    """

    obj: Object
    changed: bool


class FieldManager:
    """Field manager of one kind at one endpoint (resource or subresource), in the endpoint's version.

    `finish` normalises and defaults a merged object; parts that it shares with its second argument, the live object,
    need neither. `empty` is the normalised object without fields, to which new objects are compared. `reset_fields`
    are the fields that the endpoint ignores, by apiVersion. `repeated` remembers applies that change nothing; without
    it each is merged.
    """

    def __init__(
        self,
        versions: Versions,
        api_version: str,
        kind: str,
        naming: Naming,
        *,
        empty: Object,
        finish: Callable[[Object, Object], Object],
        subresource: str = "",
        reset_fields: Mapping[str, FieldSet] | None = None,
        repeated: RepeatedApplies | None = None,
    ) -> None:
        found = versions.type_of(api_version)
        if found is None:
            raise LookupError(f"{api_version} is not served")
        self._type: MapType = found
        self._versions = versions
        self._api_version = api_version
        self._kind = kind
        self._empty = _bare(empty)
        self._finish = finish
        self._subresource = subresource
        self._repeated = repeated
        self._merger = Merger(versions, reset_fields)
        self._additions = Additions(found, self._empty, (reset_fields or {}).get(api_version, NOTHING).tree)
        self._claims = Claims(found)
        self._annotations = annotation_names(naming)

    def on_update(self, live: Object | None, new: Object, manager: str, now: str) -> list[Entry]:
        """Return the managedFields of `new`, which replaces `live` (None: is created). Modifies neither.

        If ownership does not change, it is the list of `live` itself; empty: ownership is not recorded. `now` is RFC
        3339 text in UTC with seconds.
        """
        entries, managed, reset = self._known(live, new)
        if not managed and live is not None and not reset:
            return []  # ownership of an existing object is not recorded before its first apply
        owner = FieldOwner.updater(manager, self._api_version, self._subresource)
        if live is None and not managed:
            fields = self._additions.of(_bare(new))
            return [entry_of(owner, self._api_version, now, fields)] if fields else []
        before = self._empty if live is None else _bare(live)
        after = self._merger.update(before, _bare(new), self._api_version, managed, owner, now)
        if after is managed and len(entries) == len(managed) and live is not None:
            return entries
        return encode(capped(after))

    def on_apply(
        self, live: Object | None, applied: Object, manager: str, now: str, *, force: bool = False
    ) -> Applied:
        """Merge `applied` into `live` (None: create it), finish it and set its managedFields. Modifies neither.

        Raises BadRequest (400: wrong kind or version, has managedFields, does not match the schema) and, unless
        `force`d, Conflict (409, a cause per field of other owners that would change).
        """
        repeated, key = self._repeated, None
        if live is not None and repeated is not None:
            key = repeated.key(live, applied, manager, force=force)
            changes = None if key is None else repeated.changes(key)
            if changes is not None:
                return self._known_outcome(live, changes, manager, now) if changes else Applied(live, False)
        version, claims = self._check(applied)
        try:
            outcome = self._applied(live, applied, claims, version, manager, now, force, key)
        except RecursionError:
            raise BadRequest(f"failed to create typed patch object: {_TOO_DEEP}") from None
        if key is not None and repeated is not None and not outcome.changed:
            repeated.add(key)
        return outcome

    def _known_outcome(self, live: Object, changes: Object, manager: str, now: str) -> Applied:
        """Return the outcome of an apply that changes parts of `live`, but not their owners."""
        owner, known = FieldOwner.applier(manager, self._subresource), self._decoded(_entries(live))
        entries = encode({**known, owner: known[owner].at(now)})
        return Applied(_with({**_bare(live), **changes}, entries, ""), True)

    def _applied(
        self,
        live: Object | None,
        applied: Object,
        claims: Tree,
        version: str,
        manager: str,
        now: str,
        force: bool,
        key: Key | None,
    ) -> Applied:
        owner = FieldOwner.applier(manager, self._subresource)
        bare = self._empty if live is None else _bare(live)
        entries = [] if live is None else _entries(live)
        known = managed = self._decoded(entries)
        if not managed and live is not None:
            first = FieldOwner.updater(BEFORE_FIRST_APPLY, self._api_version, self._subresource)
            managed = self._merger.update(self._empty, bare, self._api_version, managed, first, now)
        merged, after = self._merged(bare, _without_version(applied), claims, managed, owner, force)
        if live is not None:
            if merged is not bare:
                merged = self._finish(merged, bare)
                if same(self._type, _bare(merged), bare):
                    merged = bare
            if merged is bare and after is known and len(known) == len(entries):
                return Applied(live, False) if version in ("", _version(live)) else self._stale(live, version)
            if self._repeated is not None and key is not None and not version and owner in known:
                if after is known and len(known) == len(entries):
                    self._repeated.add_changed(key, bare, merged)
        else:
            merged = self._finish(merged, {})
        if owner in after:
            after = {**after, owner: after[owner].at(now)}
        return Applied(_with(merged, encode(after), version), True)

    def _merged(
        self, live: Object, applied: Object, claims: Tree, managed: Managed, owner: FieldOwner, force: bool
    ) -> tuple[Object, Managed]:
        migrates = owner.manager == MIGRATING_MANAGER
        version = self._api_version
        try:
            merged, after = self._merger.apply(live, applied, version, managed, owner, force=force, claims=claims)
        except ApplyConflicts as error:
            conflicts = error.conflicts
            if migrates:
                conflicts = still_disputed(conflicts, live, self._type, version, self._annotations)
            if conflicts:
                raise conflict_error(conflicts) from None
            merged, after = self._merger.apply(live, applied, version, managed, owner, force=True, claims=claims)
        return refreshed(merged, applied, self._annotations) if migrates else merged, after

    def _check(self, applied: Object) -> tuple[str, Tree]:
        """Return the applied object's resourceVersion, or "", and its claimed fields. Raises BadRequest (400)."""
        found = applied.get("apiVersion") or ""
        if found != self._api_version:
            raise BadRequest(
                "Incorrect version specified in apply patch. "
                f"Specified patch version: {found}, expected: {self._api_version}"
            )
        if applied.get("kind") != self._kind:
            found = applied.get("kind") or ""
            raise BadRequest(f"the kind in the apply patch ({found}) is not the expected kind ({self._kind})")
        meta = applied.get("metadata")
        named = meta if type(meta) is dict else {}
        if named.get("managedFields") is not None:
            raise BadRequest("metadata.managedFields must be nil")
        try:
            claims = self._claims.of(applied)
            wrong = problems(self._type, applied) if claims is None else []
        except RecursionError:
            claims, wrong = None, [_TOO_DEEP]
        if claims is None:
            text = wrong[0] if len(wrong) == 1 else "\n  ".join(("errors:", *wrong))
            raise BadRequest(f"failed to create typed patch object ({self._named(named)}): {text}")
        return named.get("resourceVersion") or "", claims

    def _named(self, meta: Object) -> str:
        group, _, version = self._api_version.rpartition("/")
        return f"{meta.get('namespace') or ''}/{meta.get('name') or ''}; {group}/{version}, Kind={self._kind}"

    def _known(self, live: Object | None, new: Object) -> tuple[list[Entry], Managed, bool]:
        """Return the entries that a write starts from, their owners, and whether the write resets them.

        They are those of the written object if valid and different from the live ones, else the live ones. Those in
        writes to subresources are ignored.
        """
        old = [] if live is None else _entries(live)
        if not self._subresource:
            brought = new["metadata"].get("managedFields")
            if is_reset(brought):
                return [], {}, True
            if brought and brought != old:
                managed = self._decoded(brought)
                if managed:
                    return brought, managed, False
        return old, self._decoded(old), False

    def _decoded(self, entries: list[Entry]) -> Managed:
        try:
            return decode(entries, self._versions.type_of)
        except ManagedFieldsError:
            return {}

    def _stale(self, live: Object, version: str) -> Applied:
        """Return a no-op apply with a stale resourceVersion, for the write path to reject."""
        return Applied(_with(live, _entries(live), version), True)


def _entries(obj: Object) -> list[Entry]:
    return obj["metadata"].get("managedFields") or []


def _version(obj: Object) -> str:
    return obj["metadata"].get("resourceVersion") or ""


def _bare(obj: Object) -> Object:
    """Return `obj` without managedFields and resourceVersion, sharing the rest."""
    meta = dict(obj["metadata"])
    meta.pop("managedFields", None)
    meta.pop("resourceVersion", None)
    return {**obj, "metadata": meta}


def _without_version(applied: Object) -> Object:
    meta = applied.get("metadata")
    if not meta or ("resourceVersion" not in meta and "managedFields" not in meta):
        return applied
    return _bare(applied)


def _with(obj: Object, entries: list[Entry], version: str) -> Object:
    meta = dict(obj["metadata"])
    meta.pop("resourceVersion", None)
    if version:
        meta["resourceVersion"] = version
    meta.pop("managedFields", None)
    if entries:
        meta["managedFields"] = entries
    return {**obj, "metadata": meta}
