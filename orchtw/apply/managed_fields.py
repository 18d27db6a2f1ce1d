"""Encoding and decoding of metadata.managedFields: entries ↔ owners with their field sets (reference APPLY-1)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final, NamedTuple

import orjson

from orchtw.apply.field_set import FieldSet
from orchtw.apply.field_tree import Tree, union_of
from orchtw.apply.field_tree import decode as decode_tree
from orchtw.apply.field_tree import encode as encode_tree
from orchtw.apply.known_sets import known
from orchtw.apply.merge_type import MapType
from orchtw.apply.typed import reconcile
from orchtw.schema.codec.known_fields import KNOWN_FIELDS
from orchtw.wire.json_values import loads

APPLY, UPDATE = "Apply", "Update"
FIELDS_TYPE = "FieldsV1"

MAX_UPDATE_MANAGERS = 10
"""Maximum number of Update entries of an object; older ones are merged, so that their number stays bounded."""

ANCIENT_CHANGES = "ancient-changes"
MANAGER_LIMIT_BYTES = 128
UNKNOWN_MANAGER = "unknown"

_UNTRACKED_METADATA = (
    "name",
    "namespace",
    "creationTimestamp",
    "selfLink",
    "uid",
    "clusterName",
    "generation",
    "managedFields",
    "resourceVersion",
)
UNTRACKED: Final = FieldSet.of(
    ("apiVersion",), ("kind",), ("metadata",), *(("metadata", name) for name in _UNTRACKED_METADATA)
)
"""Fields without owners: those set by the server, and those that identify the object (reference APPLY-3)."""

Entry = dict[str, Any]


class ManagedFieldsError(ValueError):
    """Error: the managedFields are malformed."""


class FieldOwner(NamedTuple):
    """Identity of an entry: manager, operation, version and subresource.

    `api_version` is "" for appliers: an apply in another version replaces the entry, an update adds a second one.
    """

    manager: str
    operation: str
    api_version: str
    subresource: str

    @classmethod
    def applier(cls, manager: str, subresource: str = "") -> FieldOwner:
        """Return the owner for an apply."""
        return cls(manager or UNKNOWN_MANAGER, APPLY, "", subresource)

    @classmethod
    def updater(cls, manager: str, api_version: str, subresource: str = "") -> FieldOwner:
        """Return the owner for any other write."""
        return cls(manager or UNKNOWN_MANAGER, UPDATE, api_version, subresource)


class Owned:
    """Fields of an owner in `api_version`, and the entry's time (RFC 3339 text; None: unset)."""

    __slots__ = ("_entry", "api_version", "fields", "time")

    def __init__(self, fields: FieldSet, api_version: str, time: str | None, entry: Entry | None = None) -> None:
        self.fields = fields
        self.api_version = api_version
        self.time = time
        self._entry = entry

    def replaced(self, fields: FieldSet) -> Owned:
        """Return the same with another field set."""
        return self if fields is self.fields else Owned(fields, self.api_version, self.time)

    def at(self, time: str) -> Owned:
        """Return the same with another time."""
        if time == self.time:
            return self
        entry = None if self._entry is None or not self.time else {**self._entry, "time": time}
        return Owned(self.fields, self.api_version, time, entry)

    def entry(self, owner: FieldOwner) -> Entry:
        """Return the entry in canonical form, or unchanged the one it was decoded from."""
        if self._entry is not None:
            return self._entry
        return entry_of(owner, self.api_version, self.time, _fields_v1(self.fields))


def entry_of(owner: FieldOwner, api_version: str, time: str | None, fields_v1: dict[str, Any]) -> Entry:
    """Return the entry of an owner in canonical form; the steps of `fields_v1` are in order."""
    entry: Entry = {"manager": owner.manager, "operation": owner.operation, "apiVersion": api_version}
    if time:
        entry["time"] = time
    entry["fieldsType"] = FIELDS_TYPE
    entry["fieldsV1"] = fields_v1
    if owner.subresource:
        entry["subresource"] = owner.subresource
    return entry


Managed = dict[FieldOwner, Owned]
TypeOf = Callable[[str], MapType | None]
"""apiVersion → type of the object in that version; None: not served (any more)."""


def decode(entries: Iterable[Entry], type_of: TypeOf) -> Managed:
    """Decode the owners of an object. Entries of versions that are not served are dropped (reference APPLY-15).

    Sets recorded under an older schema are reconciled with the current types. Raises ManagedFieldsError.
    """
    managed: Managed = {}
    for entry in entries:
        operation, api_version = entry.get("operation"), entry.get("apiVersion")
        if operation != APPLY and operation != UPDATE:
            raise ManagedFieldsError(f"operation: must be {APPLY} or {UPDATE}, not {operation!r}")
        if not api_version or type(api_version) is not str:
            raise ManagedFieldsError("apiVersion must not be empty")
        if entry.get("fieldsType") != FIELDS_TYPE:
            raise ManagedFieldsError(f"fieldsType: must be `{FIELDS_TYPE}`")
        kind = type_of(api_version)
        if kind is not None:
            fields = _fields(KNOWN_FIELDS.text_of(entry.get("fieldsV1") or {}), kind)
            owner = FieldOwner(
                entry.get("manager", ""), operation, "" if operation == APPLY else api_version,
                entry.get("subresource", ""),
            )
            managed[owner] = Owned(fields, api_version, entry.get("time"), entry)
    return managed


def _fields(text: bytes, kind: MapType) -> FieldSet:
    return FieldSet(known(("read", kind), text, lambda: _read_fields(text, kind)))


def _read_fields(text: bytes, kind: MapType) -> Tree:
    try:
        return reconcile(kind, decode_tree(loads(text)))
    except ValueError as error:
        raise ManagedFieldsError(f"fieldsV1: {error}") from error


def _fields_v1(fields: FieldSet) -> Entry:
    """Return the FieldsV1 dict of the set. It is shared by objects of the same shape and must not be modified."""
    text = orjson.dumps(fields.tree)
    # -30 % CPU for the managedFields of a new pod (bench create): steps are sorted once per shape.
    return known(("shown",), text, lambda: encode_tree(loads(text)))


def encode(managed: Managed) -> list[Entry]:
    """Return the entries, sorted by operation, time, manager, apiVersion and subresource, without empty sets."""
    owners = sorted(managed, key=lambda owner: _rank(owner, managed[owner]))
    return [managed[owner].entry(owner) for owner in owners if managed[owner].fields]


def _rank(owner: FieldOwner, owned: Owned) -> tuple[str, str, str, str, str]:
    return owner.operation, owned.time or "", owner.manager, owned.api_version, owner.subresource


def capped(managed: Managed) -> Managed:
    """Keep at most MAX_UPDATE_MANAGERS Update entries: the oldest of each version are merged into `ancient-changes`.

    The merged entry has the time of the newest owner that is merged into it.
    """
    updaters = [owner for owner in managed if owner.operation == UPDATE]
    excess = len(updaters) - MAX_UPDATE_MANAGERS
    if excess <= 0:
        return managed
    out, together = dict(managed), dict[str, list[FieldOwner]]()
    for owner in sorted(updaters, key=lambda owner: (managed[owner].time or "", owner)):
        owners = together.setdefault(managed[owner].api_version, [])
        owners.append(owner)
        if len(owners) > 1:
            excess -= 1
        if not excess:
            break
    for version, owners in together.items():
        if len(owners) > 1:
            _throw_together(out, owners, version)
    return out


def _throw_together(managed: Managed, owners: list[FieldOwner], version: str) -> None:
    """Merge the entries of `owners`, oldest first, into that of `ancient-changes` in a version.

    If there is one already, the first owner's entry stays as it is.
    """
    bucket, time = FieldOwner.updater(ANCIENT_CHANGES, version), managed[owners[-1]].time
    start = bucket if bucket in managed else owners[0]
    taken = [managed.pop(start), *(managed.pop(owner) for owner in owners[1:] if owner != start)]
    managed[bucket] = Owned(FieldSet(union_of(owned.fields.tree for owned in taken)), version, time)


def is_reset(entries: Any) -> bool:
    """Report whether a write clears managedFields, by a list with one empty entry (reference APPLY-12)."""
    return type(entries) is list and len(entries) == 1 and not any((entries[0] or {}).values())


def with_old_times(new: list[Entry] | None, old: list[Entry] | None) -> list[Entry] | None:
    """Return `old` if `new` differs from it only in times, else `new`.

    For no-op writes: a new timestamp alone is not stored (reference APPLY-23).
    """
    if new == old or not new or not old or len(new) != len(old):
        return new
    return old if all(map(_same_but_time, new, old)) else new


def _same_but_time(left: Mapping[str, Any], right: Mapping[str, Any]) -> bool:
    return {**left, "time": None} == {**right, "time": None}


def manager_name(asked: str, user_agent: str) -> str:
    """Return the manager of a write: the requested one, else the user agent up to its first "/" (reference APPLY-11).

    Of the user agent only printable characters are used, at most 128 bytes; "unknown" if nothing is left.
    """
    if asked:
        return asked
    name, length = "", 0
    for character in user_agent.partition("/")[0]:
        if not character.isprintable():
            continue
        length += len(character.encode("utf-8", "surrogatepass"))
        if length > MANAGER_LIMIT_BYTES:
            break
        name += character
    return name or UNKNOWN_MANAGER
