"""Printer columns, and the paths of sub-resources (reference CRD-4, CRD-23)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from orchtw.errors import MAX_CAUSES, Cause
from orchtw.values.causes import invalid, required

_TYPES: Final = ("boolean", "date", "integer", "number", "string")
_FORMATS: Final = ("byte", "date", "date-time", "double", "float", "int32", "int64", "password")


def column_causes(columns: list[Mapping[str, Any]], field: str) -> list[Cause]:
    """Return the causes that reject the columns of a version."""
    causes: list[Cause] = []
    for index, column in enumerate(columns):
        if len(causes) > MAX_CAUSES:
            break
        causes += _column(column, f"{field}[{index}]")
    return causes


def _column(column: Mapping[str, Any], field: str) -> list[Cause]:
    causes = []
    if not column.get("name"):
        causes.append(required(f"{field}.name"))
    one_of = f"must be one of {','.join(_TYPES)}"
    if not (found := column.get("type")):
        causes.append(required(f"{field}.type", one_of))
    elif found not in _TYPES:
        causes.append(invalid(f"{field}.type", found, one_of))
    if (found := column.get("format")) and found not in _FORMATS:
        causes.append(invalid(f"{field}.format", found, f"must be one of {','.join(_FORMATS)}"))
    path = column.get("jsonPath", "")
    return causes + (_simple(path, f"{field}.JSONPath") if path else [required(f"{field}.JSONPath")])


def subresource_causes(subresources: Mapping[str, Any], field: str) -> list[Cause]:
    """Return the causes that reject the sub-resources of a version."""
    scale = subresources.get("scale")
    if scale is None:
        return []
    causes = []
    for key, root in (("specReplicasPath", ".spec"), ("statusReplicasPath", ".status")):
        place = f"{field}.scale.{key}"
        path = scale.get(key, "")
        causes += _below(path, place, (root,), f"under {root}") if path else [required(place)]
    if path := scale.get("labelSelectorPath"):
        either = "under either .spec or .status"
        causes += _below(path, f"{field}.scale.labelSelectorPath", (".spec", ".status"), either)
    return causes


def _below(path: str, field: str, roots: tuple[str, ...], where: str) -> list[Cause]:
    causes = _simple(path, field)
    if not causes and not path.startswith(tuple(f"{root}." for root in roots)):
        causes.append(invalid(field, path, f"should be a json path {where}"))
    return causes


def _simple(path: str, field: str) -> list[Cause]:
    return [] if path.startswith(".") else [invalid(field, path, "must be a simple json path starting with .")]
