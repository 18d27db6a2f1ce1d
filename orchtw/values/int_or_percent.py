"""Amounts of pods as a number or a percentage, such as 2 or `25%`."""

from __future__ import annotations

import re

from orchtw.errors import Cause
from orchtw.values.causes import NOT_NEGATIVE, Literal, invalid
from orchtw.values.go_literals import as_amount
from orchtw.values.names import regex_text

_PERCENT = "[0-9]+%"
_PERCENT_TEXT = regex_text(
    "a valid percent string must be a numeric string followed by an ending '%'", _PERCENT, "1%", "93%"
)
_is_percent = re.compile(_PERCENT).fullmatch
_is_number = re.compile("[+-]?[0-9]+").fullmatch
_DIGITS = 19  # of a number of 64 bits: longer ones exceed any limit


def amount(value: int | str | None) -> int:
    """Return the number, or that of the percentage; 0 for other texts."""
    if isinstance(value, str):
        if _is_percent(value):
            return _number(value[:-1])
        return _number(value) if _is_number(value) else 0
    return value or 0


def share_causes(field: str, value: int | str | None) -> list[Cause]:
    """Return the causes of negative numbers, and of texts other than percentages."""
    if isinstance(value, str):
        return [] if _is_percent(value) else [invalid(field, Literal(as_amount(value)), _PERCENT_TEXT)]
    if value is not None and value < 0:
        return [invalid(field, value, NOT_NEGATIVE)]
    return []


def part_causes(field: str, value: int | str | None) -> list[Cause]:
    """Return the causes of percentages above 100."""
    if isinstance(value, str) and _is_percent(value) and _number(value[:-1]) > 100:
        return [invalid(field, Literal(as_amount(value)), "must not be greater than 100%")]
    return []


def _number(digits: str) -> int:
    sign = -1 if digits[0] == "-" else 1
    return sign * int(digits.lstrip("+-0")[:_DIGITS] or "0")
