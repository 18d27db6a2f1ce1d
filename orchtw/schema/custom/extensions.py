"""Keys of the extensions of structural schemas, and the schemas inside a schema."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Any, Final

import msgspec

from orchtw.naming.naming import Naming

Schema = Mapping[str, Any]
"""A schema as JSON, or a part of one."""

JUNCTORS: Final = ("allOf", "anyOf", "oneOf")
TYPE_FIELDS: Final = frozenset({"metadata", "kind", "apiVersion"})
"""Fields of every object, whatever its schema says."""

EITHER: Final = [{"type": "integer"}, {"type": "string"}]
"""The anyOf of what may be a number or a text."""


def inner_schemas(schema: Schema) -> Iterator[Schema]:
    """Yield the schemas of the values in a value."""
    yield from (schema.get("properties") or {}).values()
    yield from (part for key in ("items", "additionalProperties") if isinstance(part := schema.get(key), dict))


def condition_schemas(schema: Schema, key: str) -> Sequence[Schema]:
    """Return the schemas in one condition, which may be missing."""
    found = schema.get(key)
    return found or () if key != "not" else () if found is None else (found,)


class Extensions(msgspec.Struct, frozen=True):
    """The keys of the extensions, in the vocabulary that is served."""

    embedded: str
    int_or_string: str
    list_keys: str
    list_type: str
    map_type: str
    preserve: str
    validations: str


@lru_cache(maxsize=4)
def extensions(naming: Naming) -> Extensions:
    """Return the keys for `naming`."""
    names = (
        "embedded-resource",
        "int-or-string",
        "list-map-keys",
        "list-type",
        "map-type",
        "preserve-unknown-fields",
        "validations",
    )
    return Extensions(*(naming.extension_prefix + name for name in names))
