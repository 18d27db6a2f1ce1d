"""Structural schemas → schema nodes: what a definition says of its objects, as the rest of the server asks for it."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Any

import orjson

from orchtw.naming import Naming
from orchtw.schema.nodes import MISSING, Field, Form, ListSchema, MapSchema, Node, Scalar, StructSchema

_SCALARS = {"string": Scalar.STRING, "boolean": Scalar.BOOL, "integer": Scalar.INT64, "number": Scalar.DOUBLE}
_TYPE_FIELDS = frozenset({"apiVersion", "kind", "metadata"})


class CustomSchema(StructSchema):
    """The nodes of a custom kind in one version. They are made when they are first needed.

    `source` is the structural schema as JSON, in the vocabulary that is served; `metadata` the node of ObjectMeta.
    """

    __slots__ = ("naming", "source")

    def __init__(self, name: str, source: bytes, metadata: Node, naming: Naming) -> None:
        super().__init__(name, lambda: _fields(self, metadata), kind="object")
        self.source = source
        self.naming = naming
        if self.structure().get(f"{naming.extension_prefix}preserve-unknown-fields"):
            self.unknown = Form.ANY

    def structure(self) -> Mapping[str, Any]:
        """The structural schema; parsed at each call, because few need it and not for long."""
        found: Mapping[str, Any] = orjson.loads(self.source)
        return found


def _fields(schema: CustomSchema, metadata: Node) -> list[Field]:
    structure = schema.structure()
    properties = structure.get("properties") or {}
    own = {name: part for name, part in properties.items() if name not in _TYPE_FIELDS}
    members = {**structure, "properties": own}
    object_meta = Field(name="metadata", node=metadata, optional=True, omitempty=True)
    return [object_meta, *_members(members, schema.naming)]


def _node(schema: Mapping[str, Any], naming: Naming) -> Node:
    prefix = naming.extension_prefix
    if schema.get(prefix + "int-or-string"):
        return Form.INT_OR_STRING
    kind = schema.get("type")
    if kind == "object":
        return _object(schema, naming)
    if kind == "array":
        keys = tuple(schema.get(prefix + "list-map-keys") or ())
        return ListSchema(_node(schema.get("items") or {}, naming), schema.get(prefix + "list-type", ""), keys)
    return _SCALARS.get(kind or "", Form.ANY)


def _object(schema: Mapping[str, Any], naming: Naming) -> Node:
    atomic = schema.get(naming.extension_prefix + "map-type") == "atomic"
    values = schema.get("additionalProperties")
    if isinstance(values, dict):
        return MapSchema(_node(values, naming), "atomic" if atomic else "")
    preserves = values is True or schema.get(naming.extension_prefix + "preserve-unknown-fields")
    fields = cache(lambda: _members(schema, naming))
    return StructSchema("", fields, atomic=atomic, unknown=Form.ANY if preserves else None)


def _members(schema: Mapping[str, Any], naming: Naming) -> list[Field]:
    required = frozenset(schema.get("required") or ())
    return [
        Field(
            name=name,
            node=_node(part, naming),
            pointer=True,
            omitempty=True,
            required=name in required,
            default=part.get("default", MISSING),
            description=part.get("description", ""),
        )
        for name, part in sorted((schema.get("properties") or {}).items())
    ]
