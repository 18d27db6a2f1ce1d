"""Names of field managers (reference WRITE-18, APPLY-10)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final

from orchtw.errors import MAX_CAUSES, Cause
from orchtw.values import utf8
from orchtw.values.causes import invalid, too_long

FIELD_MANAGER_LIMIT_BYTES: Final = 128
SUBRESOURCE_LIMIT_BYTES: Final = 256

_OPERATIONS: Final = ("Apply", "Update")
_FIELDS_TYPES: Final = (None, "", "FieldsV1")
_SURELY_SHORT: Final = FIELD_MANAGER_LIMIT_BYTES // 4  # characters, of four bytes at most


def field_manager_causes(manager: str, field: str) -> list[Cause]:
    """Return every reason why `manager` at `field` is invalid: too long, or unprintable characters."""
    causes = []
    if utf8.size(manager) > FIELD_MANAGER_LIMIT_BYTES:
        causes.append(too_long(field, FIELD_MANAGER_LIMIT_BYTES))
    if not manager.isprintable():
        position = 0
        for char in manager:
            if len(causes) > MAX_CAUSES:
                break
            if not char.isprintable():
                text = f"invalid character U+{ord(char):04X} (at position {position})"
                causes.append(invalid(field, manager, text))
            position += utf8.size(char)
    return causes


def entry_causes(entries: Iterable[Mapping[str, Any]], field: str) -> list[Cause]:
    """Return every reason why decoded `entries` of managedFields at `field` are invalid (reference APPLY-10)."""
    causes: list[Cause] = []
    for index, entry in enumerate(entries):
        if len(causes) > MAX_CAUSES:
            break
        manager = entry.get("manager", "")
        if len(manager) > _SURELY_SHORT or not manager.isprintable():
            causes += field_manager_causes(manager, f"{field}[{index}].manager")
        if entry.get("operation") not in _OPERATIONS:
            operation = entry.get("operation", "")
            causes.append(invalid(f"{field}[{index}].operation", operation, "must be `Apply` or `Update`"))
        if entry.get("fieldsType") not in _FIELDS_TYPES:
            causes.append(invalid(f"{field}[{index}].fieldsType", entry["fieldsType"], "must be `FieldsV1`"))
        if utf8.size(entry.get("subresource", "")) > SUBRESOURCE_LIMIT_BYTES:
            causes.append(too_long(f"{field}[{index}].subresource", SUBRESOURCE_LIMIT_BYTES))
    return causes
