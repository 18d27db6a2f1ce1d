"""Canonical dicts: values of absent fields, and nodes of unbounded depth."""

from __future__ import annotations

from orchtw.schema.nodes import EitherSchema, Field, ListSchema, MapSchema, Node, NodeForm, Scalar, StructSchema

_ZEROS: dict[Node, str] = {
    Scalar.STRING: "''",
    Scalar.BOOL: "False",
    Scalar.INT32: "0",
    Scalar.INT64: "0",
    Scalar.DOUBLE: "0",
    Scalar.BYTES: "''",
    NodeForm.DURATION: "'0s'",
    NodeForm.QUANTITY: "'0'",
    NodeForm.INT_OR_STRING: "0",
    NodeForm.STRINGS: "[]",
}


def zero(node: Node) -> str:
    """Return the literal for a null list element or map value; struct nodes have none."""
    return _ZEROS.get(node, "None") if isinstance(node, Scalar | NodeForm) else "None"


def is_omitted(field: Field) -> bool:
    """Report whether an absent or zero value leaves no key in JSON (reference ENC-17).

    `omitempty` does not apply to a struct in place, nor to a special form that is one in Go: those are never omitted.
    """
    return field.omitempty and (field.pointer or not in_place(field.node))


def in_place(node: Node) -> bool:
    """Report whether a field of this node without a pointer is a struct for Go, which is never left out."""
    if isinstance(node, NodeForm):
        return node is not NodeForm.STRINGS
    return isinstance(node, StructSchema | EitherSchema)


def absent(field: Field) -> str:
    """Return the literal that JSON shows for an absent field that is not omitted. Not for a struct in place."""
    return "None" if field.pointer or field.node in (Scalar.BYTES, NodeForm.STRINGS) else zero(field.node)


def is_unbounded(node: Node) -> bool:
    """Report whether the node's values may nest without end."""
    if isinstance(node, ListSchema):
        return is_unbounded(node.element)
    if isinstance(node, MapSchema):
        return is_unbounded(node.value)
    return node.recursive if isinstance(node, StructSchema) else isinstance(node, EitherSchema)
