"""OpenAPI schemas with merge markers → schema nodes, for data that no descriptor describes (reference APPLY-32)."""

from __future__ import annotations

from typing import Any

from orchtw.naming.naming import Naming
from orchtw.schema.nodes import MISSING, Field, ListSchema, MapSchema, Node, NodeForm, Scalar, StructSchema

_SCALARS = {"string": Scalar.STRING, "boolean": Scalar.BOOL, "integer": Scalar.INT64, "number": Scalar.DOUBLE}


def node_of(schema: dict[str, Any] | None, naming: Naming, *, preserve: bool = False) -> Node:
    """The node of an OpenAPI schema; of none, untyped data.

    `preserve`: keys that are not declared are kept, as below a schema that says so.
    """
    if not schema:
        return NodeForm.ANY
    prefix = naming.extension_prefix
    preserve = preserve or schema.get(prefix + "preserve-unknown-fields") is True
    if schema.get(prefix + "int-or-string"):
        return NodeForm.INT_OR_STRING
    kind = schema.get("type") or ("object" if "properties" in schema else "")
    if kind == "object":
        return _object(schema, naming, preserve)
    if kind == "array":
        return ListSchema(
            node_of(schema.get("items"), naming, preserve=preserve),
            schema.get(prefix + "list-type", ""),
            tuple(schema.get(prefix + "list-map-keys", ())),
        )
    return _SCALARS.get(kind, NodeForm.ANY)


def _object(schema: dict[str, Any], naming: Naming, preserve: bool) -> Node:
    atomic = schema.get(naming.extension_prefix + "map-type") == "atomic"
    properties = schema.get("properties")
    if properties is None and not preserve:
        values = schema.get("additionalProperties")
        element = node_of(values if isinstance(values, dict) else None, naming)
        return MapSchema(element, "atomic" if atomic else "")
    fields = [
        Field(
            name=name,
            node=node_of(part, naming, preserve=preserve),
            default=part.get("default", MISSING),
            required=name in schema.get("required", ()),
        )
        for name, part in (properties or {}).items()
    ]
    return StructSchema("object", fields, atomic=atomic, unknown=NodeForm.ANY if preserve else None)
