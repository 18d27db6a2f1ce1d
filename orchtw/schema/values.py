"""JSON values → canonical values, one function per scalar or special form (reference ENC-19).

Each takes a value other than null and returns that of the canonical dict. Each raises Mismatch.
"""

from __future__ import annotations

import binascii
import math
from collections.abc import Callable, Collection, Iterable
from heapq import merge
from itertools import islice
from threading import local
from typing import Any

import orjson

from orchtw.schema.codec.mismatch import Mismatch
from orchtw.values.quantity import canonical_quantity
from orchtw.values.times import duration_text, micro_time_text, parse_duration, parse_time, time_text

MAX_DEPTH = 200  # levels of a value whose type sets no bound; orjson writes at most 254 in all
_ORJSON_LEVELS = 254
_SORTED_AT_ONCE = 20_000  # keys: some 10 ms
_EXACT_DOUBLE = 2**53  # integers up to here are exact, and are written without a fraction as Go does


def bool_value(value: object) -> bool:
    """Return a boolean; values that resemble one are rejected."""
    if value is True or value is False:
        return value
    raise Mismatch("a boolean", value)


def int32_value(value: object) -> int:
    """Return a 32-bit integer without fraction or exponent: Go rejects 1.0 for an int."""
    if type(value) is int and -(2**31) <= value < 2**31:
        return value
    raise Mismatch("a 32-bit integer" if type(value) is int else "an integer", value)


def int64_value(value: object) -> int:
    """Return a 64-bit integer without fraction or exponent."""
    if type(value) is int and -(2**63) <= value < 2**63:
        return value
    raise Mismatch("a 64-bit integer" if type(value) is int else "an integer", value)


def double_value(value: object) -> int | float:
    """Return a finite number; an integral one becomes an int, because Go writes it without a fraction."""
    if type(value) not in (int, float):
        raise Mismatch("a number", value)
    try:
        number = float(value)  # type: ignore[arg-type]
    except OverflowError as error:
        raise Mismatch("a number of 64 bits", "an integer of many digits") from error
    if not math.isfinite(number):
        raise Mismatch("a finite number", str(value))
    return int(number) if number.is_integer() and abs(number) <= _EXACT_DOUBLE else number


def string_value(value: object) -> str:
    """Return a text, unchanged."""
    if type(value) is not str:
        raise Mismatch("a string", value)
    return value


def bytes_value(value: object) -> str:
    """Return standard base64 with padding; line breaks are dropped as in Go."""
    if type(value) is not str:
        raise Mismatch("a base64 string", value)
    try:
        raw = binascii.a2b_base64(value.replace("\r", "").replace("\n", ""), strict_mode=True)
    except ValueError as error:
        raise Mismatch("base64 text", value) from error
    return binascii.b2a_base64(raw, newline=False).decode()


def time_value(value: object) -> str | None:
    """Return RFC 3339 in UTC with second precision; None for the zero time."""
    return time_text(_parsed_time(value)[0])


def micro_time_value(value: object) -> str | None:
    """Return RFC 3339 in UTC with six fractional digits; None for the zero time."""
    return micro_time_text(*_parsed_time(value))


def _parsed_time(value: object) -> tuple[int, int]:
    try:
        if type(value) is str:
            seconds, microseconds = parse_time(value)
            time_text(seconds)  # an offset may have moved it out of range
            return seconds, microseconds
    except (ValueError, OverflowError) as error:
        raise Mismatch("an RFC 3339 time", value) from error
    raise Mismatch("an RFC 3339 time", value)


def duration_value(value: object) -> str:
    """Return Go's text of a duration."""
    try:
        if type(value) is str:
            return duration_text(parse_duration(value))
    except ValueError as error:
        raise Mismatch('a duration such as "1h30m"', value) from error
    raise Mismatch('a duration such as "1h30m"', value)


def quantity_value(value: object) -> str:
    """Return a quantity in canonical form; numbers are accepted."""
    if type(value) is int or type(value) is float:
        value = repr(value)
    if type(value) is not str:
        raise Mismatch("a quantity", value)
    try:
        return canonical_quantity(value.strip())
    except ValueError as error:
        raise Mismatch("a quantity such as 500m, 1.5Gi or 1e3", value) from error


def int_or_string_value(value: object) -> int | str:
    """Return an integer of 32 bits or a string."""
    if type(value) is str:
        return value
    if type(value) is not int:
        raise Mismatch("an integer or a string", value)
    return int32_value(value)


def any_value(value: Any) -> Any:
    """Return a JSON value at most MAX_DEPTH levels deep."""
    if type(value) is dict or type(value) is list:
        check_depth(value)
    elif type(value) not in (str, int, float, bool):
        raise Mismatch("a JSON value", str(value))
    return value


def object_value(value: Any) -> Any:
    """Return a JSON object at most MAX_DEPTH levels deep."""
    if type(value) is not dict:
        raise Mismatch("an object", value)
    check_depth(value)
    return value


def strings_value(value: object) -> list[str]:
    """Return a list of strings; null elements become empty, as in Go."""
    if type(value) is not list:
        raise Mismatch("a list", value)
    for index, item in enumerate(value):
        if type(item) is not str:
            if item is None:
                return strings_value(["" if each is None else each for each in value])
            raise Mismatch("a string", item).at(f"[{index}]")
    return value


def string_map_value(value: object) -> dict[str, str]:
    """Return an object of strings with sorted keys."""
    if type(value) is not dict:
        raise Mismatch("an object", value)
    for key, item in value.items():
        if type(item) is not str:
            if item is None:
                return string_map_value({k: "" if v is None else v for k, v in value.items()})
            raise Mismatch("a string", item).at(f"[{key}]")
    return {key: value[key] for key in in_order(value)} if len(value) > 1 else value


def in_order(keys: Collection[str], order: Callable[[str], Any] | None = None) -> Iterable[str]:
    """Return the keys, sorted (by `order`); very many in parts, since sorting one list blocks all threads."""
    if len(keys) <= _SORTED_AT_ONCE:
        return sorted(keys, key=order)
    rest = iter(keys)
    return merge(*iter(lambda: sorted(islice(rest, _SORTED_AT_ONCE), key=order), []), key=order)


def _nested(levels: int) -> tuple[list[Any], list[Any]]:
    inner: list[Any] = [None]
    outer = inner
    for _ in range(levels - 1):
        outer = [outer]
    return outer, inner


class _Around(local):
    """A thread's own nested lists to put a value into."""

    def __init__(self) -> None:
        self.outer, self.slot = _nested(_ORJSON_LEVELS - MAX_DEPTH)


_around = _Around()


def check_depth(value: Any) -> None:
    """Raise Mismatch if `value` is nested deeper than MAX_DEPTH, or is not JSON.

    -90 % of the time of a walk in Python on the managed fields of a 6 KiB pod: orjson itself
    rejects more levels than it supports, so the value is tried inside as many as may surround it.
    """
    slot = _around.slot
    slot[0] = value
    try:
        orjson.dumps(_around.outer)
    except orjson.JSONEncodeError as error:
        expected = f"at most {MAX_DEPTH} levels" if "ecursion" in str(error) else "JSON"
        raise Mismatch(expected, value) from error
    finally:
        slot[0] = None
