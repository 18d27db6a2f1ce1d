"""Functions that compiled validators call for broken rules. Fields are paths below the checked struct."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any, Final

import orjson

from orchtw.errors import MAX_NAME_CHARACTERS, Cause
from orchtw.schema.codec.mismatch import shortened
from orchtw.schema.nodes import StructRules
from orchtw.values.causes import duplicate, forbidden, invalid, not_supported, required, too_long, too_many
from orchtw.values.go_literals import SELECTOR, shown

IMMUTABLE: Final = "field is immutable"
UNSET: Final[tuple[object, ...]] = (None, "", [])
"""Values that count as not set in a choice of keys."""


def at(place: int | str) -> str:
    """Return the path step to an element by its index, or to a value by its key, which is a client's text."""
    return f"[{place}]" if isinstance(place, int) else f"[{shortened(place, MAX_NAME_CHARACTERS)}]"


def within(place: str, causes: Sequence[Cause]) -> list[Cause]:
    """Return causes found in the value at `place`, with paths from the struct that holds it."""
    return [Cause(each.reason, each.message, _joined(place, each.field)) for each in causes]


def _joined(place: str, field: str) -> str:
    return f"{place}.{field}" if field and not field.startswith("[") else place + field


def beyond(place: str, value: float, rules: StructRules) -> Cause:
    """Return the cause for a number beyond its limits."""
    low, high = rules.minimum, rules.maximum
    if low is None:
        usual = f"must be less than or equal to {high}"
    elif high is None:
        usual = f"must be greater than or equal to {low}"
    else:
        usual = f"must be between {low} and {high}, inclusive"
    return invalid(place, value, rules.detail or usual)


def too_few(place: str, value: Sequence[Any] | Mapping[str, Any], least: int) -> Cause:
    """Return the cause for a list or map with fewer than `least` entries; an empty one counts as missing."""
    return invalid(place, len(value), f"must have at least {least} items") if value else required(place)


def identity(value: Any) -> bytes:
    """Return a key that equal elements of a list share."""
    return orjson.dumps(value)


GIVEN: Final[Mapping[str, Any]] = {
    "IMMUTABLE": IMMUTABLE,
    "UNSET": UNSET,
    "at": at,
    "beyond": beyond,
    "duplicate": duplicate,
    "forbidden": forbidden,
    "identity": identity,
    "invalid": invalid,
    "not_supported": not_supported,
    "required": required,
    "too_few": too_few,
    "too_long": too_long,
    "too_many": too_many,
    "selector": partial(shown, SELECTOR),
    "within": within,
}
"""The names that the source of a validator can use."""
