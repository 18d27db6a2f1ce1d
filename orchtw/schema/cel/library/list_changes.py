"""Library functions that make lists of lists: parts of them, or their elements in another order."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, Final

from orchtw.schema.cel.faults import Failure
from orchtw.schema.cel.frames import Frame, charge
from orchtw.schema.cel.overloads import Overload, overload
from orchtw.schema.cel.values import equal, extent, type_name

ORDERED: Final = ("int", "uint", "double", "bool", "duration", "timestamp", "string", "bytes")
"""Types whose values have an order."""

_HASHED: Final = frozenset({int, str})
_STEPS_OF_SORTING: Final = 2  # for an element and each power of two


def _slice(found: list[Any], begin: int, end: int) -> list[Any]:
    if begin < 0 or end < 0:
        raise Failure(f"cannot slice({begin}, {end}), negative indexes not supported")
    if begin > end:
        raise Failure(f"cannot slice({begin}, {end}), start index must be less than or equal to end index")
    if end > len(found):
        raise Failure(f"cannot slice({begin}, {end}), list is length {len(found)}")
    return found[begin:end]


def _flatten(frame: Frame, found: list[Any], depth: int = 1) -> list[Any]:
    if depth < 0:
        raise Failure("level must be non-negative")
    charge(frame, extent(found))
    return _flattened(found, depth)


def _flattened(found: list[Any], depth: int) -> list[Any]:
    """Return the elements, and those of lists among them to some depth, which the codecs bound."""
    result: list[Any] = []
    for each in found:
        if type(each) is list and depth > 0:
            result += _flattened(each, depth - 1)
        else:
            result.append(each)
    return result


def _range(frame: Frame, count: int) -> list[int]:
    if count < 0:
        raise Failure(f"lists.range() requires a non-negative argument, got {count}")
    charge(frame, count)
    return list(range(count))


def _distinct(frame: Frame, found: list[Any]) -> list[Any]:
    charge(frame, extent(found))
    kinds = set(map(type, found))
    if len(kinds) == 1 and kinds <= _HASHED:
        return list(dict.fromkeys(found))
    result: list[Any] = []
    for each in found:
        charge(frame, len(result) * extent(each))
        if not any(equal(each, other) for other in result):
            result.append(each)
    return result


def cost_of_sorting(found: list[Any]) -> int:
    """Return the steps of sorting values, which are read for each comparison."""
    return extent(found) * (1 + _STEPS_OF_SORTING * len(found).bit_length())


def sorted_by(keys: list[Any], found: list[Any]) -> list[Any]:
    """Return elements in the order of their keys, which are of one type that has an order. Raises Failure."""
    if keys and (type_name(keys[0]) not in ORDERED or len({type(each) for each in keys}) > 1):
        raise Failure("list elements must have the same type")
    return [found[place] for place in sorted(range(len(keys)), key=keys.__getitem__)]


def _associated(frame: Frame, found: list[Any], keys: list[Any]) -> list[Any]:
    charge(frame, cost_of_sorting(keys))
    return sorted_by(keys, found)


def _functions() -> Iterator[Overload]:
    yield overload("list(A).slice(int, int) -> list(A)", _slice, lambda found, *_: len(found) // 4)
    yield overload("list(list(A)).flatten() -> list(A)", _flatten, metered=True)
    yield overload("list(dyn).flatten(int) -> list(dyn)", _flatten, metered=True)
    yield overload("lists.range(int) -> list(int)", _range, metered=True, namespaced=True)
    yield overload("list(A).distinct() -> list(A)", _distinct, metered=True)
    yield overload("list(A).reverse() -> list(A)", lambda found: found[::-1], len)
    for name in ORDERED:
        sort: Callable[[list[Any]], list[Any]] = lambda found: sorted_by(found, found)  # noqa: E731
        yield overload(f"list({name}).sort() -> list({name})", sort, cost_of_sorting)
        yield overload(f"list(A).@sortByAssociatedKeys(list({name})) -> list(A)", _associated, metered=True)


FUNCTIONS: Final = tuple(_functions())
