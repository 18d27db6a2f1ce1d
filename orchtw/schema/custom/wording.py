"""Texts of validation errors, in the words of the release (reference CRD-17)."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import islice
from typing import Any, Final

import msgspec
import orjson

from orchtw.errors import Cause
from orchtw.schema.custom.terms import OLDEST_FORMS, Forms
from orchtw.values import causes
from orchtw.values.causes import MAX_SHOWN_CHARACTERS, go_quote

NOWHERE: Final = "<nil>"
"""The field of what is said of a value as a whole."""

_SHOWN_PARTS: Final = 64
_SHOWN_DEPTH: Final = 20
_CUT: Final = "..."


def invalid(field: str, value: Any, detail: str, forms: Forms = OLDEST_FORMS) -> Cause:
    """Return the cause of a value at `field` that breaks a rule."""
    return causes.invalid(field, causes.Literal(shown(value, forms)), detail)


def wrong_type(field: str, value: str, detail: str) -> Cause:
    """Return the cause of a value at `field` of another type or format."""
    return Cause("FieldValueTypeInvalid", f"Invalid value: {go_quote(value)}: {detail}", field)


def not_supported(field: str, value: Any, allowed: list[Any], forms: Forms = OLDEST_FORMS) -> Cause:
    """Return the cause of a value that is not allowed."""
    texts = (each if type(each) is str else orjson.dumps(each).decode() for each in islice(allowed, _SHOWN_PARTS))
    listed = ", ".join(go_quote(text) for text in texts) + (f", {_CUT}" if len(allowed) > _SHOWN_PARTS else "")
    detail = f"supported values: {listed}"
    return Cause("FieldValueNotSupported", f"Unsupported value: {shown(value, forms)}: {detail}", field)


def too_long(field: str, limit: int, forms: Forms = OLDEST_FORMS) -> Cause:
    """Return the cause of a text at `field` with more than `limit` characters."""
    if forms.counts_bytes:
        detail = f"may not be more than {limit} {'byte' if limit == 1 else 'bytes'}"
    else:
        detail = f"may not be longer than {limit}"
    return Cause("FieldValueTooLong", f"Too long: {detail}", field)


def duplicate(field: str, value: Any, forms: Forms = OLDEST_FORMS) -> Cause:
    """Return the cause of a value at `field` that comes a second time."""
    return causes.duplicate(field, causes.Literal(shown(value, forms)))


def shown(value: Any, forms: Forms = OLDEST_FORMS) -> str:
    """Return a value as a cause shows it; of a long one the beginning."""
    if value is None:
        return "null" if forms.as_json else '"null"'
    if type(value) is str:
        return go_quote(value)
    return _cut("".join(_pieces(value, _JSON if forms.as_json else _GO, 0, 0)))


def number(value: float) -> str:
    """Return a number as Go prints it."""
    if type(value) is float and value.is_integer() and abs(value) < 1e21:
        return str(int(value))
    return str(value)


def _cut(text: str) -> str:
    return text if len(text) <= MAX_SHOWN_CHARACTERS else text[:MAX_SHOWN_CHARACTERS] + _CUT


class _Syntax(msgspec.Struct, frozen=True):
    """Form of lists and objects."""

    open_map: str
    open_list: str
    close_list: str
    separator: str
    null: str
    quote: Callable[[str], str]


def _json_text(text: str) -> str:
    """Return a text as Go writes it in JSON; of a long one the beginning."""
    return orjson.dumps(_cut(text)).decode().translate(_ESCAPED_IN_JSON)


_ESCAPED_IN_JSON: Final = {ord(each): f"\\u{ord(each):04x}" for each in "<>&\u2028\u2029"}
_GO: Final = _Syntax("map[string]interface {}{", "[]interface {}{", "}", ", ", "interface {}(nil)", go_quote)
_JSON: Final = _Syntax("{", "[", "]", ",", "null", _json_text)


def _pieces(value: Any, syntax: _Syntax, characters: int, depth: int) -> Iterator[str]:
    """Yield the literal of an untyped value in pieces, of which some have been; they end when nobody will read on."""
    if depth > _SHOWN_DEPTH:
        yield _CUT
    elif type(value) is dict:
        yield syntax.open_map
        keys = sorted(islice(value, _SHOWN_PARTS))
        parts = ((f"{syntax.quote(key)}:", value[key]) for key in keys)
        yield from _parts(parts, syntax, characters, depth)
        yield "}"
    elif type(value) is list:
        yield syntax.open_list
        yield from _parts((("", each) for each in value[:_SHOWN_PARTS]), syntax, characters, depth)
        yield syntax.close_list
    elif value is None:
        yield syntax.null
    elif type(value) is str:
        yield syntax.quote(value)
    else:
        yield ("true" if value else "false") if type(value) is bool else number(value)


def _parts(parts: Iterator[tuple[str, Any]], syntax: _Syntax, characters: int, depth: int) -> Iterator[str]:
    separator = ""
    for name, value in parts:
        if characters > MAX_SHOWN_CHARACTERS:
            return
        yield separator + name
        for piece in _pieces(value, syntax, characters + len(name), depth + 1):
            characters += len(piece)
            yield piece
        separator = syntax.separator
