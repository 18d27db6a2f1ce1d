"""Structural schemas → schema nodes: what a definition says of its objects, as the rest of the server asks for it."""

from __future__ import annotations

from collections.abc import Collection
from functools import partial

from orchtw.naming.naming import Naming
from orchtw.schema.custom.extensions import TYPE_FIELDS, Schema, extensions
from orchtw.schema.custom.parts import parsed
from orchtw.schema.nodes import MISSING, Field, ListSchema, MapSchema, Node, NodeForm, Scalar, StructSchema

_SCALARS = {"string": Scalar.STRING, "boolean": Scalar.BOOL, "integer": Scalar.INT64, "number": Scalar.DOUBLE}


class CustomSchema(StructSchema):
    """The nodes of a custom kind in one version. They are made when they are first needed.

    `source` is the structural schema as JSON, in the vocabulary that is served; `metadata` the node of ObjectMeta.
    """

    __slots__ = ("metadata", "naming", "source")

    def __init__(self, name: str, source: bytes, metadata: StructSchema, naming: Naming) -> None:
        super().__init__(name, partial(_fields, source, metadata, naming), kind="object")  # no reference to itself
        self.source = source
        self.metadata = metadata
        self.naming = naming
        preserve = extensions(naming).preserve
        if preserve.encode() in source and self.structure().get(preserve):
            self.unknown = NodeForm.ANY

    def structure(self) -> Schema:
        """Return the structural schema, which nobody may change; not kept, because few need it and not for long."""
        return parsed(self.source)


def _fields(source: bytes, metadata: StructSchema, naming: Naming) -> list[Field]:
    object_meta = Field(name="metadata", node=metadata, optional=True, omitempty=True)
    return [object_meta, *_Nodes(naming, metadata).members(parsed(source), TYPE_FIELDS)]


class _Nodes:
    """Makes the nodes of the parts of a schema."""

    def __init__(self, naming: Naming, metadata: StructSchema) -> None:
        self._keys = extensions(naming)
        self._metadata = metadata

    def node(self, schema: Schema) -> Node:
        """Return the node of one schema."""
        if schema.get(self._keys.int_or_string):
            return NodeForm.INT_OR_STRING
        kind = schema.get("type")
        if kind == "object" or (not kind and schema.get("properties")):
            return self._object(schema)
        if kind == "array":
            keys = tuple(schema.get(self._keys.list_keys) or ())
            return ListSchema(self.node(schema.get("items") or {}), schema.get(self._keys.list_type) or "", keys)
        return _SCALARS.get(kind or "", NodeForm.ANY)

    def _object(self, schema: Schema) -> Node:
        atomic = schema.get(self._keys.map_type) == "atomic"
        more = schema.get("additionalProperties")
        if more is not None and not schema.get("properties"):
            return MapSchema(self.node(more) if isinstance(more, dict) else NodeForm.ANY, "atomic" if atomic else "")
        unknown = self.node(more) if isinstance(more, dict) else None
        if more is True or (unknown is None and schema.get(self._keys.preserve)):
            unknown = NodeForm.ANY
        embedded = bool(schema.get(self._keys.embedded))

        def fields() -> list[Field]:
            if not embedded:
                return self.members(schema)
            return [*self._type_fields(), *self.members(schema, TYPE_FIELDS)]

        return StructSchema("", fields, atomic=atomic, unknown=unknown)

    def _type_fields(self) -> list[Field]:
        nodes: dict[str, Node] = {"apiVersion": Scalar.STRING, "kind": Scalar.STRING, "metadata": self._metadata}
        return [Field(name=name, node=node, pointer=True, omitempty=True) for name, node in nodes.items()]

    def members(self, schema: Schema, without: Collection[str] = ()) -> list[Field]:
        """Return the fields of what a schema declares, but for those names."""
        required = frozenset(schema.get("required") or ())
        return [
            Field(
                name=name,
                node=self.node(part),
                pointer=True,
                omitempty=True,
                required=name in required,
                default=part.get("default", MISSING),
                description=part.get("description", ""),
            )
            for name, part in sorted((schema.get("properties") or {}).items())
            if name not in without
        ]
