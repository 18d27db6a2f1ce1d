"""Library functions that take lists as sets."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from orchtw.schema.cel.overloads import overload
from orchtw.schema.cel.values import equal, extent

_HASHED: Final = frozenset({int, str})


def _holds(found: list[Any]) -> Callable[[Any], bool]:
    """Return a test of whether a list has a value: by hash where its elements all are texts or integers."""
    kinds = set(map(type, found))
    if len(kinds) == 1 and kinds <= _HASHED:
        known, kind = set(found), kinds.pop()
        return lambda value: value in known if type(value) is kind else any(equal(value, each) for each in found)
    return lambda value: any(equal(value, each) for each in found)


def _contains(found: list[Any], others: list[Any]) -> bool:
    return all(map(_holds(found), others))


def _equivalent(one: list[Any], other: list[Any]) -> bool:
    return _contains(one, other) and _contains(other, one)


def _intersects(one: list[Any], other: list[Any]) -> bool:
    return any(map(_holds(one), other))


def _cost(one: list[Any], other: list[Any]) -> int:
    """Every element of one may be compared with every one of the other."""
    return extent(one) * max(1, len(other)) + extent(other) * max(1, len(one))


FUNCTIONS: Final = (
    overload("sets.contains(list(A), list(A)) -> bool", _contains, _cost, namespaced=True),
    overload("sets.equivalent(list(A), list(A)) -> bool", _equivalent, _cost, namespaced=True),
    overload("sets.intersects(list(A), list(A)) -> bool", _intersects, _cost, namespaced=True),
)
