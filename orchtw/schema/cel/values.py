"""Values of expressions: those of JSON, and the types that JSON lacks. Integers have 64 bits."""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from typing import Any, ClassVar, Final

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


class Opaque(msgspec.Struct, frozen=True):
    """A value of a type that only functions look into; each class has the name of its type."""

    type_name: ClassVar[str]


class Optional(Opaque, frozen=True):
    """A value that may be absent."""

    type_name: ClassVar[str] = "optional_type"

    value: Any
    present: bool = True


ABSENT: Final = Optional(None, present=False)
"""Optional value without a value."""


class Instance(Opaque, frozen=True):
    """A message that an expression has written out: the name of its type, and its fields."""

    type_name: ClassVar[str] = "message"

    name: str
    fields: dict[str, Any]

    def __getitem__(self, key: str) -> Any:
        return self.fields[key]


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
PLAIN: Final = frozenset(_NAMES)
"""Classes of values whose type follows from their class."""
_NUMBERS: Final = frozenset({int, Unsigned, float})
_KEYS: Final = frozenset({str, int, Unsigned, bool})


def type_name(value: Any) -> str:
    """Return the name of a value's type."""
    name = _NAMES.get(type(value))
    if name is not None:
        return name
    return value.name if type(value) is Instance else value.type_name


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
    if kind is Optional and other_kind is Optional:
        return one.present == other.present and equal(one.value, other.value)
    if kind is other_kind:
        return bool(one == other)
    return kind in _NUMBERS and other_kind in _NUMBERS and compared(operator.eq, one, other)


def compared(relation: Callable[[Any, Any], Any], one: Any, other: Any) -> bool:
    """Report whether two numbers of any types are in a relation; an integer beside a double becomes one."""
    if type(one) is not type(other) and float in (type(one), type(other)):
        one, other = float(one), float(other)
    return bool(relation(one, other))


def map_key(value: Any) -> Any:
    """Check that a value of unknown type may be the key of a map. Raises Failure."""
    if type(value) in _KEYS:
        return value
    raise Failure(f"unsupported key type: {type_name(value)}")


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
    """Return the cost of reading a whole value.

    A part that is in it several times counts each time, but is only visited once: an expression of a few characters
    makes lists of 2^50 elements, as `[1].map(a, [a, a])` does in a row.
    """
    known: dict[int, int] = {}
    waiting = [value]
    while waiting:
        here = waiting[-1]
        if type(here) not in _HOLDERS:
            return _scalar_extent(here)
        if id(here) in known:
            waiting.pop()
            continue
        parts = _parts(here)
        below = [each for each in parts if type(each) in _HOLDERS]
        ahead = [each for each in below if id(each) not in known]
        if ahead:
            waiting += ahead
            continue
        scalars = parts if not below else [each for each in parts if type(each) not in _HOLDERS]
        units = 1 + sum(map(_scalar_extent, scalars)) + sum(known[id(each)] for each in below)
        known[id(here)] = units + len(here) if type(here) is dict else units
        waiting.pop()
    return known[id(value)]


def _parts(holder: Any) -> Sequence[Any]:
    if type(holder) is list:
        return holder
    if type(holder) is dict:
        return list(holder.values())
    return [holder.fields] if type(holder) is Instance else [holder.value]


def _scalar_extent(value: Any) -> int:
    kind = type(value)
    return 1 + len(value) // _TEXT_OF_UNIT if kind is str or kind is bytes else 1


_HOLDERS: Final = frozenset({list, dict, Optional, Instance})
"""Classes of values with parts."""
