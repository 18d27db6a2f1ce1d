"""Library functions of lists."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, Final

from orchtw.schema.cel.faults import Failure
from orchtw.schema.cel.overloads import Overload, overload
from orchtw.schema.cel.values import Duration, Unsigned, equal, extent, signed, unsigned

_ORDERED: Final = ("int", "uint", "double", "bool", "duration", "timestamp", "string", "bytes")


def _is_sorted(found: list[Any]) -> bool:
    return all(map(lambda one, next_one: not next_one < one, found, found[1:]))


def _least(found: list[Any]) -> Any:
    if not found:
        raise Failure("min called on empty list")
    return min(found)


def _most(found: list[Any]) -> Any:
    if not found:
        raise Failure("max called on empty list")
    return max(found)


def _spans(found: list[Duration]) -> Duration:
    return Duration(signed(sum(each.nanoseconds for each in found)))


def _naturals(found: list[Unsigned]) -> Unsigned:
    return unsigned(sum(map(int, found)))


def _index_of(found: list[Any], wanted: Any) -> int:
    return next((index for index, each in enumerate(found) if equal(each, wanted)), -1)


def _last_index_of(found: list[Any], wanted: Any) -> int:
    return next((index for index in reversed(range(len(found))) if equal(found[index], wanted)), -1)


def _functions() -> Iterator[Overload]:
    for name in _ORDERED:
        yield overload(f"list({name}).isSorted() -> bool", _is_sorted, extent)
        yield overload(f"list({name}).min() -> {name}", _least, extent)
        yield overload(f"list({name}).max() -> {name}", _most, extent)
    sums: dict[str, Callable[[list[Any]], Any]] = {
        "int": lambda found: signed(sum(found)),
        "uint": _naturals,
        "double": lambda found: float(sum(found)),
        "duration": _spans,
    }
    for name, total in sums.items():
        yield overload(f"list({name}).sum() -> {name}", total, extent)
    yield overload("list(A).indexOf(A) -> int", _index_of, lambda found, _: extent(found))
    yield overload("list(A).lastIndexOf(A) -> int", _last_index_of, lambda found, _: extent(found))


FUNCTIONS: Final = tuple(_functions())
