"""Last-applied annotation of client-side apply, and its migration to server-side apply (reference APPLY-29)."""

from __future__ import annotations

from collections.abc import Sequence

import orjson

from orchtw.apply import field_tree
from orchtw.apply.field_set import FieldSet
from orchtw.apply.merge_type import MapType
from orchtw.apply.server_side_apply import FieldConflict
from orchtw.apply.type_check import fits
from orchtw.apply.typed import claimed, compare
from orchtw.naming.naming import Naming
from orchtw.wire.json_values import loads
from orchtw.wire.objects import Object

MIGRATING_MANAGER = "kubectl"
"""Only manager whose applies use and update the annotation; any other name opts out."""

MAX_ANNOTATIONS_BYTES = 256 * 1024
"""Size limit of all annotations of an object (reference OBJ-27); beyond it the annotation is dropped."""

_ANNOTATION = "kubectl.orch.io/last-applied-configuration"
_ESCAPES = ((b"<", b"\\u003c"), (b">", b"\\u003e"), (b"&", b"\\u0026"))


def annotation_names(naming: Naming) -> tuple[str, ...]:
    """Return the annotation's names in this vocabulary and in that of unmodified clients (reference CLIENT-4)."""
    return tuple(dict.fromkeys((naming.translate(_ANNOTATION), Naming.kubernetes().translate(_ANNOTATION))))


def still_disputed(
    conflicts: Sequence[FieldConflict], live: Object, kind: MapType, api_version: str, names: Sequence[str]
) -> list[FieldConflict]:
    """Return the conflicts without those about fields of a previous client-side apply.

    These are the fields in the annotation whose value is unchanged in `live`: the applier already owned them.
    """
    applied = _last_applied(live, kind, api_version, names)
    if applied is None:
        return list(conflicts)
    changes = compare(kind, applied, live)
    excused = claimed(kind, applied)
    for tree in (changes.modified, changes.added, changes.removed):
        excused = field_tree.difference(excused, tree)
    left = []
    for conflict in conflicts:
        fields = conflict.fields.difference(FieldSet(excused))
        if fields:
            left.append(FieldConflict(conflict.owner, conflict.owned, fields))
    return left


def _last_applied(live: Object, kind: MapType, api_version: str, names: Sequence[str]) -> Object | None:
    annotations = live.get("metadata", {}).get("annotations") or {}
    text = next((annotations[name] for name in names if annotations.get(name)), "")
    try:
        applied = loads(text)
    except ValueError:
        return None
    if type(applied) is not dict or applied.get("apiVersion") != api_version or not fits(kind, applied):
        return None
    return applied


def refreshed(obj: Object, applied: Object, names: Sequence[str]) -> Object:
    """Return `obj` with its annotation, if it has one, set to what was applied; `obj` itself if unchanged.

    The annotation is dropped if it would exceed MAX_ANNOTATIONS_BYTES.
    """
    meta = obj["metadata"]
    annotations = meta.get("annotations") or {}
    name = next((name for name in names if annotations.get(name)), None)
    if name is None:
        return obj
    text = _text(applied, name)
    if annotations[name] == text:
        return obj
    new = {**annotations, name: text}
    if sum(len(key.encode()) + len(value.encode()) for key, value in new.items()) > MAX_ANNOTATIONS_BYTES:
        del new[name]
    return {**obj, "metadata": {**meta, "annotations": new}}


def _text(applied: Object, name: str) -> str:
    """Encode the applied object, without the annotation, as Go does: sorted keys, HTML escapes, a final newline."""
    meta = applied.get("metadata") or {}
    annotations = meta.get("annotations")
    if annotations and name in annotations:
        kept = {key: value for key, value in annotations.items() if key != name}
        applied = {**applied, "metadata": {**meta, "annotations": kept}}
    text = orjson.dumps(applied, option=orjson.OPT_SORT_KEYS | orjson.OPT_APPEND_NEWLINE)
    for character, escape in _ESCAPES:
        text = text.replace(character, escape)
    return text.decode()
