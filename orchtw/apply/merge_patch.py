"""JSON merge patch, RFC 7386 (reference PATCH-12)."""

from __future__ import annotations

from typing import Any

from orchtw.errors import BadRequest
from orchtw.schema.codec.json_text import parse_json


def parse_merge_patch(body: bytes) -> dict[str, Any]:
    """Return the patch document. Raises BadRequest (400) for anything but a JSON object."""
    try:
        document = parse_json(body)
    except ValueError:
        raise BadRequest("Invalid JSON Patch") from None
    if type(document) is not dict:
        raise BadRequest("Invalid JSON Patch")
    return document


def merge_patch(target: Any, patch: Any) -> Any:
    """Return `target` merged with `patch`: null deletes, objects merge, everything else replaces.

    Neither argument is modified; the result shares parts with both.
    """
    if not isinstance(patch, dict):
        return patch
    merged = dict(target) if isinstance(target, dict) else {}
    for key, value in patch.items():
        if value is None:
            merged.pop(key, None)
        else:
            merged[key] = merge_patch(merged.get(key), value)
    return merged
