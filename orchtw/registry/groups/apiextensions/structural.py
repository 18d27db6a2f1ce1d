"""Structural schemas: every value has a type outside of conditions, which only restrict values (reference CRD-9)."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain
from typing import Final

from orchtw.errors import Cause
from orchtw.registry.groups.apiextensions.schema_nodes import Path, SchemaNode
from orchtw.rules.regular_expressions import fault
from orchtw.schema.custom.extensions import JUNCTORS, Extensions, Schema
from orchtw.values.causes import forbidden, invalid, required

_UNTYPED: Final = {
    "root": "must not be empty at the root",
    "item": "must not be empty for specified array items",
    "field": "must not be empty for specified object fields",
}
_NAMES: Final = frozenset({"name", "generateName"})


def node_causes(node: SchemaNode, keys: Extensions) -> Iterator[Cause]:
    """Yield the reasons why one schema, without those inside it, is not structural; a pattern must be valid."""
    if node.spared:
        return
    if node.level == "nested":
        yield from _condition_causes(node, keys)
    else:
        yield from _value_causes(node, keys)
    pattern = node.schema.get("pattern")
    if pattern and (why := fault(pattern)):
        text = f"must be a valid regular expression, but isn't: error parsing regexp: {why}"
        yield invalid(str(node.path / "pattern"), pattern, text)


def _value_causes(node: SchemaNode, keys: Extensions) -> Iterator[Cause]:
    schema, path = node.schema, node.path
    kind = schema.get("type", "")
    if kind == "array" and "items" not in schema:
        yield required(str(path / "items"), "must be specified")
    embedded = bool(schema.get(keys.embedded))
    if embedded and kind != "object":
        field, why = str(path / "type"), f"must be object if {keys.embedded} is true"
        yield invalid(field, kind, why) if kind else required(field, why)
    elif not kind and not schema.get(keys.int_or_string) and not schema.get(keys.preserve):
        yield required(str(path / "type"), _UNTYPED[node.level])
    if node.level == "root":
        if kind and kind != "object":
            yield invalid(str(path / "type"), kind, "must be object at the root")
        if "additionalProperties" in schema:
            yield forbidden(str(path / "additionalProperties"), "must not be used at the root")
    if embedded:
        yield from _embedded_causes(schema, path, keys)
    if schema.get(keys.int_or_string):
        why = f"must be false if {keys.int_or_string} is true"
        for key in (keys.preserve, keys.embedded):
            if schema.get(key):
                yield invalid(str(path / key), True, why)
    if embedded or node.level == "root":
        yield from _type_field_causes(node)


def _embedded_causes(schema: Schema, path: Path, keys: Extensions) -> Iterator[Cause]:
    if "additionalProperties" in schema:
        yield forbidden(str(path / "additionalProperties"), f"must not be used if {keys.embedded} is set")
    if not schema.get("properties") and not schema.get(keys.preserve):
        why = f"must not be empty if {keys.embedded} is true without {keys.preserve}"
        yield required(str(path / "properties"), why)


def _type_field_causes(node: SchemaNode) -> Iterator[Cause]:
    """Yield the causes for metadata: its schema may only set its type, and restrict names."""
    members = node.schema.get("properties") or {}
    for name, wanted in (("kind", "string"), ("apiVersion", "string"), ("metadata", "object")):
        if name in members and (found := members[name].get("type", "")) != wanted:
            place = node.path.inside("properties", name)
            yield invalid(str(place / "type"), found, f"must be {wanted}")
    if node.level == "root" and (metadata := members.get("metadata")) is not None:
        rest = {key for key in metadata if key not in ("type", "default", "properties", "externalDocs", "example")}
        if rest or not _NAMES.issuperset(metadata.get("properties") or ()):
            why = "must not specify anything other than name and generateName, but metadata is implicitly specified"
            yield forbidden(str(node.path.inside("properties", "metadata")), why)


def _condition_causes(node: SchemaNode, keys: Extensions) -> Iterator[Cause]:
    schema, path = node.schema, node.path
    extensions = ((keys.list_keys, "empty"), (keys.validations, "empty"), (keys.list_type, "undefined"))
    flags = ((key, "false") for key in (keys.preserve, keys.embedded, keys.int_or_string))
    for key, wanted in chain(_NOT_IN_CONDITIONS, extensions, ((keys.map_type, "undefined"),), flags):
        if key in schema and schema[key] is not False:
            yield forbidden(str(path / key), f"must be {wanted} to be structural")
    if "additionalProperties" in schema and schema["additionalProperties"] is False:
        yield forbidden(str(path / "additionalProperties"), "must be undefined to be structural")
    if "metadata" in (schema.get("properties") or {}):
        yield forbidden(str(path.inside("properties", "metadata")), "must not be specified in a nested context")


_NOT_IN_CONDITIONS: Final = (
    ("type", "empty"),
    ("additionalProperties", "undefined"),
    ("default", "undefined"),
    ("title", "empty"),
    ("description", "empty"),
    ("nullable", "false"),
)

_Compared = tuple[Schema, Schema | None, Path, Path]
"""A condition, the schema of the value that it is about, and the paths of both."""


def completeness_causes(schema: Schema, path: Path) -> Iterator[Cause]:
    """Yield the causes for members that only conditions name: they would be dropped before the conditions are
    checked.
    """
    waiting: list[_Compared] = list(_conditions(schema, schema, path, path))
    while waiting:
        condition, value, value_path, condition_path = waiting.pop()
        if value is None:
            yield required(str(value_path), f"because it is defined in {condition_path}")
            continue
        waiting += _conditions(condition, value, value_path, condition_path)
        if isinstance(items := condition.get("items"), dict):
            found = value.get("items")
            element = found if isinstance(found, dict) else None
            waiting.append((items, element, value_path / "items", condition_path / "items"))
        members = value.get("properties") or {}
        for name, each in (condition.get("properties") or {}).items():
            places = (where.inside("properties", name) for where in (value_path, condition_path))
            waiting.append((each, members.get(name), *places))


def _conditions(condition: Schema, value: Schema | None, value_path: Path, path: Path) -> Iterator[_Compared]:
    for key in JUNCTORS:
        for index, each in enumerate(condition.get(key) or ()):
            yield each, value, value_path, path.inside(key, index)
    if (denied := condition.get("not")) is not None:
        yield denied, value, value_path, path / "not"
