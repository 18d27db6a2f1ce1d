"""Defaults in a schema: they fit it, name only what it knows, and leave metadata valid (reference CRD-27)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import Any, Literal

import attrs

from orchtw.errors import Cause
from orchtw.naming import Naming
from orchtw.registry.groups.apiextensions.schema_nodes import TYPE_FIELDS, Extensions, Path, Schema, extensions
from orchtw.registry.groups.apiextensions.values import Checker, TooCostly
from orchtw.rules.causes import forbidden, invalid, required
from orchtw.rules.metadata import validate_annotations, validate_labels
from orchtw.schema.codec.generated import Functions
from orchtw.schema.codec.json_codec import normalisers
from orchtw.schema.codec.mismatch import SchemaError
from orchtw.schema.compiler import SchemaCompiler
from orchtw.schema.nodes import StructSchema
from orchtw.schema.schemas import OBJECT_META

Finding = tuple[Literal["", "unpruned"], Cause]
"""A cause, and the leniency of those that are not told of what a definition did before."""

Steps = tuple["Steps", str] | None
"""The way to a value in an object: the steps before the last one, and that one; "" for an element of a list."""


@attrs.frozen(slots=True)
class _Place:
    """A schema outside of conditions. `steps` lead to its value in the nearest object that names itself."""

    schema: Schema
    path: Path
    steps: Steps
    in_metadata: bool
    names_itself: bool


def default_findings(schema: Schema, path: Path, naming: Naming) -> Iterator[Finding]:
    """Every reason why defaults in a structural schema are invalid."""
    keys = extensions(naming)
    checker = Checker(keys)
    waiting = [_Place(schema, path, None, False, True)]
    try:
        while waiting:
            place = waiting.pop()
            waiting.extend(_below(place, keys))
            if "default" in place.schema:
                yield from _findings(place, checker, naming)
    except TooCostly:
        yield "", forbidden(str(path), "its defaults take too much work to be validated")


def _below(place: _Place, keys: Extensions) -> Iterator[_Place]:
    schema, path = place.schema, place.path
    for name, member in (schema.get("properties") or {}).items():
        in_metadata = place.in_metadata or (place.names_itself and name in TYPE_FIELDS)
        yield _step(place, member, path.inside("properties", name), name, in_metadata, keys)
    if isinstance(items := schema.get("items"), dict):
        yield _step(place, items, path / "items", "", place.in_metadata, keys)
    if isinstance(more := schema.get("additionalProperties"), dict):
        yield _step(place, more, path / "additionalProperties", "*", place.in_metadata, keys)


def _step(place: _Place, schema: Schema, path: Path, step: str, in_metadata: bool, keys: Extensions) -> _Place:
    if schema.get(keys.embedded):
        return _Place(schema, path, None, False, True)
    return _Place(schema, path, (place.steps, step), in_metadata, False)


def _findings(place: _Place, checker: Checker, naming: Naming) -> Iterator[Finding]:
    default, path = place.schema["default"], place.path / "default"
    if place.in_metadata:
        if why := _metadata_fault(default, place.steps, naming):
            yield "", invalid(str(path), default, f"must result in valid metadata: {why}")
            return
    elif checker.unknown(default, place.schema):
        yield "unpruned", invalid(str(path), default, "must not have unknown fields")
    if place.names_itself and isinstance(default, dict):
        missing = [key for key in ("apiVersion", "kind") if not default.get(key)]
        if missing:
            for key in missing:
                yield "", required(str(path / key), "must not be empty")
            return
    for cause in checker.causes(default, place.schema, path):
        yield "", cause


def _metadata_fault(value: Any, steps: Steps, naming: Naming) -> str:
    """What is wrong with an object's own fields once a default is in them; empty: nothing."""
    while steps is not None:
        steps, step = steps
        value = {step: value} if step else [value]
    field = next(iter(value))
    if field != "metadata":
        return "" if isinstance(value[field], str) else f"{field}: Invalid value: must be a string"
    try:
        meta = _normalise_metadata(naming)(value[field])
    except SchemaError as error:
        return f"metadata: Invalid value: {error}"
    return "; ".join(f"{each.field}: {each.message}" for each in _metadata_causes(meta))


def _metadata_causes(meta: Mapping[str, Any]) -> list[Cause]:
    labels = validate_labels(meta.get("labels") or {}, "metadata.labels")
    return labels + validate_annotations(meta.get("annotations") or {}, "metadata.annotations")


@lru_cache(maxsize=4)
def _metadata_schema(naming: Naming) -> tuple[StructSchema, Functions]:
    return SchemaCompiler(naming).struct(OBJECT_META), normalisers()


def _normalise_metadata(naming: Naming) -> Any:
    schema, functions = _metadata_schema(naming)
    return functions[schema]
