"""Exports: files of JSON lines with the objects at one revision, and the writes after it.

The first line is a header, `{"orchRecord": 1, "revision": N}`. Lines of objects have the type `EXISTING`; records
have their own type, and the object before and after; those of faults have no object.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import BinaryIO, Final

import orjson

from orchtw.errors import ConfigError
from orchtw.wire.json_values import loads
from orchtw.wire.objects import Object

EXISTING: Final = "EXISTING"
FAULT: Final = "FAULT"
"""Type of the record of a fault after which nothing was stored."""

WRITES: Final = ("ADDED", "MODIFIED", "DELETED")
"""Types of records of writes."""

FORMAT: Final = "orchRecord"
VERSION: Final = 1

Name = tuple[str, str, str, str]
"""Group, plural, namespace and name of an object."""

_TEXTS: Final = ("group", "version", "resource", "namespace", "name")
_TYPES: Final = frozenset({EXISTING, FAULT, *WRITES})


def header(revision: int) -> Object:
    """Return the first line of an export that begins at a revision."""
    return {FORMAT: VERSION, "revision": revision}


def line_of(value: Object) -> bytes:
    """Return a value as a line."""
    return orjson.dumps(value, option=orjson.OPT_APPEND_NEWLINE)


def read(source: BinaryIO, name: str) -> Iterator[Object]:
    """Yield the lines of an export behind its header, checked as far as their use needs. Raises ConfigError."""
    lines = enumerate(source, 1)
    first = next(lines, (1, b""))[1]
    if _value(first).get(FORMAT) != VERSION:
        raise ConfigError(f"{name}: is not an export of orch-record, or one of an unknown version")
    for number, line in lines:
        value = _value(line)
        if not _is_whole(value):
            raise ConfigError(f"{name}: line {number} is neither an object nor a record with its objects")
        yield value


def _value(line: bytes) -> Object:
    try:
        value = loads(line)
    except ValueError:
        return {}
    return value if isinstance(value, dict) else {}


def _is_whole(value: Object) -> bool:
    kind = value.get("type")
    if kind not in _TYPES or not all(isinstance(value.get(name), str) for name in _TEXTS):
        return False
    if not isinstance(value.get("revision"), int) or (kind != EXISTING and not isinstance(value.get("time"), str)):
        return False
    if kind == FAULT:
        return True
    obj = value.get("previous" if kind == "DELETED" else "object")
    return isinstance(obj, dict) and isinstance(obj.get("metadata"), dict)


def name_of(value: Object) -> Name:
    """Return the name of a line's object."""
    return value["group"], value["resource"], value["namespace"], value["name"]


def state_at(lines: Iterable[Object], revision: int | None) -> list[Object]:
    """Return the lines of the objects at a revision, None: at the end of the export, in the order of their creation.

    Lines of records stand for the object that they leave. A record without a readable object is left out.
    """
    found: dict[Name, Object] = {}
    for value in lines:
        if value["type"] != EXISTING and revision is not None and value["revision"] > revision:
            break
        if value["type"] == FAULT:
            continue
        if value["type"] == "DELETED":
            found.pop(name_of(value), None)
        else:
            found[name_of(value)] = value
    return list(found.values())
