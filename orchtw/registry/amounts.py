"""Amounts of resources as they are stored: nothing finer than a thousandth."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import Any

from orchtw.values.quantity import Quantity

_MILLI = -3


@lru_cache(maxsize=8192)  # clusters use the same few amounts over and over
def rounded_up(text: str) -> str:
    """Return a canonical quantity in whole milli units, rounded away from zero."""
    amount = Quantity.parse(text)
    if amount.exponent >= _MILLI:
        return text
    scale = 10 ** (_MILLI - amount.exponent)
    mantissa = -(-abs(amount.mantissa) // scale)
    return Quantity(-mantissa if amount.mantissa < 0 else mantissa, _MILLI, amount.family).canonical()


def round_up(holder: Mapping[str, Any] | None, *names: str) -> None:
    """Round the amounts in the resource lists `names` of `holder`, which may all be absent (reference KIND-15)."""
    for name in names if holder else ():
        assert holder is not None
        amounts = holder.get(name)
        if amounts:
            for key, text in amounts.items():
                amounts[key] = rounded_up(text)
