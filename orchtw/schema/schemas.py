"""The schemas of kinds and messages: the release's, compiled from the protos, and those added at run time."""

from __future__ import annotations

from collections.abc import Mapping
from copy import copy
from typing import Final

from orchtw.schema.catalogue import IN_EVERY_GROUP, Catalogue, ResourceType
from orchtw.schema.compiler import SchemaCompiler
from orchtw.schema.nodes import Field, ListSchema, Node, StructSchema

OBJECT_META: Final = "orch.io.apimachinery.pkg.apis.meta.v1.ObjectMeta"
LIST_META: Final = "orch.io.apimachinery.pkg.apis.meta.v1.ListMeta"

Kinds = Mapping[tuple[str, str], StructSchema]
"""By apiVersion and kind."""


class Schemas:
    """Finds schemas by kind and by name. An added kind has no message: the name of its schema stands in for one."""

    def __init__(self, catalogue: Catalogue) -> None:
        self.naming = catalogue.naming
        self._catalogue = catalogue
        self._compiler = SchemaCompiler(catalogue.naming)
        # Replaced, never changed, so that a copy is cheap and a thread that reads one sees no change.
        self._kinds: Kinds = {}
        self._named: Mapping[str, StructSchema] = {}
        self._api_versions: frozenset[str] = frozenset()

    def message_of(self, api_version: str, kind: str) -> str | None:
        """The full name of a kind's message, or None for an unknown kind (see `Catalogue.message_of`)."""
        found = self._catalogue.message_of(api_version, kind)
        if found is None and api_version in self._api_versions:
            added = self._kinds.get((api_version, kind))
            if added is not None:
                return added.name
            return self._catalogue.message_of("v1", kind) if kind in IN_EVERY_GROUP else None
        return found

    def node(self, message: str) -> Node:
        """The node of a message. Raises KeyError when there is none of that name."""
        added = self._named.get(message)
        return self._compiler.message(message) if added is None else added

    def struct(self, message: str) -> StructSchema:
        """The node of a message that has fields in JSON. Raises KeyError when it is unknown or has a special form."""
        added = self._named.get(message)
        return self._compiler.struct(message) if added is None else added

    def add(self, resource: ResourceType, schema: StructSchema) -> Kinds:
        """Know a resource's kind, which is not of the release, and its lists from now on; returns both.

        The schema's name must be `resource.message`, and its first field the metadata, where versions are spliced in.
        Raises ValueError for another one, and for a kind or name that is taken.
        """
        taken = self.message_of(resource.api_version, resource.kind) is not None or schema.name in self._named
        if taken or schema.name != resource.message or next(iter(schema.keys), "") != "metadata":
            raise ValueError(f"{resource.kind} of {resource.api_version} cannot be added as {schema.name}")
        kinds = {(resource.api_version, resource.kind): schema}
        if resource.list_kind:
            kinds[resource.api_version, resource.list_kind] = self._list_of(schema)
        self._set({**self._kinds, **kinds})
        return kinds

    def remove(self, resource: ResourceType) -> None:
        """Forget what `add` made known."""
        gone = {(resource.api_version, resource.kind), (resource.api_version, resource.list_kind)}
        self._set({key: schema for key, schema in self._kinds.items() if key not in gone})

    def copy(self) -> Schemas:
        """All that is known at present, for a thread to read while kinds come and go."""
        return copy(self)

    def _set(self, kinds: Kinds) -> None:
        self._kinds = kinds
        self._named = {schema.name: schema for schema in kinds.values()}
        self._api_versions = frozenset(api_version for api_version, _ in kinds)

    def _list_of(self, schema: StructSchema) -> StructSchema:
        fields = [
            Field(name="metadata", node=self.struct(LIST_META)),
            Field(name="items", node=ListSchema(schema), required=True),
        ]
        return StructSchema(f"{schema.name}List", fields, kind="list")
