"""Texts of validation errors, in the words of the release (reference CRD-17)."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from typing import Any, Final

import orjson

from orchtw.errors import Cause
from orchtw.values import causes
from orchtw.values.causes import MAX_SHOWN_CHARACTERS, go_quote

NOWHERE: Final = "<nil>"
"""The field of what is said of a value as a whole."""

_SHOWN_PARTS: Final = 64
_SHOWN_DEPTH: Final = 20
_CUT: Final = "..."


def invalid(field: str, value: Any, detail: str) -> Cause:
    """Return the cause of a value at `field` that breaks a rule."""
    return causes.invalid(field, causes.Literal(shown(value)), detail)


def wrong_type(field: str, value: Any, detail: str) -> Cause:
    """Return the cause of a value at `field` of another type or format."""
    return Cause("FieldValueTypeInvalid", f"Invalid value: {shown(value)}: {detail}", field)


def not_supported(field: str, value: Any, allowed: list[Any]) -> Cause:
    """Return the cause of a value that is not allowed."""
    texts = (each if type(each) is str else orjson.dumps(each).decode() for each in islice(allowed, _SHOWN_PARTS))
    listed = ", ".join(go_quote(text) for text in texts) + (f", {_CUT}" if len(allowed) > _SHOWN_PARTS else "")
    return Cause("FieldValueNotSupported", f"Unsupported value: {shown(value)}: supported values: {listed}", field)


def too_long(field: str, limit: int) -> Cause:
    """Return the cause of a text at `field` with more than `limit` characters."""
    return Cause("FieldValueTooLong", f"Too long: may not be longer than {limit}", field)


def duplicate(field: str, value: Any) -> Cause:
    """Return the cause of a value at `field` that comes a second time."""
    return causes.duplicate(field, causes.Literal(shown(value)))


def shown(value: Any) -> str:
    """Return a value as a cause shows it; of a long one the beginning."""
    if value is None:
        return '"null"'
    return go_quote(value) if type(value) is str else _cut("".join(_pieces(value, 0, 0)))


def number(value: float) -> str:
    """Return a number as Go prints it."""
    if type(value) is float and value.is_integer() and abs(value) < 1e21:
        return str(int(value))
    return str(value)


def _cut(text: str) -> str:
    return text if len(text) <= MAX_SHOWN_CHARACTERS else text[:MAX_SHOWN_CHARACTERS] + _CUT


def _pieces(value: Any, characters: int, depth: int) -> Iterator[str]:
    """Yield the literal of an untyped value in pieces, of which some have been; they end when nobody will read on."""
    if depth > _SHOWN_DEPTH:
        yield _CUT
    elif type(value) is dict:
        yield "map[string]interface {}{"
        keys = sorted(islice(value, _SHOWN_PARTS))
        yield from _parts(((f"{go_quote(key)}:", value[key]) for key in keys), characters, depth)
        yield "}"
    elif type(value) is list:
        yield "[]interface {}{"
        yield from _parts((("", each) for each in value[:_SHOWN_PARTS]), characters, depth)
        yield "}"
    elif value is None:
        yield "interface {}(nil)"
    elif type(value) is str:
        yield go_quote(value)
    else:
        yield ("true" if value else "false") if type(value) is bool else number(value)


def _parts(parts: Iterator[tuple[str, Any]], characters: int, depth: int) -> Iterator[str]:
    separator = ""
    for name, value in parts:
        if characters > MAX_SHOWN_CHARACTERS:
            return
        yield separator + name
        for piece in _pieces(value, characters + len(name), depth + 1):
            characters += len(piece)
            yield piece
        separator = ", "
