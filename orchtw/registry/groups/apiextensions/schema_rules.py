"""Rules of every schema: supported keywords, types, consistent extensions (reference CRD-9, CRD-13)."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from typing import Final, Literal

from orchtw.errors import MAX_CAUSES, Cause
from orchtw.registry.groups.apiextensions.schema_nodes import Path, SchemaNode
from orchtw.schema.custom.extensions import Extensions, Schema
from orchtw.values.causes import forbidden, invalid, not_supported, required

Leniency = Literal["", "types", "sets", "keys"]
"""Names of rules added later: a definition that broke one before may still break it."""

Finding = tuple[Leniency, Cause]

_TYPES: Final = ("array", "boolean", "integer", "number", "object", "string")
_MAP_TYPES: Final = ("atomic", "granular")
_LIST_TYPES: Final = ("atomic", "set", "map")
_UNSUPPORTED: Final = ("id", "additionalItems", "patternProperties", "definitions", "dependencies", "$ref")
_AT_ROOT: Final = (
    "description",
    "type",
    "format",
    "title",
    "maximum",
    "exclusiveMaximum",
    "minimum",
    "exclusiveMinimum",
    "maxLength",
    "minLength",
    "pattern",
    "maxItems",
    "minItems",
    "uniqueItems",
    "multipleOf",
    "required",
    "items",
    "properties",
    "externalDocs",
    "example",
)


def root_causes(schema: Schema, path: Path, keys: Extensions, has_status: bool) -> list[Cause]:
    """Return the causes of the root schema alone; `has_status`: the status is a sub-resource."""
    causes = []
    if has_status:
        causes += _status_causes(schema, path, keys)
    if schema.get("nullable"):
        causes.append(forbidden(str(path / "nullable"), "nullable cannot be true at the root"))
    return causes


def _status_causes(schema: Schema, path: Path, keys: Extensions) -> list[Cause]:
    tail = "at the root of the schema if the status subresource is enabled"
    if (found := schema.get("type", "object")) != "object":
        return [invalid(str(path / "type"), found, f'only "object" is allowed as the type {tail}')]
    allowed = (*_AT_ROOT, keys.preserve, keys.validations)
    if all(key in allowed for key in schema):
        return []
    return [invalid(str(path), schema, f"only [{' '.join(allowed)}] fields are allowed {tail}")]


def is_supported(schema: Schema) -> bool:
    """Report whether the schema uses supported keywords only."""
    if isinstance(schema.get("items"), list) or schema.get("type") == "null":
        return False
    return not any(key in schema for key in _UNSUPPORTED)


def node_findings(node: SchemaNode, keys: Extensions) -> Iterator[Finding]:
    """Yield the causes of one schema, without those of the schemas inside it."""
    schema, path = node.schema, node.path
    if (found := schema.get("type")) is not None and found not in _TYPES:
        yield "types", not_supported(str(path / "type"), found, _TYPES)
    if len(schema) > (found is not None) or found == "null":  # else there is nothing but a type
        for cause in _keyword_causes(node, keys):
            yield "", cause
        yield from islice(_extension_findings(schema, path, keys), MAX_CAUSES)


def _keyword_causes(node: SchemaNode, keys: Extensions) -> Iterator[Cause]:
    schema, path = node.schema, node.path
    if "default" in schema and node.no_defaults:
        yield forbidden(str(path / "default"), f"must not be set {node.no_defaults}")
    for key in _UNSUPPORTED:
        if key in schema:
            yield forbidden(str(path / key), f"{key} is not supported")
    if schema.get("type") == "null":
        yield forbidden(str(path / "type"), "type cannot be set to null, use nullable as an alternative")
    if isinstance(schema.get("items"), list):
        yield forbidden(str(path / "items"), "items must be a schema object and not an array")
    if node.in_metadata and schema.get(keys.embedded):
        yield forbidden(str(path / keys.embedded), "must not be used inside of resource meta")
    if schema.get("uniqueItems"):
        why = "uniqueItems cannot be set to true since the runtime complexity becomes quadratic"
        yield forbidden(str(path / "uniqueItems"), why)
    if schema.get("properties") and schema.get("additionalProperties", True) is not True:
        why = "additionalProperties and properties are mutual exclusive"
        yield forbidden(str(path / "additionalProperties"), why)
    if schema.get(keys.preserve) is False:
        yield invalid(str(path / keys.preserve), False, "must be true or undefined")


def _extension_findings(schema: Schema, path: Path, keys: Extensions) -> Iterator[Finding]:
    if (map_type := schema.get(keys.map_type)) is not None:
        yield from _typed(schema, path, "object", keys.map_type)
        if map_type not in _MAP_TYPES:
            yield "", not_supported(str(path / keys.map_type), map_type, _MAP_TYPES)
    list_type = schema.get(keys.list_type)
    if list_type is not None:
        yield from _typed(schema, path, "array", keys.list_type)
        if list_type not in _LIST_TYPES:
            yield "", not_supported(str(path / keys.list_type), list_type, _LIST_TYPES)
        if list_type in ("set", "map"):
            yield from _element_findings(schema, path, keys, list_type)
    if schema.get(keys.list_keys) and list_type != "map":
        why = f"must be map if {keys.list_keys} is non-empty"
        field = str(path / keys.list_type)
        yield "", required(field, why) if list_type is None else invalid(field, list_type, why)


def _typed(schema: Schema, path: Path, wanted: str, extension: str) -> Iterator[Finding]:
    """Yield the cause if a schema's type is not the one that an extension goes with."""
    found = schema.get("type", "")
    if found != wanted:
        field, why = str(path / "type"), f"must be {wanted} if {extension} is specified"
        yield "", invalid(field, found, why) if found else required(field, why)


def _element_findings(schema: Schema, path: Path, keys: Extensions, list_type: str) -> Iterator[Finding]:
    """Yield the findings on elements of a set or map."""
    items = schema.get("items")
    if isinstance(items, dict) and items.get("nullable"):
        why = f"cannot be nullable when {keys.list_type} is {list_type}"
        yield "keys", forbidden(str(path / "items" / "nullable"), why)
    if list_type == "set":
        if schema.get("type") == "array" and isinstance(items, dict):
            yield from _set_findings(items, path / "items", keys)
        return
    if not schema.get(keys.list_keys):
        yield "", required(str(path / keys.list_keys), f"must not be empty if {keys.list_type} is map")
    if items is None:
        yield "", required(str(path / "items"), f"must have a schema if {keys.list_type} is map")
    elif not isinstance(items, dict):
        yield "", invalid(str(path / "items"), items, f"must only have a single schema if {keys.list_type} is map")
    elif (found := items.get("type", "")) != "object":
        why = f"must be object if parent array's {keys.list_type} is map"
        yield "", invalid(str(path / "items" / "type"), found, why)
    else:
        yield from _key_findings(schema, items, path, keys)


def _set_findings(items: Schema, path: Path, keys: Extensions) -> Iterator[Finding]:
    """Yield the findings on elements of a set, which are compared as wholes."""
    why = f"must be atomic as item of a list with {keys.list_type}=set"
    if items.get("type") == "array" and (found := items.get(keys.list_type, "atomic")) != "atomic":
        yield "sets", invalid(str(path / keys.list_type), found, why)
    if items.get("type") == "object" and (found := items.get(keys.map_type)) != "atomic":
        yield "sets", invalid(str(path / keys.map_type), found, why)


def _key_findings(schema: Schema, items: Schema, path: Path, keys: Extensions) -> Iterator[Finding]:
    """Yield the findings on the members that identify the elements of a map."""
    names = schema.get(keys.list_keys) or []
    members, always = items.get("properties") or {}, frozenset(items.get("required") or ())
    here = path / "items"
    if not all(name in members for name in names):
        yield "", invalid(str(path / keys.list_keys), names, "entries must all be names of item properties")
    if len(set(names)) < len(names):
        yield "", invalid(str(path / keys.list_keys), names, "must not contain duplicate entries")
    tail = f"this property is in {keys.list_keys}, so it"
    for name in names:
        member = members.get(name)
        if member is None:
            continue
        place = here.inside("properties", name)
        if (found := member.get("type")) in ("array", "object"):
            why = f"must be a scalar type if parent array's {keys.list_type} is map"
            yield "", invalid(str(place / "type"), found, why)
        if name not in always and "default" not in member:
            yield "keys", required(str(place / "default"), f"{tail} must have a default or be a required property")
        if member.get("nullable"):
            yield "keys", forbidden(str(place / "nullable"), f"{tail} cannot be nullable")
