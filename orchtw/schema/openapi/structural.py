"""Structural schemas as OpenAPI shows them (reference OPENAPI-18)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

Schema = dict[str, Any]

_CONDITIONS = frozenset({"allOf", "anyOf", "oneOf", "not"})
_NOT_SHOWN = frozenset({"example", "externalDocs", "$schema", "id"})
_UNSAID_IN_V2 = _CONDITIONS | _NOT_SHOWN | {"default", "nullable"}

Embedded = Callable[[], Schema]
"""Makes the properties that every object has: apiVersion, kind and metadata."""


class Shown:
    """Structural schemas in one dialect. `prefix` is that of their extensions, in the vocabulary that is served.

    `whole` says everything, as version 3 can. Version 2 cannot, and its readers refuse values that it is wrong about:
    what may be null or of several types has no type there, and an object that keeps unknown fields no properties.
    """

    def __init__(self, prefix: str, embedded: Embedded, *, whole: bool) -> None:
        self._embedded = embedded
        self._whole = whole
        self._keeps = f"{prefix}preserve-unknown-fields"
        self._is_object = f"{prefix}embedded-resource"
        self._int_or_string = f"{prefix}int-or-string"

    def root(self, structure: Mapping[str, Any]) -> Schema:
        """The schema of a kind's objects."""
        if not self._whole and structure.get(self._keeps):
            return {key: structure[key] for key in ("description", self._keeps) if key in structure} | {
                "type": "object"
            }
        return self._with_types(self.of(structure))

    def of(self, structure: Mapping[str, Any]) -> Schema:
        """One schema and those in it."""
        shown = self._all_of(structure) if self._whole else self._less_of(structure)
        return self._with_types(shown) if structure.get(self._is_object) and "type" in shown else shown

    def _with_types(self, schema: Schema) -> Schema:
        return {**schema, "properties": {**schema.get("properties", {}), **self._embedded()}}

    def _all_of(self, structure: Mapping[str, Any]) -> Schema:
        shown: Schema = {}
        for key, value in structure.items():
            if key in _NOT_SHOWN:
                continue
            if key == "properties":
                value = {name: self.of(part) for name, part in value.items()}
            elif key == "items" or (key == "additionalProperties" and type(value) is dict):
                value = self.of(value)
            shown[key] = value
        return shown

    def _less_of(self, structure: Mapping[str, Any]) -> Schema:
        shown = {key: value for key, value in structure.items() if key not in _UNSAID_IN_V2}
        if structure.get("nullable") or structure.get(self._int_or_string):
            shown.pop("type", None)
        if structure.get("nullable") or structure.get(self._keeps):
            for key in ("properties", "items", "additionalProperties", "required"):
                shown.pop(key, None)
            return shown
        if "properties" in shown:
            self._show_properties(shown)
        if "items" in shown:
            shown["items"] = self.of(shown["items"])
        if type(shown.get("additionalProperties")) is dict:
            shown["additionalProperties"] = self.of(shown["additionalProperties"])
        return shown

    def _show_properties(self, shown: Schema) -> None:
        """A property that may be null need not be there: to readers both are the same."""
        properties = shown["properties"]
        required = [name for name in shown.get("required", ()) if not properties.get(name, {}).get("nullable")]
        shown.pop("required", None)
        if required:
            shown["required"] = required
        shown["properties"] = {name: self.of(part) for name, part in properties.items()}
