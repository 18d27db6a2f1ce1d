"""Data of config maps and secrets: size limit and immutability."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from orchtw.errors import Cause
from orchtw.values.causes import forbidden
from orchtw.wire.objects import Object

MAX_PAYLOAD_BYTES: Final = 1 << 20
_IMMUTABLE: Final = "field is immutable when `immutable` is set"


def encoded_bytes(values: Mapping[str, str]) -> int:
    """Return the decoded size of all values, which are base64 with padding."""
    return sum(3 * (len(value) // 4) - value.count("=", -2) for value in values.values())


def immutability(new: Object, old: Object, *fields: str) -> list[Cause]:
    """Check that an immutable object stays so, and keeps its data."""
    if not old.get("immutable"):
        return []
    changed = [field for field in fields if (new.get(field) or {}) != (old.get(field) or {})]
    if not new.get("immutable"):
        changed.insert(0, "immutable")
    return [forbidden(field, _IMMUTABLE) for field in changed]
