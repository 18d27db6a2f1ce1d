"""Structural schemas in OpenAPI documents (reference OPENAPI-18)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

Schema = dict[str, Any]

_CONDITIONS = frozenset({"allOf", "anyOf", "oneOf", "not"})
_NOT_SHOWN = frozenset({"example", "externalDocs", "$schema", "id"})
_UNSAID_IN_V2 = _CONDITIONS | _NOT_SHOWN | {"default", "nullable"}

Embedded = Callable[[], Schema]
"""Function that makes the properties that every object has: apiVersion, kind and metadata."""


class StructuralRenderer:
    """Renders structural schemas in one dialect. `prefix` is that of their extensions, in the served vocabulary.

    `whole` renders everything, as version 3 can. Version 2 cannot, and its readers reject values that it describes
    wrong: a schema that allows null or keeps unknown fields has no type there, and neither items nor properties.
    """

    def __init__(self, prefix: str, embedded: Embedded, *, whole: bool) -> None:
        self._embedded = embedded
        self._whole = whole
        self._keeps = f"{prefix}preserve-unknown-fields"
        self._is_object = f"{prefix}embedded-resource"
        self._int_or_string = f"{prefix}int-or-string"

    def is_free(self, structure: Mapping[str, Any]) -> bool:
        """Report whether a kind is published without properties, because clients would reject its unknown fields."""
        return not self._whole and bool(structure.get(self._keeps))

    def root(self, structure: Mapping[str, Any]) -> Schema:
        """Return the schema of a kind's objects."""
        return self._with_types(self.of(structure))

    def of(self, structure: Mapping[str, Any]) -> Schema:
        """Return the OpenAPI form of one schema and those in it."""
        shown = self._all_of(structure) if self._whole else self._less_of(structure)
        if not structure.get(self._is_object) or "type" not in shown:
            return shown
        required = list(shown.get("required") or ())
        required += [name for name in ("kind", "apiVersion") if name not in required]
        return self._with_types({**shown, "required": required})

    def _with_types(self, schema: Schema) -> Schema:
        return {**schema, "properties": {**schema.get("properties", {}), **self._embedded()}}

    def _all_of(self, structure: Mapping[str, Any]) -> Schema:
        shown = self._below({key: value for key, value in structure.items() if key not in _NOT_SHOWN})
        if structure.get(self._int_or_string) and not _says_int_or_string(structure):
            return _with_int_or_string(shown)
        return shown

    def _less_of(self, structure: Mapping[str, Any]) -> Schema:
        shown = {key: value for key, value in structure.items() if key not in _UNSAID_IN_V2}
        if structure.get("nullable") or structure.get(self._keeps):
            for key in ("type", "items", "properties"):
                shown.pop(key, None)
        if shown.get("type") == "array" and "items" not in shown:
            del shown["type"]  # readers cannot handle a list of anything
        self._require_less(shown)
        return self._below(shown)

    @staticmethod
    def _require_less(shown: Schema) -> None:
        """Make nullable properties optional: version 2 has no null, and readers treat null as absent."""
        if "required" not in shown:
            return
        properties, more = shown.get("properties") or {}, shown.get("additionalProperties")
        required = [name for name in shown["required"] if not properties.get(name, {}).get("nullable")]
        if not required or (isinstance(more, dict) and more.get("nullable")):
            del shown["required"]
        else:
            shown["required"] = required

    def _below(self, shown: Schema) -> Schema:
        """Convert the schemas inside `shown`, in place."""
        if "properties" in shown:
            shown["properties"] = {name: self.of(part) for name, part in shown["properties"].items()}
        for key in ("items", "additionalProperties"):
            if isinstance(shown.get(key), dict):
                shown[key] = self.of(shown[key])
        return shown


_INT_OR_STRING: Final[list[Schema]] = [{"type": "integer"}, {"type": "string"}]


def _says_int_or_string(structure: Mapping[str, Any]) -> bool:
    """Report whether a schema sets the types of an int-or-string itself."""
    first: Mapping[str, Any] = next(iter(structure.get("allOf") or ()), {})
    return _INT_OR_STRING in (structure.get("anyOf"), first.get("anyOf"))


def _with_int_or_string(shown: Schema) -> Schema:
    """Add the choice of both types, beside other choices."""
    if "anyOf" not in shown:
        return {**shown, "anyOf": _INT_OR_STRING}
    return {**shown, "allOf": [{"anyOf": _INT_OR_STRING}, *shown.get("allOf", ())]}
