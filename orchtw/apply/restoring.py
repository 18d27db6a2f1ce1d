"""Errors for results of strategic merges that do not match the schema, in the release's words (reference PATCH-18).
"""

from __future__ import annotations

from typing import Any, Final

from orchtw.schema.nodes import EitherSchema, ListSchema, MapSchema, Node, NodeForm, Scalar, StructSchema

_NAMES: Final = {
    Scalar.STRING: "string",
    Scalar.BOOL: "bool",
    Scalar.INT32: "int32",
    Scalar.INT64: "int64",
    Scalar.DOUBLE: "float64",
}
_NUMBERS: Final = (Scalar.INT32, Scalar.INT64)


def restoring_fault(node: Node, value: Any) -> str:
    """Return the error for the first part of a JSON value whose type does not match its node, or an empty string.

    Forms with parsers of their own, such as times and quantities, are not checked. May raise RecursionError.
    """
    if value is None or isinstance(node, NodeForm | EitherSchema):
        return ""
    if isinstance(node, Scalar):
        return _scalar_fault(node, value)
    if isinstance(node, ListSchema):
        if not isinstance(value, list):
            return f"cannot restore slice from {_kind(value)}"
        return next(filter(None, (restoring_fault(node.element, each) for each in value)), "")
    if not isinstance(value, dict):
        return f"cannot restore {'map from' if isinstance(node, MapSchema) else 'struct from:'} {_kind(value)}"
    if isinstance(node, MapSchema):
        return next(filter(None, (restoring_fault(node.value, each) for each in value.values())), "")
    return _struct_fault(node, value)


def _struct_fault(node: StructSchema, value: dict[str, Any]) -> str:
    found = (restoring_fault(field.node, value[key]) for key, field in node.keys.items() if key in value)
    return next(filter(None, found), "")


def _scalar_fault(node: Scalar, value: Any) -> str:
    kind = _kind(value)
    if node is Scalar.BYTES:
        return "" if kind == "string" else f"cannot restore slice from {kind}"
    name = _NAMES[node]
    if kind == name or (node in _NUMBERS and kind == "int64") or (node is Scalar.DOUBLE and kind == "int64"):
        return ""
    if kind == "float64" and node in _NUMBERS:
        return "" if value.is_integer() else f"cannot convert {kind} to {name}"
    return f"cannot convert {kind} to {name}" if (kind, name) == ("int64", "string") else f"unrecognized type: {name}"


def _kind(value: Any) -> str:
    """Return the Go type of a decoded JSON value."""
    if isinstance(value, bool):
        return "bool"
    if isinstance(value, int):
        return "int64"
    if isinstance(value, float):
        return "float64"
    return "string" if isinstance(value, str) else "map" if isinstance(value, dict) else "slice"
