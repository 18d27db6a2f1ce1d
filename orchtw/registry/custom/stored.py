"""Storage of custom objects: each lies in the version that it was last written in (reference CRD-40)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import orjson

from orchtw.errors import StatusError
from orchtw.registry.metadata import ordered
from orchtw.registry.stored import STORED, Stored
from orchtw.registry.strategy import Strategy
from orchtw.rules.field_selectors import custom_field_value
from orchtw.schema.catalogue import ResourceType
from orchtw.schema.codec.codec import Codec
from orchtw.schema.codec.json_glance import glance
from orchtw.schema.codec.json_text import load_json
from orchtw.schema.codec.strict_fields import TYPE_KEYS
from orchtw.watch.entry import Entry, Glance, Unread
from orchtw.wire.objects import Object


class CustomStored(Stored):
    """See `Stored`. `codecs` are those of all versions that are defined, by apiVersion.

    What is read from the store is pruned and gets its defaults by the schema of its own version. If `same`, all
    versions have the same fields, and it is shown in the storage version; else as it is. An entry that nobody has
    asked for more than names and labels has its bytes as they are stored. `fields` are those that selectors of any
    version may name.
    """

    def __init__(
        self,
        resource: ResourceType,
        codec: Codec,
        strategy: Strategy,
        prefix: str,
        codecs: Mapping[str, Codec],
        *,
        same: bool,
        fields: tuple[str, ...] = (),
    ) -> None:
        super().__init__(resource, codec, strategy, prefix, fields)
        self._readers = tuple(map(custom_field_value, fields))
        self.codecs = codecs
        self._same = same
        self._heads = {b'%b"metadata":{' % each.type_prefix: version for version, each in codecs.items()}
        if not self.field_names:  # what others select by is a matter of the schema
            self._plain = tuple(self._heads)

    def version_of(self, entry: Entry) -> str:
        """Return the apiVersion of an entry's JSON."""
        return self.codec.api_version if self._same else self._version_at_rest(entry)

    def _version_at_rest(self, entry: Entry) -> str:
        """Return the apiVersion of an entry's `raw`."""
        if type(entry) is Unread:
            entry.look()
        home = self.codec.api_version
        version: str = home if entry.other is None else entry.other.get(STORED, home)
        return version

    def is_current(self, entry: Entry) -> bool:
        """Report whether an entry is current, as `Stored.is_current`: reading it by its schema decides."""
        self.json_tail(entry)
        return super().is_current(entry)

    def text(self, entry: Entry) -> bytes:
        """Return the whole JSON of an object in the version of its bytes."""
        return self._text(self.version_of(entry), self.json_tail(entry))

    def load(self, entry: Entry) -> dict[str, Any]:
        """Return a private canonical dict of a cached object in the version of its bytes."""
        obj: dict[str, Any] = load_json(self.text(entry))
        return obj

    def spare(self, entry: Entry, *, drop: bool) -> None:
        """Drop JSON that differs from the stored bytes, as `Stored.spare`; webhook conversions stay."""
        if entry.json is not entry.raw:
            entry.json = None

    def is_plain(self, key: str, value: bytes) -> bool:
        """Report whether a value may be left unread, as `Stored.is_plain`."""
        return value.startswith(self._plain) and ("/" in key) == self.resource.namespaced

    def glance(self, value: bytes, revision: int, terms: bytes = b"") -> Glance:
        """Read labels and fields of a plain value, as `Stored.glance`."""
        head = next(head for head in self._heads if value.startswith(head))
        version = self._heads[head]
        found = glance(value[len(self.codecs[version].type_prefix) :], str(revision).encode())
        if found is None:
            return self._unusual(value, revision)
        is_home = version == self.codec.api_version
        return found[0], (), found[1], None if is_home else {STORED: version}

    def _unusual(self, value: bytes, revision: int) -> Glance:
        """Return the glance of a value that has to be decoded; all but its metadata stays as it is."""
        entry, obj = self._built(value, revision, ""), load_json(value)
        version = obj["apiVersion"]
        rest = {name: obj[name] for name in obj if name not in TYPE_KEYS}
        raw = orjson.dumps({**rest, "metadata": self.metadata(entry)})[1:]
        is_current = version == self.codec.api_version and entry.other is None
        return entry.labels, (), raw, None if is_current else {STORED: version}

    def build(self, key: str, value: bytes, revision: int) -> Entry:
        """Build an entry, as `Stored.build`. Raises ValueError for one of another kind or scope: of a former
        definition.
        """
        if ("/" in key) != self.resource.namespaced:
            raise ValueError(f"its scope differs from the present scope of {self.codec.kind}")
        return self._built(value, revision, key)

    def _built(self, value: bytes, revision: int, key: str) -> Entry:
        home = self.codec
        obj, version = self._read(_checked(load_json(value), home.kind))
        is_current = version == home.api_version and orjson.dumps(obj) == value
        entry = self.entry({**obj, "apiVersion": home.api_version}, b"", revision, key)
        if not is_current:
            entry.other = {STORED: version}
        return entry

    def _read(self, obj: Object) -> tuple[Object, str]:
        """Return a stored object as it is shown, and the version that it is then in."""
        home, version = self.codec, obj["apiVersion"]
        if (codec := self.codecs.get(version)) is not None:
            obj = codec.refresh(obj)
        if version != home.api_version and self._same:
            obj = home.pruned({**obj, "apiVersion": home.api_version})
            version = home.api_version
        obj["metadata"] = ordered(obj["metadata"])
        return obj, version

    def _made_tail(self, entry: Entry) -> bytes:
        raw, home = entry.raw, self.codec
        try:
            obj, _ = self._read(load_json(self._text(self._version_at_rest(entry), raw)))
        except (StatusError, ValueError, KeyError, TypeError) as error:
            raise self.cache.spoilt(entry, error) from None
        obj["metadata"]["resourceVersion"] = str(entry.revision)
        tail = orjson.dumps({**obj, "apiVersion": home.api_version})[self._prefix_length :]
        if tail == raw:
            return raw
        if entry.other is None:
            entry.other = {}
        entry.other.setdefault(STORED, home.api_version)
        return tail

    def _text(self, version: str, tail: bytes) -> bytes:
        if version == self.codec.api_version:
            return self.codec.type_prefix + tail
        head = orjson.dumps({"kind": self.codec.kind, "apiVersion": version})[:-1]
        return b"%b,%b" % (head, tail)


def _checked(obj: Any, kind: str) -> Object:
    """Check that a JSON value is an object of a kind. Raises ValueError."""
    found = obj.get("kind") if type(obj) is dict else None
    if found != kind or not isinstance(obj.get("apiVersion"), str):
        raise ValueError(f"{found or 'no object'} is stored where {kind} should be")
    meta = obj.get("metadata")
    if type(meta) is not dict or not meta.get("name") or not isinstance(meta["name"], str):
        raise ValueError("it has no name")
    return obj  # type: ignore[no-any-return]
