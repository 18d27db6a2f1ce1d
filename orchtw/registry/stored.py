"""Storage of one resource: keys, codec, strategy and cache, for all of its versions."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from copy import copy
from functools import cached_property
from secrets import token_hex
from typing import Any, Final

import orjson

from orchtw.errors import StatusError
from orchtw.registry.at_rest import Halves, ReadOlder, Replaced, at_rest
from orchtw.registry.metadata import ordered
from orchtw.registry.strategy import Strategy
from orchtw.rules.field_selectors import field_paths, field_value
from orchtw.schema.catalogue import ResourceType
from orchtw.schema.codec.codec import Codec
from orchtw.schema.codec.json_text import load_json
from orchtw.schema.codec.splice import load_owned, without_json_version
from orchtw.schema.tables.cached_rows import Row
from orchtw.storage.cache.watch_cache import ResourceCache
from orchtw.watch.entry import LARGE_BYTES, Entry, Glance, unread_value
from orchtw.watch.room import Room
from orchtw.wire.objects import Object
from orchtw.wire.packing import Packed, Packer

MAX_TERMS_BYTES: Final = 4096
"""Longest terms that travel with a write: what waits on the way is counted by its value, which holds them as well."""

NO_LABELS: dict[str, str] = {}
METADATA_FIELDS = ("metadata.name", "metadata.namespace")

_PLACE: Final = token_hex(16)
"""Placeholder for the version while an object is encoded; random, so that no object contains it."""

_PLACE_BYTES: Final = _PLACE.encode()

STORED: Final = ("stored",)
"""Key in an entry's other forms for the apiVersion of its bytes, if they differ from today's form."""


Made = Callable[[Entry, int, int, int], None]
"""Receives the sizes of an entry's new bytes: plain JSON, packed JSON, other forms."""


InForce = Callable[[Entry], Awaitable[None]]
"""Waits until an object is in force on this server, which may be a moment after it has been stored."""


def _nobody(entry: Entry, plain: int, packed: int, other: int) -> None:
    """Count nothing: the default."""


class Stored:
    """One stored resource: its keys, its codec in the storage version, its strategy and its cache.

    `resource` is the resource type of the storage version (or, where that version is not served, of the preferred
    one); `prefix` ends in "/" and uses neutral group names. The form of its objects in the store is known here alone
    (see `at_rest`).
    """

    closed: str = ""
    """Reason why nothing new may be stored any more; empty: it may."""

    def __init__(
        self,
        resource: ResourceType,
        codec: Codec,
        strategy: Strategy,
        prefix: str,
        field_names: tuple[str, ...],
        read_older: ReadOlder | None = None,
    ) -> None:
        self.resource = resource
        self.codec = codec
        self.strategy = strategy
        self.prefix = prefix
        self.field_names = tuple(name for name in field_names if name not in METADATA_FIELDS)
        self.cache: ResourceCache
        self.room = Room()
        self.made: Made = _nobody
        self.in_force: InForce | None = None
        self._packer = Packer()
        self._readers: tuple[Callable[[dict[str, Any]], str], ...] = tuple(map(field_value, self.field_names))
        self._prefix_length = len(codec.type_prefix)
        self._at_rest = at_rest(codec, read_older)
        self.tells = self._at_rest.scans and not strategy.traits.json_kept
        """Flag of a kind whose plain values every process reads alike, by `glance`."""
        self._plain: tuple[bytes, ...] = (self._at_rest.head,) if self.tells else ()

    def attach(self, cache: ResourceCache) -> None:
        """Set the cache of the objects."""
        self.cache, self.room, self.made = cache, cache.room, cache.made

    def alone(self) -> Stored:
        """Return a copy that does not know the cache, as `StoredResource.alone`."""
        found = copy(self)
        found.made, found.in_force = _nobody, None
        found.__dict__.pop("cache", None)
        return found

    def tail(self, namespace: str, name: str) -> str:
        """Return the key of an object below `prefix`."""
        return f"{namespace}/{name}" if self.resource.namespaced else name

    def get(self, namespace: str, name: str) -> Entry | None:
        """Return the cached entry of an object, or None. Raises DamagedObject (500) for an unreadable one."""
        return self.cache.get(f"{namespace}/{name}" if self.resource.namespaced else name)

    def load(self, entry: Entry) -> dict[str, Any]:
        """Return a private, mutable canonical dict of a cached object in the storage version."""
        obj: dict[str, Any] = load_json(self.codec.type_prefix + self.json_tail(entry))
        return obj

    def load_draft(self, entry: Entry) -> dict[str, Any]:
        """Return the same as `load`, at less cost: its owners' field sets are shared and must not be modified."""
        return load_owned(self._types, self.json_tail(entry))

    @cached_property
    def _types(self) -> dict[str, Any]:
        found: dict[str, Any] = load_json(self.codec.type_prefix.removesuffix(b",") + b"}")
        return found

    def json_tail(self, entry: Entry) -> bytes:
        """Return the object's JSON after kind and apiVersion, in the storage version; made on first use.

        Raises DamagedObject (500) for a loaded entry that turns out not to be an object.
        """
        tail = entry.json
        if tail is None:
            tail = entry.json = self._made_tail(entry)
            if tail is not entry.raw:
                self.made(entry, len(tail), 0, 0)
        elif type(tail) is Packed:
            self.made(entry, 0, -len(tail), 0)
            tail = entry.json = self._packer.unpack(tail)
            self.made(entry, len(tail), 0, 0)
        return tail

    def listed_tail(self, entry: Entry) -> bytes:
        """Return the same as `json_tail`, for one of many: packed JSON stays packed, and none is kept without
        room.
        """
        tail = entry.json
        if type(tail) is Packed:
            return self._packer.unpack(tail)
        if tail is not None or self.room.excess <= 0 or len(entry.raw) > LARGE_BYTES:
            return self.json_tail(entry)
        tail = self._made_tail(entry)
        if tail is entry.raw:
            entry.json = tail
        else:
            entry.json = packed = self._packer.pack(tail)
            self.made(entry, 0, len(packed), 0)
        return tail

    def listed_size(self, entry: Entry) -> int:
        """Return the length of `listed_tail`, without unpacking it."""
        tail = entry.json
        return tail.text_bytes if type(tail) is Packed else len(self.listed_tail(entry))

    def listed_head(self, entry: Entry, size: int) -> bytes:
        """Return the first `size` bytes of `listed_tail`, unpacking no more."""
        tail = entry.json
        return self._packer.begin(tail, size) if type(tail) is Packed else self.listed_tail(entry)[:size]

    def _made_tail(self, entry: Entry) -> bytes:
        try:
            return self._at_rest.tail(entry.raw)
        except (StatusError, ValueError) as error:
            raise self.cache.spoilt(entry, error) from None

    def spare(self, entry: Entry, *, drop: bool) -> None:
        """Reduce an entry, as `StoredResource.spare`; large objects are not packed, for that takes long.

        Rows of Tables are as small as packed JSON.
        """
        other, tail = entry.other, entry.json
        if other is not None:
            lasting = {key: form for key, form in other.items() if key == STORED or (type(form) is Row and not drop)}
            if len(lasting) < len(other):
                entry.other = lasting or None
        if tail is None or tail is entry.raw:
            return
        if drop or len(tail) > LARGE_BYTES:
            entry.json = None
        elif type(tail) is not Packed:
            entry.json = self._packer.pack(tail)

    def metadata(self, entry: Entry, *, owned: bool = True) -> Object:
        """Return a private copy of the metadata of a cached object, at a fraction of the cost of the whole.

        `owned` False: maybe without managedFields, which saves more.
        """
        return self._at_rest.metadata(entry.raw, owned=owned)

    def entry(self, obj: dict[str, Any], raw: bytes, revision: int, key: str) -> Entry:
        """Return the entry of `obj` at `revision`; `raw` is the object as stored, without one."""
        return self._drawn(obj, self._around_version(obj), raw, key).entry(revision)

    def _drawn(self, obj: dict[str, Any], halves: Halves, raw: bytes, key: str) -> Prepared:
        meta = obj["metadata"]
        labels = meta.get("labels") or NO_LABELS
        fields = tuple([read(obj) for read in self._readers])
        return Prepared(self, key, meta.get("namespace", ""), meta["name"], labels, fields, raw, halves)

    def _around_version(self, obj: dict[str, Any]) -> Halves:
        """Return the JSON of an object after its type, split around its version, which is emptied."""
        meta = obj["metadata"]
        meta["resourceVersion"] = _PLACE
        before, _, after = orjson.dumps(obj)[self._prefix_length :].partition(_PLACE_BYTES)
        meta["resourceVersion"] = ""
        return before, after

    def versioned(self, raw: bytes, version: bytes, tail: bytes) -> bytes:
        """Return `raw` with that resourceVersion; `tail` is the object's JSON with it."""
        return self._at_rest.versioned(raw, version, tail)

    def is_current(self, entry: Entry) -> bool:
        """Report whether the object is stored as it would be written today."""
        return entry.other is None or STORED not in entry.other

    def build(self, key: str, value: bytes, revision: int) -> Entry:
        """Return the entry of a value read from the store; for most kinds its JSON is made on demand.

        Raises StatusError or ValueError if it is not an object of this resource.
        """
        raw = self._at_rest.raw(value)
        obj = self._at_rest.decode(raw)
        if not obj["metadata"].get("name"):
            raise ValueError("it has no name")
        is_kept = self.strategy.traits.json_kept
        if is_kept:
            obj["metadata"] = ordered(obj["metadata"])
        entry = self.entry(obj, raw, revision, key)
        if not is_kept:
            entry.json = None
        if not self._at_rest.is_current(value):
            entry.other = {STORED: self.codec.api_version}
        return entry

    def message(self, entry: Entry) -> tuple[bytes, int]:
        """Return bytes with `Entry.raw` and its place in them; an entry that has not been read stays so.

        Then the resourceVersion is not there.
        """
        value = unread_value(entry)
        start = 0 if value is None else self._at_rest.start(value)
        return (entry.raw, 0) if value is None or not start else (value, start)

    @cached_property
    def _scan(self) -> Callable[[bytes], Object]:
        paths = [path for name in self.field_names for path in field_paths(name)]
        return self._at_rest.scanner(("metadata.name", "metadata.labels", *paths))

    def is_plain(self, key: str, value: bytes) -> bool:
        """Report whether a stored value may stay unread until it is needed (see `glance`)."""
        return value.startswith(self._plain)

    def glance(self, value: bytes, revision: int, terms: bytes = b"") -> Glance:
        """Return what `build` finds in a plain value, all but the names, without decoding the rest.

        `terms`: those of the `Prepared` that the value is of. Raises StatusError or ValueError where that cannot be
        read.
        """
        raw = self._at_rest.raw(value)
        if terms:
            told, texts = orjson.loads(terms)
            return told or NO_LABELS, tuple(texts), self._at_rest.versioned(raw, b"%d" % revision, b""), None
        obj = self._scan(raw)
        meta = obj["metadata"]
        if "name" not in meta:
            raise ValueError("it has no name")
        labels: dict[str, str] = meta.get("labels") or NO_LABELS
        fields = tuple([read(obj) for read in self._readers])
        return labels, fields, self._at_rest.versioned(raw, str(revision).encode(), b""), None

    def placeholder(self, namespace: str, name: str, revision: int) -> Entry:
        """Return an entry for an unreadable object: its names and its resourceVersion."""
        meta = {"name": name, "namespace": namespace} if self.resource.namespaced else {"name": name}
        obj = self.codec.normalise({"metadata": meta})
        return self.prepare(obj).entry(revision)

    def prepare(self, obj: dict[str, Any], replaced: Replaced | None = None) -> Prepared:
        """Encode `obj` for the store and for its readers; `replaced`: the object in its place, in today's form."""
        halves = self._around_version(obj)
        raw = self._at_rest.encode(obj, halves, replaced)
        meta = obj["metadata"]
        return self._drawn(obj, halves, raw, self.tail(meta.get("namespace", ""), meta["name"]))

    def value(self, raw: bytes) -> bytes:
        """Return the stored value of an object in its form at rest."""
        return self._at_rest.value(raw)


class Prepared:
    """Object encoded for the store; it is the note of its own change, so that the cache need not decode.

    It holds bytes and no object: the cyclic garbage collector would visit all parts of objects that wait for the
    disk, and encoding at once finds them in the processor's cache.
    """

    __slots__ = ("_fields", "_halves", "_labels", "_namespace", "key", "name", "raw", "stored")

    def __init__(
        self,
        stored: Stored,
        key: str,
        namespace: str,
        name: str,
        labels: dict[str, str],
        fields: tuple[str, ...],
        raw: bytes,
        halves: Halves,
    ) -> None:
        self.stored = stored
        self.key = key
        self.name = name
        self.raw = raw
        self._namespace = namespace
        self._labels = labels
        self._fields = fields
        self._halves = halves

    @property
    def value(self) -> bytes:
        """Return the bytes for the store: the object in the storage version."""
        return self.stored.value(self.raw)

    @property
    def terms(self) -> bytes:
        """Return labels and fields for another process, as `glance` takes them; empty where it must look itself."""
        terms = orjson.dumps((self._labels, self._fields)) if self.stored.tells else b""
        return terms if len(terms) <= MAX_TERMS_BYTES else b""

    def entry(self, revision: int) -> Entry:
        """Return the entry once the store has committed the object at `revision`."""
        version = b"%d" % revision
        before, after = self._halves
        tail = b"%b%b%b" % (before, version, after)
        raw = self.stored.versioned(self.raw, version, tail)
        return Entry(self.key, self._namespace, self.name, revision, self._labels, self._fields, raw, tail)

    def dry_run_entry(self) -> Entry:
        """Return the entry of an object whose creation was a dry run, without a resourceVersion."""
        entry = self.entry(0)
        before, after = self._halves
        entry.raw = self.raw
        entry.json = without_json_version(before, after)
        return entry
