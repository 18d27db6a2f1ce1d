"""The schemas of kinds and messages: the release's, compiled from the protos, and those added at run time."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from copy import copy
from typing import Final

from orchtw.schema.catalogue import IN_EVERY_GROUP, Catalogue, ResourceType
from orchtw.schema.compiler import SchemaCompiler
from orchtw.schema.nodes import Field, ListSchema, Node, StructSchema

OBJECT_META: Final = "orch.io.apimachinery.pkg.apis.meta.v1.ObjectMeta"
LIST_META: Final = "orch.io.apimachinery.pkg.apis.meta.v1.ListMeta"

Kind = tuple[ResourceType, StructSchema]
"""A resource in one version, and the schema of its kind."""


class Schemas:
    """Finds schemas by kind and by name. An added kind has no message: the name of its schema stands in for one."""

    def __init__(self, catalogue: Catalogue) -> None:
        self.naming = catalogue.naming
        self._catalogue = catalogue
        self._compiler = SchemaCompiler(catalogue.naming, catalogue.additions)
        # A copy shares these, and a thread that reads it must see no change: shared ones are copied before a change.
        self._kinds: dict[tuple[str, str], StructSchema] = {}
        self._named: dict[str, StructSchema] = {}
        self._api_versions: Counter[str] = Counter()
        self._is_shared = False

    def message_of(self, api_version: str, kind: str) -> str | None:
        """Return the full name of a kind's message, or None for an unknown kind (see `Catalogue.message_of`)."""
        found = self._catalogue.message_of(api_version, kind)
        if found is None and api_version in self._api_versions:
            added = self._kinds.get((api_version, kind))
            if added is not None:
                return added.name
            return self._catalogue.message_of("v1", kind) if kind in IN_EVERY_GROUP else None
        return found

    def node(self, message: str) -> Node:
        """Return the node of a message. Raises KeyError when there is none of that name."""
        added = self._named.get(message)
        return self._compiler.message(message) if added is None else added

    def struct(self, message: str) -> StructSchema:
        """Return the node of a message with fields in JSON. Raises KeyError if unknown or of a special form."""
        added = self._named.get(message)
        return self._compiler.struct(message) if added is None else added

    def is_added(self, message: str) -> bool:
        """Report whether the name is that of an added kind's schema, or of its lists' schema."""
        return message in self._named

    def check(self, gone: Iterable[ResourceType], come: Iterable[Kind]) -> None:
        """Raise ValueError where `change` would."""
        lost = {(each.api_version, kind) for each in gone for kind in _kinds_of(each)}
        names = {schema.name for key in lost if (schema := self._kinds.get(key)) is not None}
        taken: set[object] = set()
        for resource, schema in come:
            keys = [(resource.api_version, kind) for kind in _kinds_of(resource)]
            known = any(key in taken or (key in self._kinds and key not in lost) for key in keys)
            known = known or schema.name in taken or (schema.name in self._named and schema.name not in names)
            known = known or self._catalogue.message_of(resource.api_version, resource.kind) is not None
            fits = schema.name == resource.message and not resource.protobuf
            if known or not fits or next(iter(schema.keys), "") != "metadata":
                raise ValueError(f"{resource.kind} of {resource.api_version} cannot be added as {schema.name}")
            taken.update((*keys, schema.name))

    def change(self, gone: Iterable[ResourceType], come: Iterable[Kind]) -> None:
        """Remove the kinds of added resources and add others, which are not of the release; their lists too.

        The resources' `protobuf` is False. A schema's name must be its resource's `message`, and its first field the
        metadata, where versions are spliced in. Raises ValueError otherwise, and for a kind or name that is taken;
        then nothing is changed.
        """
        gone, come = list(gone), list(come)
        self.check(gone, come)
        if self._is_shared:
            self._kinds, self._named = self._kinds.copy(), self._named.copy()
            self._api_versions, self._is_shared = self._api_versions.copy(), False
        for lost in gone:
            for kind in _kinds_of(lost):
                self._forget(lost.api_version, kind)
        for resource, schema in come:
            self._know(resource.api_version, resource.kind, schema)
            if resource.list_kind:
                self._know(resource.api_version, resource.list_kind, self._list_of(schema))

    def copy(self) -> Schemas:
        """Return a snapshot, for a thread to read while kinds come and go."""
        self._is_shared = True
        return copy(self)

    def of_release(self) -> Schemas:
        """Return a copy with the schemas of the release alone."""
        found = copy(self)
        found._kinds, found._named, found._api_versions = {}, {}, Counter()
        return found

    def _know(self, api_version: str, kind: str, schema: StructSchema) -> None:
        self._kinds[api_version, kind] = self._named[schema.name] = schema
        self._api_versions[api_version] += 1

    def _forget(self, api_version: str, kind: str) -> None:
        schema = self._kinds.pop((api_version, kind), None)
        if schema is None:
            return
        del self._named[schema.name]
        self._api_versions[api_version] -= 1
        if not self._api_versions[api_version]:
            del self._api_versions[api_version]

    def _list_of(self, schema: StructSchema) -> StructSchema:
        fields = [
            Field(name="metadata", node=self.struct(LIST_META)),
            Field(name="items", node=ListSchema(schema), required=True),
        ]
        return StructSchema(list_name(schema.name), fields, kind="list")


def list_name(name: str) -> str:
    """Return the name of the schema of an added kind's lists."""
    return f"{name}List"


def _kinds_of(resource: ResourceType) -> tuple[str, ...]:
    """Return the kind of a resource's objects, and that of its lists if it has one."""
    return (resource.kind, resource.list_kind) if resource.list_kind else (resource.kind,)
