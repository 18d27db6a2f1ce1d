"""How many elements there may be in what a schema describes: its own limits, or what a request has room for."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

Structure = Mapping[str, Any]

REQUEST_BYTES: Final = 3 * 1024 * 1024
"""Of the largest body."""

_TEXTS: Final = {"duration": 4, "date": 12, "date-time": 22}
_SCALARS: Final = {"boolean": 4, "integer": 1, "number": 1, "object": 2, "array": 2, "string": 2}
_SHORTEST_ENTRY: Final = 6  # of a map, without its value: quotes, a sign between them and around


def least_bytes(schema: Structure) -> int:
    """The length of the shortest JSON of a value."""
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
    """Of an element of a list, with what stands between."""
    return least_bytes(schema["items"]) + 1


def entry_bytes(schema: Structure) -> int:
    """Of a key of a map with its value."""
    return least_bytes(schema["additionalProperties"]) + _SHORTEST_ENTRY


def most_elements(limit: float | None, size_bytes: int) -> int:
    """Of a list or map with a limit or without, whose elements take so much."""
    return REQUEST_BYTES // size_bytes if limit is None else int(limit)


def most_values(schema: Structure) -> int:
    """Of values of a schema in one request."""
    return REQUEST_BYTES // least_bytes(schema)
