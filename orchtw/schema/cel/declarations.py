"""Structural schemas → types: what expressions see of an object (reference CRD-29)."""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Callable, Mapping
from functools import cache
from typing import Any, Final

import attrs
import msgspec

from orchtw.naming.naming import Naming
from orchtw.schema.cel.faults import Failure
from orchtw.schema.cel.library.moments import duration_value, timestamp_value
from orchtw.schema.cel.sizes import entry_bytes, item_bytes, most_elements, most_text
from orchtw.schema.cel.types import (
    BOOL,
    BYTES,
    DOUBLE,
    DURATION,
    DYN,
    INT,
    STRING,
    TIMESTAMP,
    CelMember,
    Type,
    list_of,
    map_of,
)
from orchtw.schema.cel.values import Timestamp
from orchtw.schema.cel.words import KEYWORDS, RESERVED

Structure = Mapping[str, Any]
Read = Callable[[Any], Any]

_ACCESSIBLE: Final = re.compile(r"[A-Za-z_./-][A-Za-z0-9_./-]*", re.ASCII)
_ESCAPED: Final = re.compile(r"__|[./-]")
_ESCAPES: Final = {"__": "__underscores__", ".": "__dot__", "-": "__dash__", "/": "__slash__"}
_SCALARS: Final = {"boolean": BOOL, "number": DOUBLE, "integer": INT}
_DAY: Final = re.compile(r"\d{4}-\d\d-\d\d", re.ASCII)
_OWN_MEMBERS: Final[Structure] = {
    "apiVersion": {"type": "string"},
    "kind": {"type": "string"},
    "metadata": {
        "type": "object",
        "properties": {"name": {"type": "string"}, "generateName": {"type": "string"}},
    },
}
"""Members visible to expressions in every object that names itself, whatever its schema says."""


def escaped(name: str) -> str | None:
    """Return the name of a property in expressions; None: it has none."""
    if name in RESERVED or name in KEYWORDS:
        return f"__{name}__"
    if not _ACCESSIBLE.fullmatch(name):
        return None
    return _ESCAPED.sub(lambda match: _ESCAPES[match[0]], name)


class Extensions(msgspec.Struct, frozen=True):
    """The extensions of schemas that types follow from."""

    embedded: str
    int_or_string: str
    list_type: str
    list_keys: str

    @classmethod
    def of(cls, naming: Naming) -> Extensions:
        """Return their names in the vocabulary that is served."""
        tails = ("embedded-resource", "int-or-string", "list-type", "list-map-keys")
        return cls(*(naming.extension_prefix + tail for tail in tails))


def declared(schema: Structure, keys: Extensions, name: str, *, names_itself: bool) -> Type | None:
    """Return the type of what a schema describes; None: expressions cannot see it."""
    if schema.get(keys.int_or_string):
        return DYN
    kind = schema.get("type")
    if kind == "array":
        return _list_type(schema, keys, name)
    if kind == "object":
        values = schema.get("additionalProperties")
        if isinstance(values, dict):
            value = declared(values, keys, name + ".@elem", names_itself=bool(values.get(keys.embedded)))
            if value is None:
                return None
            size = entry_bytes(schema)
            most = most_elements(schema.get("maxProperties"), size)
            return attrs.evolve(map_of(STRING, value), most=most, per_byte=1 / size)
        return _object_type(schema, keys, name, names_itself=names_itself)
    if kind == "string":
        return attrs.evolve(_TEXTS.get(schema.get("format") or "", (STRING, None))[0], most=most_text(schema))
    return _SCALARS.get(str(kind))


def _list_type(schema: Structure, keys: Extensions, name: str) -> Type | None:
    items = schema.get("items")
    if not isinstance(items, dict):
        return None
    element = declared(items, keys, name + ".@elem", names_itself=bool(items.get(keys.embedded)))
    if element is None:
        return None
    size = item_bytes(schema)
    found = attrs.evolve(list_of(element), most=most_elements(schema.get("maxItems"), size), per_byte=1 / size)
    merge = schema.get(keys.list_type)
    if merge not in ("set", "map"):
        return found
    return attrs.evolve(found, merge=merge, keys=tuple(schema.get(keys.list_keys) or ()))


def _object_type(schema: Structure, keys: Extensions, name: str, *, names_itself: bool) -> Type:
    @cache
    def members() -> dict[str, CelMember]:
        found = {}
        parts = schema.get("properties") or {}
        for key, part in ({**parts, **_OWN_MEMBERS} if names_itself else parts).items():
            shown = escaped(key)
            kind = declared(part, keys, f"{name}.{shown}", names_itself=bool(part.get(keys.embedded)))
            if shown is not None and kind is not None:
                found[shown] = CelMember(key, kind, reader(kind, part, keys))
        return found

    return Type(name, members=members)


def reader(kind: Type, schema: Structure, keys: Extensions) -> Read | None:
    """Return a function that makes a value of the type from JSON by the schema; None if the JSON is one.

    Objects stay JSON: their members are read when they are selected.
    """
    if kind is DOUBLE:
        return _checked((int, float), "a number", float)
    if kind.name == "list":
        each = reader(kind.parameters[0], schema["items"], keys)
        return None if each is None else _checked(list, "a list", lambda found: [each(item) for item in found])
    if kind.name == "map":
        of_values = reader(kind.parameters[1], schema["additionalProperties"], keys)
        if of_values is None:
            return None
        return _checked(dict, "a map", lambda found: {key: of_values(item) for key, item in found.items()})
    return _TEXTS[schema["format"]][1] if kind in (BYTES, DURATION, TIMESTAMP) else None


def _checked(wanted: Any, shown: str, read: Read) -> Read:
    """Reads what is not null. Old values may have other types than the schema of today says."""

    def checked(value: Any) -> Any:
        if value is None:
            return None
        if not isinstance(value, wanted):
            raise Failure(f"invalid data, expected {shown} for the provided schema")
        return read(value)

    return checked


def _bytes(text: str) -> bytes:
    try:
        return base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError) as error:
        raise Failure("invalid data, expected base64") from error


def _timestamp(text: str) -> Timestamp:
    return timestamp_value(f"{text}T00:00:00Z" if _DAY.fullmatch(text) else text)


_TEXTS: Final[dict[str, tuple[Type, Read]]] = {
    "byte": (BYTES, _checked(str, "a string", _bytes)),
    "date": (TIMESTAMP, _checked(str, "a string", _timestamp)),
    "date-time": (TIMESTAMP, _checked(str, "a string", _timestamp)),
    "duration": (DURATION, _checked(str, "a string", duration_value)),
}
