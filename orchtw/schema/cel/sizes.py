"""Largest sizes of values by their schema: its own limits, or what a request has room for."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

Structure = Mapping[str, Any]

REQUEST_BYTES: Final = 3 * 1024 * 1024
"""Size of the largest body."""

MOST_TEXT_BYTES: Final = REQUEST_BYTES - 2
"""Size of the longest text in a request: it is between quotes."""

_TEXTS: Final = {"duration": 3, "date": 12, "date-time": 21}
_LONGEST: Final = {"duration": 32, "date": 12, "date-time": 32}
_SCALARS: Final = {"boolean": 4, "integer": 1, "number": 1, "object": 2, "array": 2, "string": 2}
_SHORTEST_ENTRY: Final = 6  # bytes of a map's entry without its value: quotes, colon, comma, a key~


def least_bytes(schema: Structure) -> int:
    """Return the length of the shortest JSON of a value."""
    kind = schema.get("type")
    if kind == "string":
        return _TEXTS.get(schema.get("format") or "", 2)
    size = _SCALARS.get(str(kind), 1)
    if kind == "object":
        parts = schema.get("properties") or {}
        for name in schema.get("required") or ():
            if name in parts and "default" not in parts[name]:
                size += len(name) + 4 + least_bytes(parts[name])
    return size


def item_bytes(schema: Structure) -> int:
    """Return the least size of an element of a list, with its comma."""
    return least_bytes(schema["items"]) + 1


def entry_bytes(schema: Structure) -> int:
    """Return the least size of a map's entry: key and value."""
    return least_bytes(schema["additionalProperties"]) + _SHORTEST_ENTRY


def most_elements(limit: float | None, size_bytes: int) -> int:
    """Return how many elements of `size_bytes` a list or map holds at most: its own limit, or what a request fits."""
    return MOST_TEXT_BYTES // size_bytes if limit is None else max(0, int(limit))


def most_text(schema: Structure) -> int:
    """Return the bytes of the longest text that a schema allows; a character may take four."""
    limit, shape = schema.get("maxLength"), schema.get("format") or ""
    if shape in _LONGEST:
        return _LONGEST[shape]
    if limit is not None:
        return max(0, int(limit)) * (1 if shape == "byte" else 4)
    if shape != "byte" and (values := schema.get("enum")):
        return max((len(each.encode()) for each in values if isinstance(each, str)), default=0)
    return MOST_TEXT_BYTES


def most_values(schema: Structure) -> int:
    """Return how many values of a schema fit into one request, with a comma each."""
    return REQUEST_BYTES // (least_bytes(schema) + 1)
