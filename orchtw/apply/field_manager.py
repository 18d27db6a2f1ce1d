"""Managed fields of one kind at one endpoint, as the write path asks for them (reference APPLY-1, APPLY-18)."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import attrs

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
    Owned,
    capped,
    decode,
    encode,
    is_reset,
)
from orchtw.apply.merge_type import MapType
from orchtw.apply.server_side import ApplyConflicts, Merger, Versions
from orchtw.apply.type_check import problems
from orchtw.apply.typed import same
from orchtw.errors import BadRequest
from orchtw.naming.names import Naming
from orchtw.wire.objects import Object

BEFORE_FIRST_APPLY = "before-first-apply"
"""Who owns what was there before anybody's ownership was recorded."""

_TOO_DEEP = "nested too deeply"


@attrs.frozen(slots=True)
class Applied:
    """The outcome of an apply. `changed` False: the live object itself, nothing is to be stored.

    A changed object carries a resourceVersion only if the applied one named it, as precondition.
    """

    obj: Object
    changed: bool


class FieldManager:
    """Keeps metadata.managedFields of one kind through one endpoint, in the version of that endpoint.

    `finish` makes a merged object canonical and fills its defaults; what it shares with the second one, the live
    object, is so already. `empty` is the canonical object without any field set, which a new object is compared with.
    `reset_fields`: per apiVersion, what the endpoint ignores.
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
        self._merger = Merger(versions, reset_fields)
        self._additions = Additions(found, self._empty, (reset_fields or {}).get(api_version, NOTHING).tree)
        self._claims = Claims(found)
        self._annotations = annotation_names(naming)

    def on_update(self, live: Object | None, new: Object, manager: str, now: str) -> list[Entry]:
        """The entries of `new`, which is to replace `live` (None: to be created); neither is changed.

        `live`'s own list when ownership stays as it is; an empty list: ownership is not recorded.
        `now` is RFC 3339 text in UTC with seconds.
        """
        entries, managed, reset = self._known(live, new)
        if not managed and live is not None and not reset:
            return []  # nothing is recorded of an object before somebody applies to it
        owner = FieldOwner.updater(manager, self._api_version, self._subresource)
        if live is None and not managed:
            gained = self._additions.of(_bare(new))
            return [Owned(FieldSet(gained), self._api_version, now).entry(owner)] if gained else []
        before = self._empty if live is None else _bare(live)
        after = self._merger.update(before, _bare(new), self._api_version, managed, owner, now)
        if after is managed and len(entries) == len(managed) and live is not None:
            return entries
        return encode(capped(after))

    def on_apply(
        self, live: Object | None, applied: Object, manager: str, now: str, *, force: bool = False
    ) -> Applied:
        """`applied` merged into `live` (None: there is none), finished and with its entries; neither is changed.

        Raises BadRequest (400: not of this kind or version, has managedFields, does not fit the schema) and
        Conflict (409, a cause per field that others own and that would change) unless `force`d.
        """
        version, claims = self._check(applied)
        try:
            return self._applied(live, applied, claims, version, manager, now, force)
        except RecursionError:
            raise BadRequest(f"failed to create typed patch object: {_TOO_DEEP}") from None

    def _applied(
        self, live: Object | None, applied: Object, claims: Tree, version: str, manager: str, now: str, force: bool
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
        """Refuse what is no object of this kind and version.

        Returns the resourceVersion that it names, or "", and the fields that it names.
        """
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
        """The entries that a write starts from: its own if it brings some that can be read, else the live ones.

        And their owners, and whether the write asks to forget all. A sub-resource's own entries do not count.
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
        """A no-op apply on another version than it names: the write path refuses it."""
        return Applied(_with(live, _entries(live), version), True)


def _entries(obj: Object) -> list[Entry]:
    return obj["metadata"].get("managedFields") or []


def _version(obj: Object) -> str:
    return obj["metadata"].get("resourceVersion") or ""


def _bare(obj: Object) -> Object:
    """`obj` without its entries and version, sharing the rest."""
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
