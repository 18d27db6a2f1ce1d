"""Where custom objects live: in the store each lies in the version that it was last written in (reference CRD-40)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import orjson

from orchtw.registry.stored import STORED, Stored
from orchtw.registry.strategy import Strategy
from orchtw.registry.system_metadata import ordered
from orchtw.schema.catalogue import ResourceType
from orchtw.schema.codec.codecs import KindCodec
from orchtw.schema.codec.json_text import load_json
from orchtw.watch.entry import Entry


class CustomStored(Stored):
    """See `Stored`. `codecs` are those of all versions that are defined, by apiVersion.

    What is read from the store is pruned and gets its defaults by the schema of its own version. If `same`, all
    versions have the same fields, and it comes into the cache in the storage version; else as it is.
    """

    def __init__(
        self,
        resource: ResourceType,
        codec: KindCodec,
        strategy: Strategy,
        prefix: str,
        codecs: Mapping[str, KindCodec],
        *,
        same: bool,
    ) -> None:
        super().__init__(resource, codec, strategy, prefix, resource.field_selectors)
        self.codecs = codecs
        self._same = same

    def version_of(self, entry: Entry) -> str:
        """The apiVersion of an entry's bytes."""
        home = self.codec.api_version
        version: str = home if entry.other is None else entry.other.get(STORED, home)
        return version

    def text(self, entry: Entry) -> bytes:
        """The whole JSON of an object in the version of its bytes."""
        version = self.version_of(entry)
        if version == self.codec.api_version:
            return self.codec.type_prefix + self.json_tail(entry)
        head = orjson.dumps({"kind": self.codec.kind, "apiVersion": version})[:-1]
        return b"%b,%b" % (head, self.json_tail(entry))

    def load(self, entry: Entry) -> dict[str, Any]:
        """A private canonical dict of a cached object in the version of its bytes."""
        obj: dict[str, Any] = load_json(self.text(entry))
        return obj

    def spare(self, entry: Entry, *, drop: bool) -> None:
        """Nothing: the JSON is what is stored, and other versions may be a webhook's, which others wait for."""

    def is_plain(self, value: bytes) -> bool:
        """Never: its schema may have changed since the value was written."""
        return False

    def build(self, key: str, value: bytes, revision: int) -> Entry:
        """See `Stored`. Raises ValueError for an object of another kind or scope: of a former definition."""
        obj = load_json(value)
        home, version = self.codec, obj["apiVersion"]
        if obj["kind"] != home.kind:
            raise ValueError(f"{obj['kind']} is stored where {home.kind} should be")
        if ("/" in key) != self.resource.namespaced:
            raise ValueError(f"it is of another scope than {home.kind} has now")
        if (codec := self.codecs.get(version)) is not None:
            obj = codec.refresh(obj)
        if version != home.api_version and self._same:
            obj = home.pruned({**obj, "apiVersion": home.api_version})
            version = home.api_version
        obj["metadata"] = ordered(obj["metadata"])
        is_current = version == home.api_version and orjson.dumps(obj) == value
        entry = self.entry({**obj, "apiVersion": home.api_version}, b"", revision, key)
        entry.json = None
        if not is_current:
            entry.other = {STORED: version}
        return entry
