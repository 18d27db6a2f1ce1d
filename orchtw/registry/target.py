"""Served resource in one version: reading and writing of objects stored in another."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final, Protocol

import attrs
import orjson

from orchtw.registry.at_rest import Replaced
from orchtw.registry.recent_drafts import RECENT_DRAFTS
from orchtw.registry.stored import Prepared, Stored
from orchtw.registry.strategy import Strategy
from orchtw.schema.catalogue import ResourceType
from orchtw.schema.codec.codec import Codec
from orchtw.watch.entry import Entry
from orchtw.watch.gate import Gate
from orchtw.wire.objects import Object

CELLS: Final = ("cells",)
Convert = Callable[[Object], Object]


class Forms(Gate, Protocol):
    """Ensurer of objects' forms in a version, where that takes a call."""

    async def ensure(self, entries: Sequence[Entry]) -> None:
        """Have the forms of entries, so that all of `Target` can be asked about them. Raises StatusError."""


@attrs.define(slots=True, kw_only=True, eq=False)
class Target:
    """Target of a request: a resource in a served version.

    `to_storage` and `from_storage` are None where the served version is the stored one. `same_fields`: versions
    that differ in nothing but apiVersion share their JSON after it. `deprecation` is the warning for requests.
    `kept` caches what others make once for it, such as watch wires, so that it goes with the target.

    Writes work on *drafts*, objects in the version that `strategy` knows: here that of the store. `forms` is None
    where all conversions are functions. Where it is not, `forms.ensure` comes first; else Unconverted is raised.
    """

    resource: ResourceType
    codec: Codec
    stored: Stored
    to_storage: Convert | None = None
    from_storage: Convert | None = None
    same_fields: bool = True
    deprecation: str = ""
    strategy: Strategy = attrs.field()
    kept: dict[Any, Any] = attrs.field(factory=dict, init=False)

    @strategy.default
    def _strategy(self) -> Strategy:
        return self.stored.strategy

    @property
    def forms(self) -> Forms | None:
        """Return the ensurer of forms that take a call, or None."""
        return None

    @property
    def row_key(self) -> tuple[str, ...]:
        """Where entries keep the cells of their Table rows; empty: these are not made of what this version shows."""
        return CELLS if self.from_storage is None else ()

    def load(self, entry: Entry) -> Object:
        """Return a private canonical dict of a cached object in this version."""
        obj = self.stored.load(entry)
        return self.from_storage(obj) if self.from_storage else obj

    def store_form(self, obj: Object) -> Object:
        """Return a dict of this version as the store keeps it."""
        return self.to_storage(obj) if self.to_storage else obj

    def convert(self, obj: Object, wanted: Target) -> Object:
        """Return a dict of this version in another one that shares the stored resource."""
        stored = self.store_form(obj)
        return wanted.from_storage(stored) if wanted.from_storage else stored

    def draft(self, obj: Object) -> Object:
        """Return a dict of this version as writes work on it."""
        return self.store_form(obj)

    def load_draft(self, entry: Entry) -> Object:
        """Return a dict of a cached object as writes work on it: private, but for the field sets of its owners."""
        return self.stored.load_draft(entry)

    def take_draft(self, entry: Entry) -> Object:
        """Return the same as `load_draft`, for a write: what the last write of the object left, if that is kept."""
        kept = RECENT_DRAFTS.take(self, entry)
        return self.load_draft(entry) if kept is None else kept

    def shown_draft(self, draft: Object) -> Object:
        """Return a draft in this version."""
        return self.from_storage(draft) if self.from_storage else draft

    def prepare(self, draft: Object, replaced: Replaced | None = None) -> Prepared:
        """Encode a draft for the store, as `Stored.prepare`; `replaced` holds a draft too."""
        return self.stored.prepare(draft, replaced)

    def for_writer(self, draft: Object) -> Object | None:
        """Return what `as_written` needs of a draft: None, where the response is made of its entry."""
        return None

    def as_written(self, entry: Entry, draft: Object | None) -> Entry:
        """Return the entry of a stored draft for the response to its writer; see `for_writer`."""
        return entry

    def complete(self, obj: Object) -> None:
        """Give a decoded object of this version what its kind adds by rule, before anybody owns its fields."""
        strategy = self.strategy
        strategy.fold_write_only(obj)
        strategy.set_defaults(obj)

    def has_json(self, entry: Entry) -> bool:
        """Report whether `json_tail` has been made already."""
        return entry.json is not None if self.same_fields else self._cached(entry, self._key("json")) is not None

    def has_protobuf(self, entry: Entry) -> bool:
        """Report whether `protobuf` has been made already."""
        return self.from_storage is None or self._cached(entry, self._key("protobuf")) is not None

    def json_tail(self, entry: Entry) -> bytes:
        """Return the JSON of a cached object after kind and apiVersion, in this version; cached on the entry."""
        if self.same_fields:
            tail = entry.json
            return tail if type(tail) is bytes else self.stored.json_tail(entry)
        key = self._key("json")
        return self._cached(entry, key) or self._keep(
            entry, key, orjson.dumps(self.load(entry))[len(self.codec.type_prefix) :]
        )

    def listed_json(self, entry: Entry) -> bytes:
        """Return the same as `json_tail`, for one object of many (see `Stored.listed_tail`)."""
        tail = entry.json
        if self.same_fields and type(tail) is not bytes:
            return self.stored.listed_tail(entry)
        return self.json_tail(entry)

    def listed_size(self, entry: Entry) -> int:
        """Return the length of `listed_json`."""
        tail = entry.json
        if self.same_fields and type(tail) is not bytes:
            return self.stored.listed_size(entry)
        return len(self.json_tail(entry))

    def listed_head(self, entry: Entry, size: int) -> bytes:
        """Return the first `size` bytes of `listed_json`."""
        tail = entry.json
        if self.same_fields and type(tail) is not bytes:
            return self.stored.listed_head(entry, size)
        return self.json_tail(entry)[:size]

    def protobuf(self, entry: Entry) -> bytes:
        """Return the inner Protobuf message of a cached object in this version, cached on the entry, if its kind has
        one.
        """
        if self.from_storage is None:
            return entry.raw
        key = self._key("protobuf")
        return self._cached(entry, key) or self._keep(entry, key, self._encoded(entry))

    def _encoded(self, entry: Entry) -> bytes:
        codec = self.codec.with_message
        assert codec is not None
        return codec.encode_protobuf(self.load(entry))

    def _key(self, form: str) -> tuple[str, str, str]:
        return self.resource.version, self.resource.group, form

    @staticmethod
    def _cached(entry: Entry, key: tuple[str, str, str]) -> bytes | None:
        return None if entry.other is None else entry.other.get(key)

    def _keep(self, entry: Entry, key: tuple[str, str, str], data: bytes) -> bytes:
        other = entry.other
        if other is None:
            other = entry.other = {}
        other[key] = data
        self.stored.made(entry, 0, 0, len(data))
        return data
