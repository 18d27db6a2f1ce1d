"""Arithmetic, order, membership and conversions between numbers and texts."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any, Final

from orchtw.schema.cel.faults import Failure
from orchtw.schema.cel.overloads import Overload, overload
from orchtw.schema.cel.types import NAMED, Type
from orchtw.schema.cel.values import (
    LARGEST,
    LEAST,
    Unsigned,
    compared,
    equal,
    extent,
    signed,
    type_name,
    units_of,
    unsigned,
)

_LONGEST_NUMBER: Final = 64
_NUMBERS: Final = ("int", "uint", "double")


def _quotient(one: int, other: int) -> int:
    if other == 0:
        raise Failure("division by zero")
    size = abs(one) // abs(other)
    return signed(size if (one < 0) == (other < 0) else -size)


def _remainder(one: int, other: int) -> int:
    if other == 0:
        raise Failure("modulus by zero")
    size = abs(one) % abs(other)
    return -size if one < 0 else size


def _real_quotient(one: float, other: float) -> float:
    if other:
        return one / other
    return math.nan if not one or math.isnan(one) else math.copysign(math.inf, one) * math.copysign(1.0, other)


def _numbers() -> Iterator[Overload]:
    for sign, operation in (("+", operator.add), ("-", operator.sub), ("*", operator.mul)):

        def integers(one: int, other: int, operation: Callable[[int, int], int] = operation) -> int:
            result = operation(one, other)
            if LEAST <= result <= LARGEST:
                return result
            raise Failure("integer overflow")

        def naturals(one: int, other: int, operation: Callable[[int, int], int] = operation) -> Unsigned:
            return unsigned(operation(int(one), int(other)))

        yield overload(f"_{sign}_(int, int) -> int", integers)
        yield overload(f"_{sign}_(uint, uint) -> uint", naturals)
        yield overload(f"_{sign}_(double, double) -> double", operation)
    yield overload("_/_(int, int) -> int", _quotient)
    yield overload("_/_(uint, uint) -> uint", lambda a, b: unsigned(_quotient(int(a), int(b))))
    yield overload("_/_(double, double) -> double", _real_quotient)
    yield overload("_%_(int, int) -> int", _remainder)
    yield overload("_%_(uint, uint) -> uint", lambda a, b: unsigned(_remainder(int(a), int(b))))
    yield overload("-_(int) -> int", lambda number: signed(-number))
    yield overload("-_(double) -> double", operator.neg)


def _orders() -> Iterator[Overload]:
    relations = (("<", operator.lt), ("<=", operator.le), (">", operator.gt), (">=", operator.ge))
    for sign, relation in relations:
        for name in ("int", "uint", "double", "bool", "timestamp", "duration"):
            yield overload(f"_{sign}_({name}, {name}) -> bool", relation)
        for name in ("string", "bytes"):
            yield overload(f"_{sign}_({name}, {name}) -> bool", relation, lambda a, b: units_of(min(a, b, key=len)))


MIXED: Final = {
    f"_{sign}_": partial(compared, relation)
    for sign, relation in (("<", operator.lt), ("<=", operator.le), (">", operator.gt), (">=", operator.ge))
}
"""Order between numbers of different types, which only values whose types are not known before may have."""


def _across() -> Iterator[Overload]:
    for name, relation in MIXED.items():
        for one in _NUMBERS:
            for other in _NUMBERS:
                if one != other:
                    yield overload(f"{name}({one}, {other}) -> bool", relation)


ACROSS: Final = tuple(_across())
"""Order between numbers of different types, for values whose types are known."""


def _sum_cost(one: Any, other: Any) -> int:
    return (len(one) + len(other)) // 4 + 1


def _contains(element: Any, found: Any) -> bool:
    if type(found) is dict:
        return _has_key(found, element)
    return any(equal(element, each) for each in found)


def _cost_of_search(element: Any, found: Any) -> int:
    if type(found) is dict:
        return 1
    return len(found) if type(element) in (int, bool, float) else extent(found)


def _index(found: list[Any], index: int) -> Any:
    if 0 <= index < len(found):
        return found[index]
    raise Failure(f"index out of bounds: {index}")


def _has_key(found: dict[Any, Any], key: Any) -> bool:
    """Look a key up; a boolean is not equal to a number."""
    return key in found and (type(key) is str or any(equal(key, each) for each in found))


def _lookup(found: dict[Any, Any], key: Any) -> Any:
    if not _has_key(found, key):
        raise Failure(f"no such key: {key}")
    return found[key]


def double_text(number: float) -> str:
    """Return the shortest text of a number, as Go writes it: with an exponent below 1e-4 and from 1e21 on."""
    if not math.isfinite(number):
        return "NaN" if math.isnan(number) else "+Inf" if number > 0 else "-Inf"
    size = abs(number)
    if size and not 1e-4 <= size < 1e21:
        mantissa, _, exponent = f"{number!r}".partition("e")
        if not exponent:
            mantissa, _, exponent = f"{number:e}".partition("e")
        return f"{mantissa.removesuffix('.0')}e{exponent}"
    return str(int(number)) if number.is_integer() else repr(number)


def _number(text: str) -> str:
    if len(text) > _LONGEST_NUMBER or "_" in text or text != text.strip():
        raise Failure(f'parsing "{text[:_LONGEST_NUMBER]}": invalid syntax')
    return text


def _whole(text: str) -> int:
    try:
        return int(_number(text))
    except ValueError as error:
        raise Failure(f'strconv.ParseInt: parsing "{text}": invalid syntax') from error


def _double(text: str) -> float:
    try:
        return float(_number(text))
    except ValueError as error:
        raise Failure(f'strconv.ParseFloat: parsing "{text}": invalid syntax') from error


def _of_double(number: float, limit: Callable[[int], int]) -> int:
    if not math.isfinite(number) or number <= LEAST:
        raise Failure("integer overflow")
    return limit(int(number))


def _decoded(found: bytes) -> str:
    try:
        return found.decode()
    except UnicodeDecodeError as error:
        raise Failure("invalid UTF-8 in bytes, cannot convert to string") from error


_TRUTHS: Final = {
    **dict.fromkeys(("1", "t", "true", "TRUE", "True"), True),
    **dict.fromkeys(("0", "f", "false", "FALSE", "False"), False),
}


def _truth(text: str) -> bool:
    if text not in _TRUTHS:
        raise Failure(f'strconv.ParseBool: parsing "{text[:_LONGEST_NUMBER]}": invalid syntax')
    return _TRUTHS[text]


def _conversions() -> Iterator[Overload]:
    for name in ("int", "uint", "double", "string", "bytes", "bool"):
        yield overload(f"{name}({name}) -> {name}", lambda value: value)
    yield overload("int(uint) -> int", lambda number: signed(int(number)))
    yield overload("int(double) -> int", lambda number: _of_double(number, signed))
    yield overload("int(string) -> int", lambda text: signed(_whole(text)))
    yield overload("uint(int) -> uint", unsigned)
    yield overload("uint(double) -> uint", lambda number: _of_double(number, unsigned))
    yield overload("uint(string) -> uint", lambda text: unsigned(_whole(text)))
    for name in ("int", "uint"):
        yield overload(f"double({name}) -> double", float)
        yield overload(f"string({name}) -> string", lambda number: str(int(number)))
    yield overload("double(string) -> double", _double)
    yield overload("string(double) -> string", double_text)
    yield overload("string(bool) -> string", lambda value: "true" if value else "false")
    yield overload("string(bytes) -> string", _decoded, units_of)
    yield overload("bytes(string) -> bytes", str.encode, units_of)
    yield overload("bool(string) -> bool", _truth)
    yield overload("type(A) -> type", _type_of)


def _type_of(value: Any) -> Type:
    name = type_name(value)
    return NAMED.get(name) or Type(name)


FUNCTIONS: Final = (
    *_numbers(),
    *_orders(),
    *_conversions(),
    overload("_+_(string, string) -> string", operator.add, _sum_cost),
    overload("_+_(bytes, bytes) -> bytes", operator.add, _sum_cost),
    overload("_+_(list(A), list(A)) -> list(A)", operator.add, _sum_cost),
    overload("@in(A, list(A)) -> bool", _contains, _cost_of_search),
    overload("@in(A, map(A, B)) -> bool", _contains, _cost_of_search),
    overload("_[_](list(A), int) -> A", _index),
    overload("_[_](map(A, B), A) -> B", _lookup),
    overload("size(string) -> int", len),
    overload("size(bytes) -> int", len),
    overload("size(list(A)) -> int", len),
    overload("size(map(A, B)) -> int", len),
    overload("string.size() -> int", len),
    overload("bytes.size() -> int", len),
    overload("list(A).size() -> int", len),
    overload("map(A, B).size() -> int", len),
)
