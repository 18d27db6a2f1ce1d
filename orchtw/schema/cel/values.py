"""Values of expressions: those of JSON, and the types that JSON lacks. Integers have 64 bits."""

from __future__ import annotations

from typing import Any, Final

import msgspec

from orchtw.schema.cel.faults import Failure, no_overload
from orchtw.schema.cel.types import Type

LARGEST: Final = 2**63 - 1
LEAST: Final = -(2**63)
LARGEST_UNSIGNED: Final = 2**64 - 1

_TEXT_OF_UNIT: Final = 10
"""Characters that are processed in the time of one step."""


class Unsigned(int):
    """An integer without sign."""

    __slots__ = ()


class Timestamp(msgspec.Struct, frozen=True, order=True):
    """A point in time, in nanoseconds since 1970."""

    nanoseconds: int


class Duration(msgspec.Struct, frozen=True, order=True):
    """A time span, in nanoseconds."""

    nanoseconds: int


class Url(msgspec.Struct, frozen=True):
    """An address and its parts, as they are written."""

    text: str
    scheme: str
    host: str
    path: str
    query: str


_NAMES: Final[dict[type, str]] = {
    bool: "bool",
    int: "int",
    Unsigned: "uint",
    float: "double",
    str: "string",
    bytes: "bytes",
    Timestamp: "timestamp",
    Duration: "duration",
    Url: "url",
    list: "list",
    dict: "map",
    type(None): "null_type",
    Type: "type",
}
_NUMBERS: Final = frozenset({int, Unsigned, float})


def type_name(value: Any) -> str:
    """Return the name of a value's type."""
    return _NAMES[type(value)]


def signed(number: int) -> int:
    """Return `number`, which must fit a signed integer of 64 bits. Raises Failure."""
    if LEAST <= number <= LARGEST:
        return number
    raise Failure("integer overflow")


def unsigned(number: int) -> Unsigned:
    """Return `number`, which must fit an unsigned integer of 64 bits. Raises Failure."""
    if 0 <= number <= LARGEST_UNSIGNED:
        return Unsigned(number)
    raise Failure("unsigned integer overflow")


def equal(one: Any, other: Any) -> bool:
    """Report whether two values are equal; numbers of different types are compared by value.

    Values come from JSON, whose depth the codecs bound.
    """
    kind, other_kind = type(one), type(other)
    if kind is list and other_kind is list:
        return len(one) == len(other) and all(map(equal, one, other))
    if kind is dict and other_kind is dict:
        return len(one) == len(other) and all(key in other and equal(each, other[key]) for key, each in one.items())
    if kind is other_kind or (kind in _NUMBERS and other_kind in _NUMBERS):
        return bool(one == other)
    return False


def boolean(value: Any) -> bool:
    """Check that a value of unknown type is a boolean. Raises Failure."""
    if value is True:
        return True
    if value is False:
        return False
    raise no_overload()


def units_of(text: str | bytes) -> int:
    """Return the cost of reading a whole text."""
    return len(text) // _TEXT_OF_UNIT


def extent(value: Any) -> int:
    """Return the cost of reading a whole value."""
    units, waiting = 0, [value]
    while waiting:
        value = waiting.pop()
        units += 1
        if type(value) is list:
            waiting += value
        elif type(value) is dict:
            units += len(value)
            waiting += value.values()
        elif type(value) is str or type(value) is bytes:
            units += len(value) // _TEXT_OF_UNIT
    return units
