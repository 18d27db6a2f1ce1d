"""The schemas of kinds and messages: the release's, compiled from the protos, and those added at run time."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from copy import copy
from typing import Final

from orchtw.schema.catalogue import IN_EVERY_GROUP, Catalogue, ResourceType
from orchtw.schema.compiler import SchemaCompiler
from orchtw.schema.nodes import Field, ListSchema, Node, StructSchema

OBJECT_META: Final = "orch.io.apimachinery.pkg.apis.meta.v1.ObjectMeta"
LIST_META: Final = "orch.io.apimachinery.pkg.apis.meta.v1.ListMeta"

Kinds = Mapping[tuple[str, str], StructSchema]
"""By apiVersion and kind."""

Kind = tuple[ResourceType, StructSchema]
"""A resource in one version, and the schema of its kind."""


class Schemas:
    """Finds schemas by kind and by name. An added kind has no message: the name of its schema stands in for one."""

    def __init__(self, catalogue: Catalogue) -> None:
        self.naming = catalogue.naming
        self._catalogue = catalogue
        self._compiler = SchemaCompiler(catalogue.naming)
        # Replaced, never changed, so that a copy is cheap and a thread that reads one sees no change.
        self._kinds: Kinds = {}
        self._named: Mapping[str, StructSchema] = {}
        self._api_versions: Mapping[str, None] = {}

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

    def is_added(self, message: str) -> bool:
        """Whether that is the name of an added kind's schema, or of its lists'."""
        return message in self._named

    def check(self, gone: Iterable[ResourceType], come: Iterable[Kind]) -> None:
        """Raises ValueError where `change` would."""
        self._changed(gone, come)

    def change(self, gone: Iterable[ResourceType], come: Iterable[Kind]) -> None:
        """Forget the kinds of added resources and know others, which are not of the release; their lists too.

        The resources' `protobuf` is False. A schema's name must be its resource's `message`, and its first field the
        metadata, where versions are spliced in. Raises ValueError for others, and for a kind or name that is taken;
        nothing has changed then.
        """
        self._kinds, self._named = self._changed(gone, come)
        self._api_versions = dict.fromkeys(api_version for api_version, _ in self._kinds)

    def copy(self) -> Schemas:
        """All that is known at present, for a thread to read while kinds come and go."""
        return copy(self)

    def of_release(self) -> Schemas:
        """Those of the release alone."""
        found = copy(self)
        found._kinds, found._named, found._api_versions = {}, {}, {}
        return found

    def _changed(
        self, gone: Iterable[ResourceType], come: Iterable[Kind]
    ) -> tuple[Kinds, Mapping[str, StructSchema]]:
        kinds, named = dict(self._kinds), dict(self._named)
        for lost in gone:
            for kind in (lost.kind, lost.list_kind or ""):
                if (schema := kinds.pop((lost.api_version, kind), None)) is not None:
                    del named[schema.name]
        for resource, schema in come:
            key = resource.api_version, resource.kind
            listed = resource.api_version, resource.list_kind or ""
            known = key in kinds or listed in kinds or schema.name in named
            known = known or self._catalogue.message_of(*key) is not None
            fits = schema.name == resource.message and not resource.protobuf
            if known or not fits or next(iter(schema.keys), "") != "metadata":
                raise ValueError(f"{resource.kind} of {resource.api_version} cannot be added as {schema.name}")
            kinds[key] = named[schema.name] = schema
            if resource.list_kind:
                kinds[listed] = lists = self._list_of(schema)
                named[lists.name] = lists
        return kinds, named

    def _list_of(self, schema: StructSchema) -> StructSchema:
        fields = [
            Field(name="metadata", node=self.struct(LIST_META)),
            Field(name="items", node=ListSchema(schema), required=True),
        ]
        return StructSchema(list_name(schema.name), fields, kind="list")


def list_name(name: str) -> str:
    """The name of the schema of an added kind's lists."""
    return f"{name}List"
