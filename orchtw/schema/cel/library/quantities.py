"""Library functions of quantities: amounts with a unit."""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar, Final

from orchtw.schema.cel.faults import Failure
from orchtw.schema.cel.overloads import Overload, overload
from orchtw.schema.cel.values import LARGEST, LEAST, Opaque
from orchtw.values import quantity

_LARGEST_POWER: Final = 64
"""Largest power of ten that sums are taken of: more digits than any amount needs."""


class Quantity(Opaque, frozen=True):
    """An amount. Two are equal if their values are."""

    type_name: ClassVar[str] = "quantity"

    amount: quantity.Quantity

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Quantity) and self.amount.compare(other.amount) == 0

    __hash__ = None  # type: ignore[assignment]


def _parsed(text: str) -> Quantity:
    try:
        return Quantity(quantity.Quantity.parse(text))
    except ValueError as error:
        why = "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'"
        raise Failure(why) from error


def _is_quantity(text: str) -> bool:
    try:
        quantity.Quantity.parse(text)
    except ValueError:
        return False
    return True


def _sign(found: Quantity) -> int:
    return (found.amount.mantissa > 0) - (found.amount.mantissa < 0)


def _whole(found: Quantity) -> int | None:
    """Return an amount as an integer of 64 bits, or None if it is a fraction or too large."""
    amount = found.amount
    if not amount.whole or amount.exponent > _LARGEST_POWER:
        return 0 if not amount.mantissa else None
    number = amount.mantissa * 10**amount.exponent if amount.exponent >= 0 else _scaled_down(amount)
    return number if LEAST <= number <= LARGEST else None


def _scaled_down(amount: quantity.Quantity) -> int:
    size: int = abs(amount.mantissa) // 10**-amount.exponent
    return -size if amount.mantissa < 0 else size


def _as_integer(found: Quantity) -> int:
    number = _whole(found)
    if number is None:
        raise Failure("cannot convert value to integer")
    return number


def _as_float(found: Quantity) -> float:
    try:
        return float(f"{found.amount.mantissa}e{found.amount.exponent}")
    except ValueError as error:
        raise Failure("cannot convert value to double") from error


def _sum(one: quantity.Quantity, other: quantity.Quantity, sign: int) -> Quantity:
    least = min(one.exponent, other.exponent)
    if max(one.exponent, other.exponent) - least > 2 * _LARGEST_POWER:
        raise Failure("quantity overflow")
    mantissa = one.mantissa * 10 ** (one.exponent - least) + sign * other.mantissa * 10 ** (other.exponent - least)
    return Quantity(quantity.Quantity(mantissa, least, one.family))


def _sums() -> Iterator[Overload]:
    for name, sign in (("add", 1), ("sub", -1)):

        def amounts(one: Quantity, other: Quantity, sign: int = sign) -> Quantity:
            return _sum(one.amount, other.amount, sign)

        def numbers(one: Quantity, other: int, sign: int = sign) -> Quantity:
            return _sum(one.amount, _plain(other), sign)

        yield overload(f"quantity.{name}(quantity) -> quantity", amounts, lambda *_: 4)
        yield overload(f"quantity.{name}(int) -> quantity", numbers, lambda *_: 4)


def _plain(number: int) -> quantity.Quantity:
    return quantity.Quantity(number, 0, "decimal")


def _compared(one: Quantity, other: Quantity) -> int:
    return one.amount.compare(other.amount)


FUNCTIONS: Final = (
    overload("quantity(string) -> quantity", _parsed, len),
    overload("isQuantity(string) -> bool", _is_quantity, len),
    overload("quantity.sign() -> int", _sign),
    overload("quantity.isInteger() -> bool", lambda found: _whole(found) is not None),
    overload("quantity.asInteger() -> int", _as_integer),
    overload("quantity.asApproximateFloat() -> double", _as_float),
    *_sums(),
    overload("quantity.isGreaterThan(quantity) -> bool", lambda one, other: _compared(one, other) > 0),
    overload("quantity.isLessThan(quantity) -> bool", lambda one, other: _compared(one, other) < 0),
    overload("quantity.compareTo(quantity) -> int", _compared),
)
