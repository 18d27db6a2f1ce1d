"""Answers of webhooks that are reviews: JSON objects of an expected kind."""

from __future__ import annotations

from typing import Any, Final

from orchtw.values.causes import go_quote
from orchtw.wire.json_values import loads

_SHOWN: Final = 200


class BadResponse(Exception):
    """An answer that cannot be understood; the text says why."""


def answered(answer: bytes) -> dict[str, Any]:
    """The object of an answer. Raises BadAnswer."""
    try:
        whole = loads(answer)
    except ValueError:
        raise BadResponse("the webhook's answer is not JSON") from None
    if not isinstance(whole, dict):
        raise BadResponse("the webhook's answer is not an object")
    return whole


def check_type(whole: dict[str, Any], kind: str, api_version: str) -> None:
    """Raises BadAnswer for an object of another kind or version, or of none."""
    for name, expected in (("kind", kind), ("apiVersion", api_version)):
        found = field(whole, name, str, "")
        if found != expected:
            raise BadResponse(f"the webhook's answer has {name} {go_quote(found[:_SHOWN])}, expected {expected}")


def field(fields: dict[str, Any], name: str, kind: type, missing: Any) -> Any:
    """A field of that type, or `missing`. Raises BadAnswer."""
    value = fields.get(name)
    if value is None:
        return missing
    if not isinstance(value, kind):
        raise BadResponse(f"the webhook's answer has a wrong type of {name}")
    return value
