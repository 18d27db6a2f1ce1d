"""Codecs of every message and kind in one vocabulary."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from copy import copy
from types import MappingProxyType

from orchtw.schema.catalogue import IN_EVERY_GROUP, Catalogue, ResourceType
from orchtw.schema.codec.codec import Codec
from orchtw.schema.codec.kind_codec import KindCodec
from orchtw.schema.codec.message_codec import MessageCodec
from orchtw.schema.codec.purposes import Generated
from orchtw.schema.nodes import StructSchema
from orchtw.schema.schemas import Schemas
from orchtw.schema.validation.validators import Check, Consequence


class Codecs:
    """Codecs of every message and kind in one vocabulary; each is made when it is first asked for.

    `checks` are the rules that cannot be declared, by the message's full name; `consequences` adjust the causes of
    broken ones.
    """

    def __init__(
        self,
        catalogue: Catalogue,
        checks: Mapping[str, Check] = MappingProxyType({}),
        consequences: Mapping[str, Consequence] = MappingProxyType({}),
    ) -> None:
        self.catalogue = catalogue
        self.schemas = Schemas(catalogue)
        self.generated = Generated(checks, consequences)
        self._kinds: dict[tuple[str, str], Codec] = {}
        self._messages: dict[str, MessageCodec] = {}

    def of_release(self) -> Codecs:
        """Return other codecs of the release's kinds, which share the compiled functions, but not the added kinds."""
        found = copy(self)
        found.schemas = self.schemas.of_release()
        found._kinds = {}
        return found

    def kind(self, api_version: str, kind: str) -> KindCodec:
        """Return the codec of a kind that has a message. Raises KeyError when it is unknown, or a custom kind."""
        found = self.any_kind(api_version, kind).with_message
        if found is None:
            raise KeyError(f"{kind} in {api_version}")
        return found

    def any_kind(self, api_version: str, kind: str) -> Codec:
        """Return the codec of a built-in or custom kind. Raises KeyError when it is unknown."""
        found = self._kinds.get((api_version, kind))
        if found is None:
            message = self.schemas.message_of(api_version, kind)
            if message is None:
                raise KeyError(f"{kind} in {api_version}")
            schema = self.schemas.struct(message)
            if self.schemas.is_added(message):
                found = self._added(api_version, kind, schema)
            else:
                found = KindCodec(api_version, kind, schema, self.generated, self.schemas)
            self._kinds[api_version, kind] = found
        return found

    def made(self, resource: ResourceType, schema: StructSchema) -> KindCodec:
        """Return a codec of an added kind; `change` makes it known."""
        return self._added(resource.api_version, resource.kind, schema)

    def change(self, gone: Iterable[ResourceType], come: Iterable[tuple[ResourceType, Codec]]) -> None:
        """Forget the kinds of added resources and their lists, and know others by their codecs.

        Codecs that are still in use go on working. Raises ValueError as `Schemas.change` does.
        """
        gone, come = list(gone), list(come)
        self.schemas.change(gone, [(resource, codec.schema) for resource, codec in come])
        for lost in gone:
            for kind in (lost.kind, lost.list_kind or "", *IN_EVERY_GROUP):
                self._kinds.pop((lost.api_version, kind), None)
        self._kinds |= {(resource.api_version, resource.kind): codec for resource, codec in come}

    def _added(self, api_version: str, kind: str, schema: StructSchema) -> KindCodec:
        """Return a codec with functions of its own, which go with it, and without Protobuf."""
        return KindCodec(api_version, kind, schema, Generated(), self.schemas, protobuf=False)

    def message(self, full_name: str) -> MessageCodec:
        """Return the codec of a message. Raises KeyError when it is unknown or has a special JSON form."""
        found = self._messages.get(full_name)
        if found is None:
            found = self._messages[full_name] = MessageCodec(self.schemas.struct(full_name), self.generated)
        return found
