"""Parsing of `resourceVersion`, and its meaning for a get (reference READ-3, READ-7)."""

from __future__ import annotations

from typing import Final

from orchtw.errors import BadRequest
from orchtw.rules.options import Params, text
from orchtw.values.causes import go_quote

_UINT64: Final = 1 << 64


def get_revision(params: Params) -> int | None:
    """Return the resourceVersion of a get: None is latest, 0 any, else not older. Raises BadRequest (400)."""
    return revision_of(text(params, "resourceVersion"), limited=False) if params else None


def parse_revision(version: str) -> int:
    """Parse a resourceVersion. Raises ValueError, in the API's words, unless it is an unsigned 64-bit decimal."""
    if not (version.isascii() and version.isdigit()):
        raise ValueError(f"strconv.ParseUint: parsing {go_quote(version)}: invalid syntax")
    if len(version) > 20 or (number := int(version)) >= _UINT64:
        raise ValueError(f"strconv.ParseUint: parsing {go_quote(version)}: value out of range")
    return number


def revision_of(version: str, limited: bool) -> int | None:
    """Return a requested resourceVersion, None if empty. Raises BadRequest (400), in other words with a limit."""
    if not version:
        return None
    try:
        return parse_revision(version)
    except ValueError as exc:
        why = f"resourceVersion: Invalid value: {go_quote(version)}: {exc}"
        raise BadRequest(f"invalid resource version: {why}" if limited else why) from exc
