"""Port numbers and names (reference KIND-34): each check returns the texts of errors, none for a valid value."""

from __future__ import annotations

import re
from typing import Final

from orchtw.values import utf8
from orchtw.values.names import max_length_text

HIGHEST: Final = 65535
_LONGEST_NAME: Final = 15
_ALLOWED: Final = re.compile("[-a-z0-9]+")
_LETTER: Final = re.compile("[a-z]")
_PORT_RANGE = re.compile(r"(\d{1,5})(?:([-+])(\d{1,5}))?", re.ASCII)
_is_usual = re.compile("[a-z](?:-?[a-z0-9])*").fullmatch


def port_number(value: int) -> tuple[str, ...]:
    """Return why `value` is not a port number."""
    return () if 1 <= value <= HIGHEST else (f"must be between 1 and {HIGHEST}, inclusive",)


def port_name(value: str) -> tuple[str, ...]:
    """Return every reason why `value` is not a port name."""
    if len(value) <= _LONGEST_NAME and _is_usual(value):
        return ()
    errors = []
    if utf8.size(value) > _LONGEST_NAME:
        errors.append(max_length_text(_LONGEST_NAME))
    if _ALLOWED.fullmatch(value) is None:
        errors.append("must contain only alpha-numeric characters (a-z, 0-9), and hyphens (-)")
    if _LETTER.search(value) is None:
        errors.append("must contain at least one letter or number (a-z, 0-9)")
    if "--" in value:
        errors.append("must not contain consecutive hyphens")
    if value[:1] == "-" or value[-1:] == "-":
        errors.append("must not begin or end with a hyphen")
    return tuple(errors)


def port(value: int | str) -> tuple[str, ...]:
    """Return why `value` is neither a port number nor a port name."""
    return port_name(value) if isinstance(value, str) else port_number(value)


def port_range(text: str) -> tuple[int, int] | None:
    """Parse `30000-32767`, `30000+2767` or `30000` into first and last; None if it is not a range."""
    found = _PORT_RANGE.fullmatch(text)
    if found is None:
        return None
    first, sign, other = found.groups("")
    return int(first), int(first) + int(other) if sign == "+" else int(other or first)
