"""Exact arithmetic on resource amounts, by resource name."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from functools import lru_cache
from typing import Final, NamedTuple

from orchtw.values.quantity import Quantity, quantity

_NANO: Final = -9
_LARGEST_EXPONENT: Final = 400
"""Cap on the exponent of amounts: an exponent of nine digits would otherwise take arbitrarily long."""

_LARGEST_BINARY: Final = (2**63 - 1) * 10**9
"""Largest amount that can be parsed again in binary units."""


class Amount(NamedTuple):
    """Amount in `nanos` (billionths); `family` is its notation: "decimal", "binary" or "exponent"."""

    nanos: int
    family: str

    def plus(self, other: Amount) -> Amount:
        """Return the sum, in this amount's family, or in the other's if this amount is 0."""
        return Amount(self.nanos + other.nanos, self.family if self.nanos else other.family)

    @property
    def text(self) -> str:
        """Return the canonical quantity."""
        return _text(self)


Amounts = Mapping[str, Amount]
"""Amounts by resource name."""

NOTHING: Final[Amounts] = {}
ZERO: Final = Amount(0, "decimal")
ONE: Final = Amount(10**-_NANO, "decimal")


@lru_cache(maxsize=8192)  # clusters use the same few amounts over and over
def amount(text: str) -> Amount:
    """Parse a quantity into an amount."""
    found = quantity(text)
    scale = min(found.exponent, _LARGEST_EXPONENT) - _NANO
    return Amount(int(found.mantissa * 10**scale), found.family)


@lru_cache(maxsize=8192)  # as above
def _text(found: Amount) -> str:
    family = "decimal" if abs(found.nanos) > _LARGEST_BINARY else found.family
    return Quantity(found.nanos, _NANO, family).canonical()


def whole(number: int) -> Amount:
    """Return the amount of a whole number, as of objects."""
    return Amount(number * ONE.nanos, "decimal")


def rounded_up(found: Amount) -> Amount:
    """Round up to a whole amount."""
    return Amount(-(-found.nanos // ONE.nanos) * ONE.nanos, found.family)


def amounts(texts: Mapping[str, str] | None) -> Amounts:
    """Parse the amounts of an object's resource list."""
    return {name: amount(text) for name, text in texts.items()} if texts else NOTHING


def texts(found: Amounts) -> dict[str, str]:
    """Format amounts as an object's resource list, in order of names."""
    return {name: found[name].text for name in sorted(found)}


def total(left: Amounts, right: Amounts) -> Amounts:
    """Add amounts by name; a name may be in either or both."""
    if not left or not right:
        return left or right
    found = dict(left)
    for name, more in right.items():
        known = found.get(name)
        found[name] = more if known is None else known.plus(more)
    return found


def times(found: Amounts, count: int) -> Amounts:
    """Return the amounts times `count`."""
    return {name: Amount(each.nanos * count, each.family) for name, each in found.items()}


def largest(left: Amounts, right: Amounts) -> Amounts:
    """Return the larger amount of each name; of equal ones the right one."""
    found = dict(left)
    for name, other in right.items():
        known = found.get(name)
        if known is None or known.nanos <= other.nanos:
            found[name] = other
    return found


def growth(new: Amounts, old: Amounts) -> Amounts:
    """Return the increase of each amount that is larger in `new` than in `old`."""
    found = {name: Amount(each.nanos - old.get(name, ZERO).nanos, each.family) for name, each in new.items()}
    return {name: each for name, each in found.items() if each.nanos > 0}


def only(found: Amounts, names: Collection[str]) -> dict[str, Amount]:
    """Return the amounts of these names."""
    return {name: each for name, each in found.items() if name in names}


def shown(found: Amounts) -> str:
    """Format amounts for error messages."""
    return ",".join(f"{name}={found[name].text}" for name in sorted(found))


def listed(names: Iterable[str]) -> str:
    """Format names for error messages."""
    return ",".join(sorted(names))
