"""Causes of a 422 in the words of the API: `<word>: <value>: <detail>` (reference ERR-4, ERR-5).

Values are shown in Go's form, because clients and tests read these texts.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from heapq import nsmallest
from typing import Any, Final

import msgspec
import orjson

from orchtw.errors import Cause

_ESCAPES = {
    '"': '\\"',
    "\\": "\\\\",
    "\a": "\\a",
    "\b": "\\b",
    "\f": "\\f",
    "\n": "\\n",
    "\r": "\\r",
    "\t": "\\t",
    "\v": "\\v",
}

WHOLE_OBJECT: Final = "[]"
"""Field of causes about an object as a whole: Go's text for an empty path."""

NOT_NEGATIVE: Final = "must be greater than or equal to 0"
"""Detail for a negative number."""

MAX_SHOWN_CHARACTERS: Final = 1024
"""Limit of a value's characters in a message: every legal name, key and label value is shorter."""

_MAX_SHOWN_ITEMS: Final = 64  # of a list or a map in a message

_CUT: Final = "..."


def go_quote(text: str) -> str:
    """Quote `text`, escaped as by Go's %q; a long one is cut."""
    if len(text) > MAX_SHOWN_CHARACTERS:
        text = text[:MAX_SHOWN_CHARACTERS] + _CUT
    if text.isascii() and text.isprintable() and '"' not in text and "\\" not in text:
        return f'"{text}"'
    return '"' + "".join(_quoted(char) for char in text) + '"'


def _quoted(char: str) -> str:
    if char in _ESCAPES:
        return _ESCAPES[char]
    if char.isprintable():
        return char
    code = ord(char)
    if code < 0x80:
        return f"\\x{code:02x}"
    return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


class Literal(msgspec.Struct, frozen=True):
    """A value with its text for a cause, such as those of `orchtw.values.go_literals`."""

    text: str


def go_time(stamp: str) -> Literal:
    """Return a time, RFC 3339 text in UTC or "" for none, in Go's default form."""
    day, _, rest = (stamp or "0001-01-01T00:00:00Z").partition("T")
    seconds, dot, fraction = rest.removesuffix("Z").partition(".")
    if fraction := fraction.rstrip("0"):
        seconds += dot + fraction
    return Literal(f"{day} {seconds} +0000 UTC")


def go_value(value: Any) -> str:
    """Return the text of `value` in a cause, cut if it is long (reference ERR-5).

    Text is quoted, numbers and booleans are plain, lists and maps of text are Go literals, anything else is JSON.
    """
    if isinstance(value, Literal):
        return value.text
    if isinstance(value, str):
        return go_quote(value)
    if isinstance(value, bool):
        return "true" if value else "false"
    if value is None:
        return '"null"'
    if isinstance(value, (int, float)):
        return str(value)
    if isinstance(value, (list, tuple)) and all(isinstance(item, str) for item in value):
        return "[]string{" + joined(map(go_quote, value)) + "}"
    if isinstance(value, dict) and all(isinstance(item, str) for item in value.values()):
        return go_map(value)
    text = orjson.dumps(value).decode()
    return text if len(text) <= MAX_SHOWN_CHARACTERS else text[:MAX_SHOWN_CHARACTERS] + _CUT


def go_map(value: Mapping[str, str]) -> str:
    """Return a map of texts as a Go literal."""
    first = nsmallest(_MAX_SHOWN_ITEMS + 1, value.items())
    return "map[string]string{" + joined(f"{go_quote(key)}:{go_quote(item)}" for key, item in first) + "}"


def go_bytes(value: bytes) -> str:
    """Return bytes as a Go literal, cut if it is long."""
    return "[]byte{" + joined(map(hex, value)) + "}"


def joined(texts: Iterable[str]) -> str:
    """Join texts with commas, and cut the result if it is long."""
    shown: list[str] = []
    characters = 0
    for text in texts:
        if len(shown) >= _MAX_SHOWN_ITEMS or characters > MAX_SHOWN_CHARACTERS:
            return ", ".join((*shown, _CUT))
        shown.append(text)
        characters += len(text)
    return ", ".join(shown)


def invalid(field: str, value: Any, detail: str) -> Cause:
    """Return the cause of a value at `field` that breaks the rule in `detail`."""
    return Cause("FieldValueInvalid", _join("Invalid value", go_value(value), detail), field)


def invalid_bytes(field: str, value: bytes, detail: str) -> Cause:
    """Return the cause of bytes at `field` that break the rule in `detail`."""
    return Cause("FieldValueInvalid", _join("Invalid value", go_bytes(value), detail), field)


def required(field: str, detail: str = "") -> Cause:
    """Return the cause of a missing `field`."""
    return Cause("FieldValueRequired", _join("Required value", detail), field)


def duplicate(field: str, value: Any) -> Cause:
    """Return the cause of a repeated value at `field`."""
    return Cause("FieldValueDuplicate", _join("Duplicate value", go_value(value)), field)


def not_supported(field: str, value: Any, supported: Sequence[str]) -> Cause:
    """Return the cause of a value outside `supported`, which is shown in the given order."""
    detail = "supported values: " + ", ".join(map(go_quote, supported)) if supported else ""
    return Cause("FieldValueNotSupported", _join("Unsupported value", go_value(value), detail), field)


def forbidden(field: str, detail: str) -> Cause:
    """Return the cause of a `field` that may not be set here."""
    return Cause("FieldValueForbidden", _join("Forbidden", detail), field)


def not_found(field: str, value: Any) -> Cause:
    """Return the cause of a reference at `field` to something that does not exist."""
    return Cause("FieldValueNotFound", _join("Not found", go_value(value)), field)


def too_long(field: str, limit_bytes: int) -> Cause:
    """Return the cause of a value at `field` with more than `limit_bytes` bytes."""
    return Cause("FieldValueTooLong", f"Too long: must have at most {limit_bytes} bytes", field)


def too_many(field: str, count: int, limit: int) -> Cause:
    """Return the cause of a list at `field` with more than `limit` items."""
    return Cause("FieldValueTooMany", f"Too many: {count}: must have at most {limit} items", field)


def _join(*parts: str) -> str:
    return ": ".join(part for part in parts if part)
