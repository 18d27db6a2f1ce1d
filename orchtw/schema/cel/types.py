"""The types of expressions. A value whose type has members is the JSON object itself; see `declarations`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, Literal

import attrs
import msgspec


class CelMember(msgspec.Struct, frozen=True):
    """A member of an object: its name in JSON, its type, and the conversion of its JSON to a value (None: none)."""

    key: str
    type: Type
    read: Callable[[Any], Any] | None


@attrs.frozen(slots=True)
class Type:
    """One type. Types of different schemas are equal if their names and parameters are.

    `members`: finds a member of an object by its name in expressions. `merge` and `keys`: how lists of a type are
    compared and joined. `most`: the elements that a list or map may have by its schema, or the bytes of a text; else
    0. `fixed` and `per_byte`: the number it has in any object, and the most it may have for each byte of JSON.
    """

    name: str
    parameters: tuple[Type, ...] = ()
    members: Callable[[], dict[str, CelMember]] | None = attrs.field(default=None, eq=False, repr=False)
    merge: Literal["", "set", "map"] = attrs.field(default="", eq=False)
    keys: tuple[str, ...] = attrs.field(default=(), eq=False)
    most: int = attrs.field(default=0, eq=False)
    fixed: int = attrs.field(default=0, eq=False)
    per_byte: float = attrs.field(default=1.0, eq=False)

    def __str__(self) -> str:
        return f"{self.name}({', '.join(map(str, self.parameters))})" if self.parameters else self.name


DYN: Final = Type("dyn")
BOOL: Final = Type("bool")
INT: Final = Type("int")
UINT: Final = Type("uint")
DOUBLE: Final = Type("double")
STRING: Final = Type("string")
BYTES: Final = Type("bytes")
TIMESTAMP: Final = Type("timestamp")
DURATION: Final = Type("duration")
NULL: Final = Type("null_type")
TYPE: Final = Type("type")
URL: Final = Type("url")
NOTHING: Final = Type("nothing")
"""Type of the elements of an empty list: it is compatible with every other."""

NAMED: Final = {
    each.name: each for each in (BOOL, INT, UINT, DOUBLE, STRING, BYTES, NULL, TYPE, Type("list"), Type("map"))
}
"""Types that expressions can refer to by name."""


QUALIFIED: Final = {
    "google.protobuf.Duration": DURATION,
    "google.protobuf.Timestamp": TIMESTAMP,
    **{name: Type(name) for name in ("net.IP", "net.CIDR", "optional_type")},
}
"""Types whose names have a dot, or that came later: they stand behind variables of these names."""


def optional_of(value: Type) -> Type:
    """Return the type of optional values."""
    return Type("optional_type", (value,))


def is_optional(found: Type) -> bool:
    """Report whether values of the type may be absent."""
    return found.name == "optional_type"


def list_of(element: Type) -> Type:
    """Return the type of lists of `element`."""
    return Type("list", (element,))


def map_of(key: Type, value: Type) -> Type:
    """Return the type of maps from `key` to `value`."""
    return Type("map", (key, value))


def has_parts(found: Type) -> bool:
    """Report whether values of the type may have values in them."""
    return bool(found.parameters) or found.members is not None or found is DYN


def holds_objects(found: Type) -> bool:
    """Report whether values of the type are, or contain, JSON objects with members by schema."""
    return found.members is not None or any(map(holds_objects, found.parameters))


def join(one: Type, other: Type) -> Type | None:
    """Return the type that values of either type have, or None if they have none in common."""
    if one == other or other is NOTHING:
        return one
    if one is NOTHING or one is NULL:
        return other
    if other is NULL:
        return one
    if DYN in (one, other):
        return DYN
    if one.name != other.name or len(one.parameters) != len(other.parameters):
        return None
    joined = [join(*pair) for pair in zip(one.parameters, other.parameters, strict=True)]
    found = tuple(each for each in joined if each is not None)
    return attrs.evolve(one, parameters=found) if len(found) == len(joined) else None


def unify(wanted: Type, found: Type, bound: dict[str, Type]) -> bool:
    """Report whether a value of type `found` may be used as `wanted`; binds type variables in `bound`."""
    if wanted.name.isupper():
        so_far = bound.get(wanted.name)
        joined = found if so_far is None else join(so_far, found)
        if joined is None:
            return False
        bound[wanted.name] = joined
        return True
    if found is DYN or found is NOTHING or wanted is DYN:
        return True
    if wanted.name != found.name:
        return False
    return all(map(lambda a, b: unify(a, b, bound), wanted.parameters, found.parameters))


def substitute(result: Type, bound: dict[str, Type]) -> Type:
    """Replace the type variables of a type; unbound ones become `dyn`."""
    if result.name.isupper():
        return bound.get(result.name, DYN)
    if not result.parameters:
        return result
    return attrs.evolve(result, parameters=tuple(substitute(each, bound) for each in result.parameters))
