"""Redaction of Secrets: their data never leave the record, only the names of its keys do."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any, Final

import msgspec

from orchtw.history.changes import ABSENT, FieldChange
from orchtw.wire.objects import Object

REDACTED: Final = "<redacted>"
DATA: Final = ("data", "stringData")
_DATA_STEPS: Final = tuple(f"f:{name}" for name in DATA)
_ANNOTATIONS: Final = ("f:metadata", "f:annotations")


def redacted_object(obj: Object, annotations: Collection[str]) -> Object:
    """Return a Secret without its data, and without the values of `annotations`, which may repeat them."""
    out = {key: _hidden(value) if key in DATA else value for key, value in obj.items()}
    metadata = obj.get("metadata", {})
    if "annotations" in metadata:
        out["metadata"] = {**metadata, "annotations": _shown(metadata["annotations"], annotations)}
    return out


def redacted_change(change: FieldChange, annotations: Collection[str]) -> FieldChange:
    """Return a change of a Secret as `redacted_object` shows it; no change holds all of the metadata."""
    path = change.path
    if path[0] in _DATA_STEPS:
        return msgspec.structs.replace(change, old=_hidden(change.old), new=_hidden(change.new))
    if path == _ANNOTATIONS:
        return msgspec.structs.replace(
            change, old=_shown(change.old, annotations), new=_shown(change.new, annotations)
        )
    if path[:2] == _ANNOTATIONS and path[2].removeprefix("f:") in annotations:
        return msgspec.structs.replace(change, old=_hidden(change.old), new=_hidden(change.new))
    return change


def _shown(values: Any, annotations: Collection[str]) -> Any:
    """Return all annotations without the values of those that are hidden."""
    if type(values) is not dict:
        return values
    return {name: REDACTED if name in annotations else value for name, value in values.items()}


def _hidden(value: Any) -> Any:
    """Return a JSON value with every leaf replaced; a missing one, or null, stays so."""
    if value is ABSENT or value is None:
        return value
    return dict.fromkeys(value, REDACTED) if type(value) is dict else REDACTED
