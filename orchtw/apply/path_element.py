"""Path elements (steps): field names, keys of list items, values of set items and indexes (reference APPLY-2).

Field sets hold them as canonical FieldsV1 text (`f:name`, `k:{"name":"c"}`, `v:"x"`, `i:0`); the classes here are
their parsed form.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import lru_cache, wraps
from typing import Any, TypeVar

import msgspec
import orjson

from orchtw.wire.json_values import loads

SELF = "."
"""FieldsV1 key that makes a path itself a member when it has members below it."""

CACHED_STEPS = 4096
CACHED_LENGTH = 200
"""Maximum length of cached steps: longer than any name or usual key, so that clients cannot fill memory with them."""

_INTEGERS_END = 1 << 63
"""First number beyond int64: an integral float from there on is written as a float."""

Result = TypeVar("Result")

_ESCAPES = {"<": "\\u003c", ">": "\\u003e", "&": "\\u0026", "\u2028": "\\u2028", "\u2029": "\\u2029"}


def _cached(function: Callable[[str], Result]) -> Callable[[str], Result]:
    """Return `function` with an LRU cache for short texts."""
    kept = lru_cache(maxsize=CACHED_STEPS)(function)

    @wraps(function)
    def cached(text: str) -> Result:
        return kept(text) if len(text) <= CACHED_LENGTH else function(text)

    return cached


class FieldName(msgspec.Struct, frozen=True):
    """Field of a struct or key of a map."""

    name: str


class Key(msgspec.Struct, frozen=True):
    """Item of an associative list, by the values of its key fields, which are sorted by name."""

    fields: tuple[tuple[str, Any], ...]

    @classmethod
    def of(cls, **fields: Any) -> Key:
        """Return the key with these fields."""
        return cls(tuple(sorted(fields.items())))


class Value(msgspec.Struct, frozen=True):
    """Item of a set, by its value."""

    value: Any


class ListIndex(msgspec.Struct, frozen=True):
    """Item of a list, by its index."""

    index: int


PathElement = FieldName | Key | Value | ListIndex


def value_text(value: Any) -> str:
    """Encode a scalar inside a step as Go's JSON encoder does, with HTML escapes."""
    if type(value) is float and value.is_integer() and abs(value) < _INTEGERS_END:
        value = int(value)
    text = orjson.dumps(value).decode()
    if type(value) is str:
        for character, escape in _ESCAPES.items():
            if character in text:
                text = text.replace(character, escape)
    return text


def single_key_text(name: str, value: str) -> str:
    """Return the step to an item with a single key field whose value is a string; cached, as most keys are so."""
    return _kept_key_text(name, value) if len(value) <= CACHED_LENGTH else key_text([(name, value)])


@lru_cache(maxsize=CACHED_STEPS)
def _kept_key_text(name: str, value: str) -> str:
    return key_text([(name, value)])


def keys_text(names: tuple[str, ...], values: list[Any]) -> str:
    """Return the step to an item by the values of its sorted key fields; cached for short texts and numbers."""
    for value in values:
        if type(value) is not int and (type(value) is not str or len(value) > CACHED_LENGTH):
            return key_text(zip(names, values, strict=True))
    return _kept_keys_text(names, *values)


@lru_cache(maxsize=CACHED_STEPS)
def _kept_keys_text(names: tuple[str, ...], *values: int | str) -> str:
    return key_text(zip(names, values, strict=True))


def key_text(fields: Iterable[tuple[str, Any]]) -> str:
    """Return the step to a keyed list item; `fields` must be sorted by name."""
    return "k:{" + ",".join(f"{orjson.dumps(name).decode()}:{value_text(value)}" for name, value in fields) + "}"


def element_text(element: PathElement) -> str:
    """Return the FieldsV1 text of a step."""
    if isinstance(element, FieldName):
        return "f:" + element.name
    if isinstance(element, Key):
        return key_text(element.fields)
    if isinstance(element, Value):
        return "v:" + value_text(element.value)
    return f"i:{element.index}"


@_cached
def parse_element(text: str) -> PathElement | None:
    """Parse a step; None for an unknown kind of step, such as of a later release.

    Raises ValueError for malformed text.
    """
    if text[1:2] != ":":
        raise ValueError(f"not a path element: {text}")
    sort, rest = text[0], text[2:]
    if sort == "f":
        return FieldName(rest)
    if sort == "i":
        return ListIndex(int(rest))
    if sort == "v":
        return Value(loads(rest))
    if sort != "k":
        return None
    fields = loads(rest)
    if type(fields) is not dict:
        raise ValueError(f"not a key: {text}")
    return Key(tuple(sorted(fields.items())))


@_cached
def canonical_text(text: str) -> str | None:
    """Return the canonical text of a step; None and ValueError as in `parse_element`."""
    element = parse_element(text)
    return None if element is None else element_text(element)


@_cached
def order(text: str) -> tuple[Any, ...]:
    """Return the sort key of a step: ".", names, keys, values, indexes; numbers sort before strings."""
    if text == SELF:
        return (0,)
    element = parse_element(text)
    if isinstance(element, FieldName):
        return (1, element.name)
    if isinstance(element, Key):
        return (2, tuple((name, _value_order(value)) for name, value in element.fields))
    if isinstance(element, Value):
        return (3, _value_order(element.value))
    assert isinstance(element, ListIndex)
    return (4, element.index)


def _value_order(value: Any) -> tuple[Any, ...]:
    if value is None:
        return (3,)
    if isinstance(value, bool):
        return (2, value)
    if isinstance(value, int | float):
        return (0, value)
    return (1, value) if isinstance(value, str) else (4, orjson.dumps(value, option=orjson.OPT_SORT_KEYS))


@_cached
def shown(text: str) -> str:
    """Format a step for messages: `.name`, `[name="c"]`, `[="x"]`, `[0]` (reference APPLY-25)."""
    element = parse_element(text)
    if isinstance(element, FieldName):
        return "." + element.name
    if isinstance(element, Key):
        return "[" + ",".join(f"{name}={orjson.dumps(value).decode()}" for name, value in element.fields) + "]"
    if isinstance(element, Value):
        return f"[={orjson.dumps(element.value).decode()}]"
    assert isinstance(element, ListIndex)
    return f"[{element.index}]"
