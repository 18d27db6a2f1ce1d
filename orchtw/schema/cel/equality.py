"""Equality of values of one type: lists of type set in any order, those of type map by their keys.

Most types have the equality of JSON; the others are compared part by part. An old value may be of another type than
the schema of today says: it is not the same then.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import orjson

from orchtw.schema.cel.types import DYN, CelMember, Type
from orchtw.schema.cel.values import equal

Equal = Callable[[Any, Any], bool]


def equality(kind: Type) -> Equal:
    """Return the comparison of two values of the type."""
    if kind is DYN:
        return equal
    if kind.members is not None:
        return _object_equality(kind.members())
    if kind.name == "list":
        return _list_equality(kind)
    if kind.name == "map":
        of_values = equality(kind.parameters[1])
        return operator.eq if of_values is operator.eq else lambda one, other: _same_maps(one, other, of_values)
    return operator.eq


def _object_equality(members: dict[str, CelMember]) -> Equal:
    special: dict[str, Equal] = {}
    for member in members.values():
        same = equality(member.type)
        if same is not operator.eq or member.read is not None:
            special[member.key] = _reading(same, member)
    if not special:
        return operator.eq

    def compare(one: Any, other: Any) -> bool:
        if type(one) is not dict or type(other) is not dict:
            return _same(one, other)
        if one.keys() != other.keys():
            return False
        return all(special.get(key, _same)(each, other[key]) for key, each in one.items())

    return compare


def _same(one: Any, other: Any) -> bool:
    return bool(one == other)


def _reading(same: Equal, member: CelMember) -> Equal:
    read = member.read
    return same if read is None else lambda one, other: same(read(one), read(other))


def _list_equality(kind: Type) -> Equal:
    of_items = equality(kind.parameters[0])
    if kind.merge == "set":
        return lambda one, other: one == other or _same_sets(one, other)
    if kind.merge == "map":
        return lambda one, other: _same_keyed(one, other, kind.keys, of_items)
    if of_items is operator.eq:
        return operator.eq
    return lambda one, other: _same_lists(one, other, of_items)


def _same_lists(one: Any, other: Any, same: Equal) -> bool:
    if type(one) is not list or type(other) is not list:
        return _same(one, other)
    return len(one) == len(other) and all(map(same, one, other))


def _same_sets(one: Any, other: Any) -> bool:
    if type(one) is not list or type(other) is not list or len(one) != len(other):
        return False
    return sorted(map(identity, one)) == sorted(map(identity, other))


def _same_keyed(one: Any, other: Any, keys: tuple[str, ...], same: Equal) -> bool:
    if type(one) is not list or type(other) is not list:
        return _same(one, other)
    return len(one) == len(other) and _same_maps(_by_keys(one, keys), _by_keys(other, keys), same)


def _same_maps(one: Any, other: Any, same: Equal) -> bool:
    if type(one) is not dict or type(other) is not dict:
        return _same(one, other)
    return one.keys() == other.keys() and all(same(each, other[key]) for key, each in one.items())


def _by_keys(found: list[Any], keys: tuple[str, ...]) -> dict[Any, Any]:
    return {key_of(each, keys): each for each in found}


def key_of(item: Any, keys: tuple[str, ...]) -> tuple[Any, ...]:
    """Return the key of an element of a list of type map."""
    found = (item.get(key) for key in keys) if type(item) is dict else (item,)
    return tuple(identity(each) if isinstance(each, list | dict) else each for each in found)


def identity(item: Any) -> bytes:
    """Return the identity of an element of a list of type set."""
    return orjson.dumps(item, default=repr, option=orjson.OPT_SORT_KEYS)


def joining(kind: Type) -> Callable[[list[Any], list[Any]], list[Any]] | None:
    """Return how lists of the type are added; None for plain concatenation."""
    if kind.merge == "set":
        return _joined_sets
    if kind.merge == "map":
        return lambda one, other: _joined_maps(one, other, kind.keys)
    return None


def _joined_sets(one: list[Any], other: list[Any]) -> list[Any]:
    known = set(map(identity, one))
    return [*one, *(each for each in other if identity(each) not in known)]


def _joined_maps(one: list[Any], other: list[Any], keys: tuple[str, ...]) -> list[Any]:
    """Elements of the second take the place of those with their keys in the first."""
    left = _by_keys(other, keys)
    joined = [left.pop(key_of(each, keys), each) for each in one]
    return [*joined, *left.values()]
