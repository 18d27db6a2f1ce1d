"""The annotation of client-side apply, and how server-side apply takes over from it (reference APPLY-29)."""

from __future__ import annotations

from collections.abc import Sequence

import orjson

from orchtw.apply import field_tree
from orchtw.apply.field_set import FieldSet
from orchtw.apply.merge_type import MapType
from orchtw.apply.server_side import FieldConflict
from orchtw.apply.type_check import fits
from orchtw.apply.typed import claimed, compare
from orchtw.naming.names import Naming
from orchtw.wire.json_values import loads
from orchtw.wire.objects import Object

MIGRATING_MANAGER = "kubectl"
"""The one manager whose applies follow and refresh the annotation; any other name opts out."""

MAX_ANNOTATIONS_BYTES = 256 * 1024
"""What all annotations of an object may take (reference OBJ-27); with more the annotation is dropped."""

_ANNOTATION = "kubectl.orch.io/last-applied-configuration"
_ESCAPES = ((b"<", b"\\u003c"), (b">", b"\\u003e"), (b"&", b"\\u0026"))


def annotation_names(naming: Naming) -> tuple[str, ...]:
    """The annotation in this vocabulary and as unmodified clients write it (reference CLIENT-4)."""
    return tuple(dict.fromkeys((naming.translate(_ANNOTATION), Naming.kubernetes().translate(_ANNOTATION))))


def still_disputed(
    conflicts: Sequence[FieldConflict], live: Object, kind: MapType, api_version: str, names: Sequence[str]
) -> list[FieldConflict]:
    """The conflicts that a client-side apply before does not excuse.

    Excused are fields whose last applied value is still live: they belonged to the present applier.
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
    """`obj` whose annotation, if it has one, says what was applied just now; `obj` itself if it says so already."""
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
    """The applied object as the reference writes it: keys in order, a line's end, what HTML would read escaped."""
    meta = applied.get("metadata") or {}
    annotations = meta.get("annotations")
    if annotations and name in annotations:
        kept = {key: value for key, value in annotations.items() if key != name}
        applied = {**applied, "metadata": {**meta, "annotations": kept}}
    text = orjson.dumps(applied, option=orjson.OPT_SORT_KEYS | orjson.OPT_APPEND_NEWLINE)
    for character, escape in _ESCAPES:
        text = text.replace(character, escape)
    return text.decode()
