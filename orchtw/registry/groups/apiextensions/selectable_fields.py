"""Validation of the fields that selectors may name (reference CRD-70)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from orchtw.errors import Cause
from orchtw.schema.cel.field_paths import PathFault, field_path
from orchtw.values.causes import duplicate, invalid, required, too_many

MAX_FIELDS: Final = 8
"""Most fields of one version: each takes memory with every object."""

_TYPES: Final = frozenset({"string", "boolean", "integer"})


def selectable_causes(versions: Sequence[Mapping[str, Any]], old: Sequence[Mapping[str, Any]]) -> Iterator[Cause]:
    """Yield the causes that reject the selectable fields of versions; `old` are those of before."""
    before = {version.get("name"): version.get("selectableFields") for version in old}
    for index, version in enumerate(versions):
        fields = version.get("selectableFields")
        if not fields:
            continue
        path = f"spec.versions[{index}].selectableFields"
        schema = (version.get("schema") or {}).get("openAPIV3Schema")
        if schema is None:
            yield invalid(path, "", "may only be set when `version.schema.openAPIV3Schema` is not included")
            continue
        yield from _causes(fields, schema, path, unchanged=before.get(version.get("name")) == fields)


def _causes(
    fields: Sequence[Mapping[str, Any]], schema: Mapping[str, Any], path: str, *, unchanged: bool
) -> Iterator[Cause]:
    known: set[tuple[str, ...]] = set()
    for index, each in enumerate(fields):
        where, text = f"{path}[{index}].jsonPath", each.get("jsonPath") or ""
        if not text:
            yield required(where)
            continue
        try:
            found = field_path(text, schema, brackets=False)
        except PathFault as fault:
            yield invalid(where, text, f"is an invalid path: {fault}")
            continue
        if found.steps[0] == "metadata":
            yield invalid(where, text, "must not point to fields in metadata")
        if found.schema.get("type") not in _TYPES:
            tail = "Enum string fields and strings with formats are allowed."
            yield invalid(where, text, f"must point to a field of type string, boolean or integer. {tail}")
        if found.steps in known:
            yield duplicate(where, text)
        known.add(found.steps)
    if len(known) > MAX_FIELDS and not unchanged:
        yield too_many(path, len(known), MAX_FIELDS)
