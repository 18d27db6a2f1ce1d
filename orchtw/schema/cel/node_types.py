"""Schema nodes → types of expressions, for checks before any object is there (reference POLICY-14)."""

from __future__ import annotations

from functools import cache
from typing import Final

from orchtw.schema.cel.declarations import escaped
from orchtw.schema.cel.types import (
    BOOL,
    BYTES,
    DOUBLE,
    DYN,
    INT,
    STRING,
    TIMESTAMP,
    CelMember,
    Type,
    list_of,
    map_of,
)
from orchtw.schema.nodes import ListSchema, MapSchema, Node, NodeForm, Scalar, StructSchema

_SIMPLE: Final = {
    Scalar.STRING: STRING,
    Scalar.BOOL: BOOL,
    Scalar.INT32: INT,
    Scalar.INT64: INT,
    Scalar.DOUBLE: DOUBLE,
    Scalar.BYTES: BYTES,
    NodeForm.TIME: TIMESTAMP,
    NodeForm.MICRO_TIME: TIMESTAMP,
    NodeForm.STRINGS: list_of(STRING),
}


def type_of(node: Node, name: str) -> Type:
    """Return the type of a node's values; `dyn` for a node of any value."""
    if isinstance(node, StructSchema):
        return DYN if node.unknown is not None else _struct(node, name)
    if isinstance(node, ListSchema):
        return list_of(type_of(node.element, name + ".@elem"))
    if isinstance(node, MapSchema):
        return map_of(STRING, type_of(node.value, name + ".@elem"))
    return _SIMPLE.get(node, DYN) if isinstance(node, Scalar | NodeForm) else DYN


def _struct(node: StructSchema, name: str) -> Type:
    @cache
    def members() -> dict[str, CelMember]:
        found = {}
        if node.kind:
            found = {key: CelMember(key, STRING, None) for key in ("apiVersion", "kind")}
        for key, field in node.keys.items():
            member = CelMember(key, type_of(field.node, f"{name}.{key}"), None)
            # Objects without a schema have names as they are, others escaped ones: both are accepted.
            found[key] = member
            if (shown := escaped(key)) is not None:
                found[shown] = member
        return found

    return Type(name, members=members)
