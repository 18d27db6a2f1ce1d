"""What both binary forms have in common: free values, and objects with free keys as lists of named entries."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import orjson

Parts = dict[str, Any]


def same(value: Any) -> Any:
    """A value that goes into its field as it is."""
    return value


def free(value: object) -> Parts:
    """A value of any type: its JSON text, which is YAML too."""
    return {"yaml": orjson.dumps(value).decode()}


def extensions(document: Mapping[str, Any]) -> list[Parts]:
    """The members of an object whose names begin with `x-`."""
    return [{"name": key, "value": free(value)} for key, value in document.items() if key.startswith("x-")]


def named(document: Mapping[str, Any], convert: Callable[[Any], Parts]) -> list[Parts]:
    """The members of an object with free keys, in order."""
    return [{"name": key, "value": convert(value)} for key, value in document.items()]


def security(document: Mapping[str, Any]) -> list[Parts]:
    """The `security` member of a document."""
    return [{"additional_properties": named(each, lambda scopes: {"value": scopes})} for each in document["security"]]
