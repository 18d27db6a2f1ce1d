"""Paths of members in a schema: `.spec.color`, and `['x.y']` for names with other signs (reference CRD-31)."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any, Final

import msgspec

_TOKEN: Final = re.compile(r"[.\[\]]|[^.\[\]]+")
_QUOTED: Final = re.compile(r"\['((?:[^'\\]|\\.)*)'\]")
_ESCAPED: Final = re.compile(r"\\(.)")
_NOWHERE: Final = "does not refer to a valid field"


class PathFault(Exception):
    """A path that leads nowhere."""


class FieldPath(msgspec.Struct, frozen=True):
    """A path as causes show it, from `.` or `[` on, its steps, and the schema that it leads to."""

    shown: str
    steps: tuple[str, ...]
    schema: Mapping[str, Any]


def field_path(path: str, schema: Mapping[str, Any], *, brackets: bool = True) -> FieldPath:
    """Return the field at a path. Raises PathFault; `brackets`: names between them are allowed."""
    shown, steps = "", []
    for name in _names(path, brackets):
        members, more = schema.get("properties"), schema.get("additionalProperties")
        if members:
            if name not in members:
                raise PathFault(_NOWHERE)
            schema, shown = members[name], f"{shown}.{name}"
        elif isinstance(more, Mapping):
            schema, shown = more, f"{shown}[{name}]"
        else:
            raise PathFault(_NOWHERE)
        steps.append(name)
    return FieldPath(shown, tuple(steps), schema)


def _names(path: str, brackets: bool) -> Iterator[str]:
    position = 0
    while position < len(path):
        sign = path[position]
        if sign == "[":
            if not brackets:
                raise PathFault("array notation is not allowed")
            match = _QUOTED.match(path, position)
            if match is None:
                found = _TOKEN.match(path, position + 1)
                raise PathFault(f"expected single quoted string but got {found[0] if found else ''}")
            yield _ESCAPED.sub(lambda each: each[1], match[1])
        elif sign == ".":
            match = _TOKEN.match(path, position + 1)
            if match is None:
                raise PathFault("unexpected end of JSON path")
            yield match[0]
        else:
            found = _TOKEN.match(path, position)
            raise PathFault(f"expected [ or . but got: {found[0] if found else ''}")
        position = match.end()
