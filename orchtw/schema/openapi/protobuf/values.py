"""Conversions that both binary forms share: free values, and objects with free keys as lists of named entries."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import orjson

Parts = dict[str, Any]


def same(value: Any) -> Any:
    """Return a value unchanged, for a field that takes it as it is."""
    return value


def free(value: object) -> Parts:
    """Return a value of any type: its JSON text, which is YAML too."""
    return {"yaml": orjson.dumps(value).decode()}


def extensions(document: Mapping[str, Any]) -> list[Parts]:
    """Return the members of an object whose names begin with `x-`."""
    return [{"name": key, "value": free(value)} for key, value in document.items() if key.startswith("x-")]


def named(document: Mapping[str, Any], convert: Callable[[Any], Parts]) -> list[Parts]:
    """Return the members of an object with free keys, in order."""
    return [{"name": key, "value": convert(value)} for key, value in document.items()]


def security(document: Mapping[str, Any]) -> list[Parts]:
    """Return the `security` member of a document."""
    return [{"additional_properties": named(each, lambda scopes: {"value": scopes})} for each in document["security"]]


KEYWORDS: dict[str, tuple[str, Callable[[Any], Any]]] = {
    "title": ("title", same),
    "description": ("description", same),
    "format": ("format", same),
    "required": ("required", same),
    "enum": ("enum", lambda values: [free(each) for each in values]),
    "multipleOf": ("multiple_of", float),
    "maximum": ("maximum", float),
    "exclusiveMaximum": ("exclusive_maximum", same),
    "minimum": ("minimum", float),
    "exclusiveMinimum": ("exclusive_minimum", same),
    "maxLength": ("max_length", same),
    "minLength": ("min_length", same),
    "pattern": ("pattern", same),
    "maxItems": ("max_items", same),
    "minItems": ("min_items", same),
    "uniqueItems": ("unique_items", same),
    "maxProperties": ("max_properties", same),
    "minProperties": ("min_properties", same),
}
"""Keywords that schemas of both versions have: the field of the schema's message, and the conversion of the value."""
