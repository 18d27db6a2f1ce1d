"""Quantities: exact decimal amounts with a unit, kept in canonical form (reference OBJ-18).

The canonical form has no fraction and the largest unit that loses nothing; it stays in the family in which the
amount was written: decimal units (`500m`), binary units (`1Mi`) or an exponent (`1e3`).
"""

from __future__ import annotations

import re
from functools import lru_cache

import msgspec

_DECIMAL_UNITS = {"n": -9, "u": -6, "m": -3, "": 0, "k": 3, "M": 6, "G": 9, "T": 12, "P": 15, "E": 18}
_BINARY_UNITS = {"Ki": 1, "Mi": 2, "Gi": 3, "Ti": 4, "Pi": 5, "Ei": 6}
_DECIMAL_SUFFIXES = {exponent: unit for unit, exponent in _DECIMAL_UNITS.items()}
_BINARY_SUFFIXES = {power: unit for unit, power in _BINARY_UNITS.items()}
_SYNTAX = re.compile(r"([+-]?)([0-9]*)(?:\.([0-9]*))?([numkMGTPE]?|[KMGTPE]i|[eE][+-]?[0-9]+)", re.ASCII)
_FINEST = -9  # nano: anything finer is rounded away from zero
_LONGEST = 256  # characters; arithmetic on longer ones would be expensive
_LARGEST_EXPONENT = 2**31 - 1
_LARGEST_BINARY = 2**63 - 1


class Quantity(msgspec.Struct, frozen=True):
    """`mantissa` × 10^`exponent`, no finer than nano; `family` is "binary", "decimal" or "exponent"."""

    mantissa: int
    exponent: int
    family: str

    @classmethod
    def parse(cls, text: str) -> Quantity:
        """Parse a quantity. Raises ValueError with the reason if `text` is not one."""
        if len(text) > _LONGEST:
            raise ValueError("a quantity is at most 256 characters long")
        match = _SYNTAX.fullmatch(text)
        digits = match and (match[2] or "") + (match[3] or "")
        if not match or not digits:
            raise ValueError("a quantity is a number with an optional unit, such as 500m, 1.5Gi or 1e3")
        mantissa = int(digits)
        exponent = -len(match[3] or "")
        unit = match[4]
        if unit in _BINARY_UNITS:
            family, mantissa = "binary", mantissa << 10 * _BINARY_UNITS[unit]
        elif unit in _DECIMAL_UNITS:
            family, exponent = "decimal", exponent + _DECIMAL_UNITS[unit]
        else:
            family, exponent = "exponent", exponent + int(unit[1:])
        if abs(exponent) > _LARGEST_EXPONENT:
            raise ValueError("the exponent of a quantity has at most 32 bits")
        mantissa, exponent = _rounded(mantissa, exponent)
        if family == "binary" and _exceeds(mantissa, exponent, _LARGEST_BINARY):
            mantissa, exponent = _LARGEST_BINARY, 0
        return cls(-mantissa if match[1] == "-" else mantissa, exponent, family)

    @property
    def whole(self) -> bool:
        """Report whether the quantity is an integer."""
        return self.exponent >= 0 or self.mantissa % 10**-self.exponent == 0

    def compare(self, other: Quantity) -> int:
        """Return -1, 0 or 1 as this is less than, equal to or more than `other`; cheap for any exponents."""
        left, right = self.mantissa, other.mantissa
        if left == 0 or right == 0 or (left < 0) != (right < 0):
            return _sign(_sign(left) - _sign(right))
        difference = _order(self) - _order(other)
        if difference:
            return _sign(difference) * _sign(left)
        least = min(self.exponent, other.exponent)  # the exponents differ by less than the number of digits
        return _sign(left * 10 ** (self.exponent - least) - right * 10 ** (other.exponent - least))

    def canonical(self) -> str:
        """Return the canonical text."""
        mantissa, exponent = _without_zeros(self.mantissa, self.exponent)
        if not mantissa:
            return "0"
        if self.family == "binary" and exponent >= 0 and _exceeds(abs(mantissa), exponent, 1023):
            return _binary_text(mantissa * 10**exponent)
        spare = exponent % 3
        mantissa, exponent = mantissa * 10**spare, exponent - spare
        if self.family == "exponent" or exponent not in _DECIMAL_SUFFIXES:
            return f"{mantissa}e{exponent}" if exponent else str(mantissa)
        return f"{mantissa}{_DECIMAL_SUFFIXES[exponent]}"


@lru_cache(maxsize=8192)  # as below
def quantity(text: str) -> Quantity:
    """Return the quantity of a valid text, cached."""
    return Quantity.parse(text)


@lru_cache(maxsize=8192)  # clusters use the same few amounts over and over
def canonical_quantity(text: str) -> str:
    """Return the canonical form of a quantity's text. Raises ValueError with the reason if it is not one."""
    return Quantity.parse(text).canonical()


def _rounded(mantissa: int, exponent: int) -> tuple[int, int]:
    """Round away from zero to nano."""
    if exponent >= _FINEST or not mantissa:
        return mantissa, exponent if mantissa else 0
    dropped = _FINEST - exponent
    if dropped > _LONGEST:  # more digits than there can be
        return 1, _FINEST
    return -(-mantissa // 10**dropped), _FINEST


def _sign(number: int) -> int:
    return (number > 0) - (number < 0)


def _order(amount: Quantity) -> int:
    """Return the power of ten just above a non-zero amount."""
    return len(str(abs(amount.mantissa))) + amount.exponent


def _exceeds(mantissa: int, exponent: int, limit: int) -> bool:
    left, right = (mantissa, limit * 10**-exponent) if exponent < 0 else (mantissa * 10**exponent, limit)
    return bool(left > right)


def _without_zeros(mantissa: int, exponent: int) -> tuple[int, int]:
    while mantissa and mantissa % 10 == 0:
        mantissa, exponent = mantissa // 10, exponent + 1
    return mantissa, exponent


def _binary_text(amount: int) -> str:
    power = 0
    while amount % 1024 == 0:
        amount, power = amount // 1024, power + 1
    while power > 6:
        amount, power = amount * 1024, power - 1
    return f"{amount}{_BINARY_SUFFIXES[power]}" if power else str(amount)
