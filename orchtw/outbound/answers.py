"""Responses of webhooks that are reviews: JSON objects of an expected kind."""

from __future__ import annotations

from typing import Any, Final

from orchtw.values.causes import go_quote
from orchtw.wire.json_values import loads

_SHOWN: Final = 200


class BadResponse(Exception):
    """Error about a response that cannot be understood; the text gives the reason."""


def answered(answer: bytes) -> dict[str, Any]:
    """Return the object of a response. Raises BadResponse."""
    try:
        whole = loads(answer)
    except ValueError:
        raise BadResponse("the webhook's answer is not JSON") from None
    if not isinstance(whole, dict):
        raise BadResponse("the webhook's answer is not an object")
    return whole


def check_type(whole: dict[str, Any], kind: str, api_version: str) -> None:
    """Raise BadResponse for an object without the expected kind and version."""
    for name, expected in (("kind", kind), ("apiVersion", api_version)):
        found = field(whole, name, str, "")
        if found != expected:
            raise BadResponse(f"the webhook's answer has {name} {go_quote(found[:_SHOWN])}, expected {expected}")


def field(fields: dict[str, Any], name: str, kind: type, missing: Any) -> Any:
    """Return a field of that type, or `missing` for an absent or null one. Raises BadResponse."""
    value = fields.get(name)
    if value is None:
        return missing
    if not isinstance(value, kind):
        raise BadResponse(f"the webhook's answer has {name} of the wrong type")
    return value
