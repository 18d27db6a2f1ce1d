"""One served resource in one version: how requests read and write what is stored in another."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import attrs
import orjson

from orchtw.objects import Object
from orchtw.registry.stored import Stored
from orchtw.schema.catalogue import ResourceType
from orchtw.schema.codec.codecs import KindCodec
from orchtw.watch.entry import Entry

Convert = Callable[[Object], Object]


@attrs.define(slots=True, kw_only=True, eq=False)
class Target:
    """What a request's group, version and resource resolve to.

    `to_storage` and `from_storage` are None where the served version is the stored one. `same_fields`: versions
    that differ in nothing but apiVersion share their JSON after it. `deprecation` is what requests are warned of.
    `kept` is where others keep what they make once for it, such as watch wires, so that it goes with the target.
    """

    resource: ResourceType
    codec: KindCodec
    stored: Stored
    to_storage: Convert | None = None
    from_storage: Convert | None = None
    same_fields: bool = True
    deprecation: str = ""
    kept: dict[Any, Any] = attrs.field(factory=dict, init=False)

    def load(self, entry: Entry) -> Object:
        """A private canonical dict of a cached object in this version."""
        obj = self.stored.load(entry)
        return self.from_storage(obj) if self.from_storage else obj

    def store_form(self, obj: Object) -> Object:
        """A dict of this version as the store keeps it."""
        return self.to_storage(obj) if self.to_storage else obj

    def complete(self, obj: Object) -> None:
        """Give a decoded object of this version what its kind adds by rule, before anybody owns its fields."""
        strategy = self.stored.strategy
        strategy.fold_write_only(obj)
        strategy.set_defaults(obj)

    def has_json(self, entry: Entry) -> bool:
        """Whether `json_tail` has been made already."""
        return entry.json is not None if self.same_fields else self._cached(entry, self._key("json")) is not None

    def has_protobuf(self, entry: Entry) -> bool:
        """Whether `protobuf` has been made already."""
        return self.from_storage is None or self._cached(entry, self._key("protobuf")) is not None

    def json_tail(self, entry: Entry) -> bytes:
        """The JSON of a cached object after kind and apiVersion, in this version; cached on the entry."""
        if self.same_fields:
            tail = entry.json
            return self.stored.json_tail(entry) if tail is None else tail
        key = self._key("json")
        return self._cached(entry, key) or self._keep(
            entry, key, orjson.dumps(self.load(entry))[len(self.codec.type_prefix) :]
        )

    def protobuf(self, entry: Entry) -> bytes:
        """The inner Protobuf message of a cached object in this version, if its kind has one; cached on the entry."""
        if self.from_storage is None:
            return entry.raw
        key = self._key("protobuf")
        return self._cached(entry, key) or self._keep(entry, key, self.codec.encode_protobuf(self.load(entry)))

    def _key(self, form: str) -> tuple[str, str, str]:
        return self.resource.version, self.resource.group, form

    @staticmethod
    def _cached(entry: Entry, key: tuple[str, str, str]) -> bytes | None:
        return None if entry.other is None else entry.other.get(key)

    @staticmethod
    def _keep(entry: Entry, key: tuple[str, str, str], data: bytes) -> bytes:
        if entry.other is None:
            entry.other = {}
        entry.other[key] = data
        return data
