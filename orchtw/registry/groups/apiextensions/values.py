"""Whether a JSON value fits a schema (reference CRD-17), within a bounded number of steps.

Values and schemas nest as deep as codecs let them in.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

import orjson

from orchtw.errors import MAX_CAUSES, Cause
from orchtw.registry.groups.apiextensions.schema_nodes import TYPE_FIELDS, Extensions, Path, Schema
from orchtw.rules.causes import go_value, invalid, not_supported, required, type_invalid

MAX_STEPS: Final = 200_000
"""Of one definition: a schema and a value each of some thousand parts fit or do not in fewer."""

_TEXT_OF_TYPES: Final = {
    str: "string",
    bool: "boolean",
    int: "integer",
    float: "number",
    list: "array",
    dict: "object",
}


class TooCostly(Exception):
    """A value cannot be held against its schema in MAX_STEPS."""


class Checker:
    """Holds values against schemas; one for all values of a definition."""

    def __init__(self, keys: Extensions) -> None:
        self._keys = keys
        self._steps = 0

    def causes(self, value: Any, schema: Schema, path: Path) -> list[Cause]:
        """Why the value at `path` does not fit; of very many the first. Raises TooCostly."""
        found: list[Cause] = []
        for cause in self._value(value, schema, path):
            found.append(cause)
            if len(found) > MAX_CAUSES:
                break
        return found

    def _count(self, steps: int = 1) -> None:
        self._steps += steps
        if self._steps > MAX_STEPS:
            raise TooCostly

    def _value(self, value: Any, schema: Schema, path: Path) -> Iterator[Cause]:
        self._count()
        if value is None and schema.get("nullable"):
            return
        if not self._has_type(value, schema):
            yield self._wrong_type(value, schema, path)
            return
        yield from self._enumerated(value, schema, path)
        if isinstance(value, str):
            yield from _length_causes(value, schema, path)
        elif isinstance(value, int | float) and not isinstance(value, bool):
            yield from _number_causes(value, schema, path)
        elif isinstance(value, list):
            yield from self._list(value, schema, path)
        elif isinstance(value, dict):
            yield from self._object(value, schema, path)
        yield from self._conditions(value, schema, path)

    def _has_type(self, value: Any, schema: Schema) -> bool:
        if schema.get(self._keys.int_or_string):
            return isinstance(value, int | str) and not isinstance(value, bool)
        wanted = schema.get("type")
        if wanted is None:
            return True
        if value is None:
            return False
        found = _TEXT_OF_TYPES[type(value)]
        if isinstance(value, float) and value.is_integer():
            found = "integer"
        return found == wanted or (found == "integer" and wanted == "number")

    def _wrong_type(self, value: Any, schema: Schema, path: Path) -> Cause:
        wanted = "integer,string" if schema.get(self._keys.int_or_string) else schema.get("type")
        shown = "null" if value is None else _TEXT_OF_TYPES[type(value)]
        return type_invalid(str(path), shown, f'{path} in body must be of type {wanted}: "{shown}"')

    def _enumerated(self, value: Any, schema: Schema, path: Path) -> Iterator[Cause]:
        allowed = schema.get("enum")
        if allowed:
            self._count(len(allowed))
            if value not in allowed:
                yield not_supported(str(path), value, [orjson.dumps(each).decode().strip('"') for each in allowed])

    def _list(self, value: list[Any], schema: Schema, path: Path) -> Iterator[Cause]:
        yield from _count_causes(len(value), schema, path, "Items", "items")
        items = schema.get("items")
        if isinstance(items, dict):
            for index, element in enumerate(value):
                yield from self._value(element, items, Path(path, f"[{index}]"))

    def _object(self, value: dict[str, Any], schema: Schema, path: Path) -> Iterator[Cause]:
        yield from _count_causes(len(value), schema, path, "Properties", "properties")
        always = schema.get("required") or ()
        self._count(len(always))
        for name in always:
            if name not in value:
                yield required(str(path.member(name)))
        members, more = schema.get("properties") or {}, schema.get("additionalProperties")
        for name, each in value.items():
            if (member := members.get(name)) is not None:
                yield from self._value(each, member, path.member(name))
            elif isinstance(more, dict):
                yield from self._value(each, more, path.member(name))

    def _conditions(self, value: Any, schema: Schema, path: Path) -> Iterator[Cause]:
        for each in schema.get("allOf") or ():
            yield from self._value(value, each, path)
        if (schemas := schema.get("anyOf")) and not any(self._fits(value, each, path) for each in schemas):
            why = f"{path} in body must validate at least one schema (anyOf)"
            yield invalid(str(path), "", why)
        if (schemas := schema.get("oneOf")) and sum(self._fits(value, each, path) for each in schemas) != 1:
            yield invalid(str(path), "", f"{path} in body must validate one and only one schema (oneOf)")
        if (denied := schema.get("not")) is not None and self._fits(value, denied, path):
            yield invalid(str(path), "", f"{path} in body must not validate the schema (not)")

    def _fits(self, value: Any, schema: Schema, path: Path) -> bool:
        return next(self._value(value, schema, path), None) is None

    def unknown(self, value: Any, schema: Schema) -> bool:
        """Whether the value has members that the schema does not know: they would be dropped. Raises TooCostly."""
        waiting = [(value, schema, bool(schema.get(self._keys.embedded)))]
        while waiting:
            value, schema, embedded = waiting.pop()
            self._count()
            members, more = schema.get("properties") or {}, schema.get("additionalProperties")
            if isinstance(value, list) and isinstance(items := schema.get("items"), dict):
                waiting += ((each, items, bool(items.get(self._keys.embedded))) for each in value)
            for name, each in value.items() if isinstance(value, dict) else ():
                member = members.get(name, more)
                if isinstance(member, dict):
                    waiting.append((each, member, bool(member.get(self._keys.embedded))))
                elif not (member or schema.get(self._keys.preserve) or (embedded and name in TYPE_FIELDS)):
                    return True
        return False


def _length_causes(value: str, schema: Schema, path: Path) -> Iterator[Cause]:
    if (least := schema.get("minLength")) is not None and len(value) < least:
        yield invalid(str(path), value, f"{path} in body should be at least {least} chars long")
    if (most := schema.get("maxLength")) is not None and len(value) > most:
        yield invalid(str(path), value, f"{path} in body should be at most {most} chars long")


def _is_multiple(value: float, step: float) -> bool:
    try:
        return (value / step).is_integer()
    except OverflowError:  # no number that a step could be told from
        return True


def _count_causes(size: int, schema: Schema, path: Path, what: str, unit: str) -> Iterator[Cause]:
    if (least := schema.get(f"min{what}")) is not None and size < least:
        yield invalid(str(path), size, f"{path} in body should have at least {least} {unit}")
    if (most := schema.get(f"max{what}")) is not None and size > most:
        yield invalid(str(path), size, f"{path} in body should have at most {most} {unit}")


def _number_causes(value: float, schema: Schema, path: Path) -> Iterator[Cause]:
    most, least, step = schema.get("maximum"), schema.get("minimum"), schema.get("multipleOf")
    if most is not None and (value > most or (value == most and schema.get("exclusiveMaximum"))):
        than = "less than" if schema.get("exclusiveMaximum") else "less than or equal to"
        yield invalid(str(path), value, f"{path} in body should be {than} {go_value(most)}")
    if least is not None and (value < least or (value == least and schema.get("exclusiveMinimum"))):
        than = "greater than" if schema.get("exclusiveMinimum") else "greater than or equal to"
        yield invalid(str(path), value, f"{path} in body should be {than} {go_value(least)}")
    if step and not _is_multiple(value, step):
        yield invalid(str(path), value, f"{path} in body should be a multiple of {go_value(step)}")
