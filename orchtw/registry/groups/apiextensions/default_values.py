"""Defaults in a schema: they fit it, name only what it knows, and leave metadata valid (reference CRD-27)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import suppress
from functools import lru_cache
from typing import Any, Final, Literal

import msgspec

from orchtw.errors import Cause
from orchtw.naming.naming import Naming
from orchtw.registry.groups.apiextensions.schema_nodes import Path
from orchtw.schema.codec.json_codec import normalisers
from orchtw.schema.codec.mismatch import SchemaError
from orchtw.schema.codec.strict_fields import KnownKeys
from orchtw.schema.compiler import SchemaCompiler
from orchtw.schema.custom.extensions import TYPE_FIELDS, Extensions, Schema, extensions
from orchtw.schema.custom.marked import Marked
from orchtw.schema.custom.shape import Metadata, Overfilled, Shaper
from orchtw.schema.custom.validation import TooCostly, Validation
from orchtw.schema.custom.wording import NOWHERE
from orchtw.schema.schemas import OBJECT_META
from orchtw.schema.validation.metadata import validate_annotations, validate_labels
from orchtw.values.causes import forbidden, invalid
from orchtw.values.go_literals import shown, untyped

Finding = tuple[Literal["", "unpruned"], Cause]
"""A cause, and the leniency under which it does not count."""

MAX_STEPS: Final = 200_000
"""Steps in one definition: its defaults and their schemas, each of some thousand parts, are checked in fewer."""

MAX_BYTES: Final = 256 * 1024
"""Bytes of all defaults of a definition in JSON, with the defaults filled into them."""

Steps = tuple["Steps", str] | None
"""Path of a value in an object: the steps before the last one, and that one; "" for an element of a list."""


class _Place(msgspec.Struct, frozen=True):
    """A schema outside of conditions. `steps` lead to its value in the nearest object with kind and apiVersion."""

    schema: Schema
    path: Path
    steps: Steps
    in_metadata: bool
    names_itself: bool


class _Checker:
    """Checker of defaults against their schemas; one for all of a definition."""

    def __init__(self, keys: Extensions, naming: Naming) -> None:
        self.keys = keys
        self.naming = naming
        self._validation = Validation(keys, MAX_STEPS)
        self._marked = Marked(keys, naming)
        self._metadata = _metadata(naming)
        self._filler = Shaper(keys, self._metadata, fill=True, lenient=True, most_bytes=MAX_BYTES)

    def fill(self, schema: Schema) -> None:
        """Fill in the default of a schema, with those inside it. Raises Overfilled if all are too large."""
        with suppress(SchemaError):  # which is told of the default itself
            self._filler.default(schema)

    def causes(self, default: Any, schema: Schema, path: Path) -> Iterator[Cause]:
        """Yield the reasons why a default does not fit its schema. Raises TooCostly."""
        place = str(path)
        for cause in self._validation.causes(default, schema, place) + self._marked.causes(default, schema, place):
            yield cause if cause.field != NOWHERE else Cause(cause.reason, cause.message, place)

    def unknown(self, default: Any, schema: Schema) -> bool:
        """Report whether a default has members unknown to its schema: they would be dropped. Raises SchemaError."""
        shaper = Shaper(self.keys, self._metadata, fill=False)
        shaper.value(default, schema)
        return bool(shaper.lost)


def default_findings(schema: Schema, path: Path, naming: Naming) -> Iterator[Finding]:
    """Yield the causes that reject defaults in a structural schema."""
    checker = _Checker(extensions(naming), naming)
    waiting = [_Place(schema, path, None, False, True)]
    try:
        while waiting:
            place = waiting.pop()
            waiting.extend(_below(place, checker.keys))
            if "default" in place.schema:
                checker.fill(place.schema)
                yield from _findings(place, checker)
    except Overfilled:
        yield "", forbidden(str(path), f"its defaults take more than {MAX_BYTES} bytes")
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


def _findings(place: _Place, checker: _Checker) -> Iterator[Finding]:
    default, path = place.schema["default"], place.path / "default"
    try:
        unknown = not place.in_metadata and checker.unknown(default, place.schema)
        why = _metadata_fault(default, place.steps, checker.naming) if place.in_metadata else ""
    except SchemaError as error:
        unknown, why = False, f"metadata: Invalid value: {error}"
    if why:
        yield "", invalid(str(path), shown(untyped, default), f"must result in valid metadata: {why}")
        return
    if unknown:
        yield "unpruned", invalid(str(path), shown(untyped, default), "must not have unknown fields")
    for cause in checker.causes(default, place.schema, path):
        yield "", cause


def _metadata_fault(value: Any, steps: Steps, naming: Naming) -> str:
    """Return the fault of an object's metadata with a default in it, or an empty text."""
    while steps is not None:
        steps, step = steps
        value = {step: value} if step else [value]
    field = next(iter(value))
    if field != "metadata":
        return "" if isinstance(value[field], str) else f"{field}: Invalid value: must be a string"
    meta = _metadata(naming).read(value[field], [])
    return "; ".join(f"{each.field}: {each.message}" for each in _metadata_causes(meta))


def _metadata_causes(meta: Mapping[str, Any]) -> list[Cause]:
    labels = validate_labels(meta.get("labels") or {}, "metadata.labels")
    return labels + validate_annotations(meta.get("annotations") or {}, "metadata.annotations")


@lru_cache(maxsize=4)
def _metadata(naming: Naming) -> Metadata:
    schema = SchemaCompiler(naming).struct(OBJECT_META)
    return Metadata(schema, normalisers()[schema], KnownKeys())
