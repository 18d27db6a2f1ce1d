"""Where the objects of one resource live, in whatever version they are asked for."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from copy import copy
from functools import cached_property
from secrets import token_hex
from typing import Any, Final

import orjson

from orchtw.errors import StatusError
from orchtw.registry.at_rest import Halves, ReadOlder, at_rest
from orchtw.registry.strategy import Strategy
from orchtw.registry.system_metadata import ordered
from orchtw.rules.field_selectors import field_paths, field_value
from orchtw.schema.catalogue import ResourceType
from orchtw.schema.codec.codecs import KindCodec
from orchtw.schema.codec.json_text import load_json
from orchtw.schema.codec.splice import without_json_version
from orchtw.storage.cache.cacher import ResourceCache
from orchtw.watch.entry import LARGE_BYTES, Entry, Glance
from orchtw.watch.room import Room
from orchtw.wire.objects import Object
from orchtw.wire.packing import Packed, Packer

NO_LABELS: dict[str, str] = {}
METADATA_FIELDS = ("metadata.name", "metadata.namespace")

_PLACE: Final = token_hex(16)
"""Stands for the version while an object is encoded; nobody can have put it anywhere else."""

_PLACE_BYTES: Final = _PLACE.encode()

STORED: Final = ("stored",)
"""Where an entry says that it is not in the store as it would be written today: the apiVersion of its bytes."""


Made = Callable[[Entry, int, int, int], None]
"""Is told of an entry's new bytes: plain JSON, packed JSON, other forms."""


InForce = Callable[[Entry], Awaitable[None]]
"""Waits until what an object says holds on this server, which may be a moment after it has been stored."""


def _nobody(entry: Entry, plain: int, packed: int, other: int) -> None:
    """Count nothing: the default."""


class Stored:
    """One stored resource: its keys, its codec in the storage version, its strategy and its cache.

    `resource` is the resource type of the storage version (or, where that version is not served, of the
    preferred one); `prefix` ends in "/" and uses neutral group names. Nobody else needs to know in which form its
    objects lie in the store (see `at_rest`).
    """

    closed: str = ""
    """Why nothing new may be stored any more; empty: it may."""

    def __init__(
        self,
        resource: ResourceType,
        codec: KindCodec,
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
        lasts = self._at_rest.scans and not strategy.traits.json_kept
        self._plain: tuple[bytes, ...] = (self._at_rest.head,) if lasts else ()

    def attach(self, cache: ResourceCache) -> None:
        """This is the cache of the objects."""
        self.cache, self.room, self.made = cache, cache.room, cache.made

    def alone(self) -> Stored:
        """Return a copy that does not know the cache, as `StoredResource.alone`."""
        found = copy(self)
        found.made, found.in_force = _nobody, None
        found.__dict__.pop("cache", None)
        return found

    def tail(self, namespace: str, name: str) -> str:
        """The key of an object below `prefix`."""
        return f"{namespace}/{name}" if self.resource.namespaced else name

    def get(self, namespace: str, name: str) -> Entry | None:
        """The cached entry of an object, or None. Raises DamagedObject (500) for one that cannot be read."""
        return self.cache.get(f"{namespace}/{name}" if self.resource.namespaced else name)

    def load(self, entry: Entry) -> dict[str, Any]:
        """A private, mutable canonical dict of a cached object in the storage version."""
        obj: dict[str, Any] = load_json(self.codec.type_prefix + self.json_tail(entry))
        return obj

    def json_tail(self, entry: Entry) -> bytes:
        """The object's JSON after kind and apiVersion, in the storage version; made on first use.

        Raises DamagedObject (500) for an entry that was loaded, and turns out to be no object.
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
        """As `json_tail`, for one of many: what is packed stays so, and so is what there is no room for."""
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

    def _made_tail(self, entry: Entry) -> bytes:
        try:
            return self._at_rest.tail(entry.raw)
        except (StatusError, ValueError) as error:
            raise self.cache.spoilt(entry, error) from None

    def spare(self, entry: Entry, *, drop: bool) -> None:
        """See `StoredResource`: of a large object nothing is packed, for that takes long."""
        other, tail = entry.other, entry.json
        if other is not None:
            entry.other = {STORED: other[STORED]} if STORED in other else None
        if tail is None or tail is entry.raw:
            return
        if drop or len(tail) > LARGE_BYTES:
            entry.json = None
        elif type(tail) is not Packed:
            entry.json = self._packer.pack(tail)

    def metadata(self, entry: Entry, *, owned: bool = True) -> Object:
        """A private copy of the metadata of a cached object, at a fraction of the cost of the whole.

        `owned` False: maybe without managedFields, which saves more.
        """
        return self._at_rest.metadata(entry.raw, owned=owned)

    def entry(self, obj: dict[str, Any], raw: bytes, revision: int, key: str) -> Entry:
        """The cache's form of `obj` at `revision`; `raw` is the object as it lies in the store, without one."""
        return self._drawn(obj, self._around_version(obj), raw, key).entry(revision)

    def _drawn(self, obj: dict[str, Any], halves: Halves, raw: bytes, key: str) -> Prepared:
        meta = obj["metadata"]
        labels = meta.get("labels") or NO_LABELS
        fields = tuple([read(obj) for read in self._readers])
        return Prepared(self, key, meta.get("namespace", ""), meta["name"], labels, fields, raw, halves)

    def _around_version(self, obj: dict[str, Any]) -> Halves:
        """The JSON of an object after its type, before and after its version, which is empty from now on."""
        meta = obj["metadata"]
        meta["resourceVersion"] = _PLACE
        before, _, after = orjson.dumps(obj)[self._prefix_length :].partition(_PLACE_BYTES)
        meta["resourceVersion"] = ""
        return before, after

    def versioned(self, raw: bytes, version: bytes, tail: bytes) -> bytes:
        """`raw` with that resourceVersion; `tail` is the object's JSON with it."""
        return self._at_rest.versioned(raw, version, tail)

    def is_current(self, entry: Entry) -> bool:
        """Report whether the object is stored as it would be written today."""
        return entry.other is None or STORED not in entry.other

    def build(self, key: str, value: bytes, revision: int) -> Entry:
        """The cache's form of a value read from the store; its JSON is left until somebody asks, for most kinds.

        Raises StatusError or ValueError for what is no object of this resource.
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

    @cached_property
    def _scan(self) -> Callable[[bytes], Object]:
        paths = [path for name in self.field_names for path in field_paths(name)]
        return self._at_rest.scanner(("metadata.name", "metadata.labels", *paths))

    def is_plain(self, key: str, value: bytes) -> bool:
        """Report whether a stored value may stay unread until it is needed (see `glance`)."""
        return value.startswith(self._plain)

    def glance(self, value: bytes, revision: int) -> Glance:
        """Return what `build` finds in a plain value, all but the names, without decoding the rest.

        Raises StatusError or ValueError where that cannot be read.
        """
        raw = self._at_rest.raw(value)
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

    def prepare(self, obj: dict[str, Any]) -> Prepared:
        """Encode `obj` for the store, and for those who will be shown it."""
        halves = self._around_version(obj)
        raw = self._at_rest.encode(obj, halves)
        meta = obj["metadata"]
        return self._drawn(obj, halves, raw, self.tail(meta.get("namespace", ""), meta["name"]))

    def value(self, raw: bytes) -> bytes:
        """Return the stored value of an object in its form at rest."""
        return self._at_rest.value(raw)


class Prepared:
    """An object on its way into the store; it is the note of its own change, so that the cache need not decode.

    It holds bytes and no object: a search for reference cycles would look at all parts of what waits for the disk,
    and what is encoded at once is still in the processor's cache.
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

    def entry(self, revision: int) -> Entry:
        """The cache's form once the store has committed the object at `revision`."""
        version = b"%d" % revision
        before, after = self._halves
        tail = b"%b%b%b" % (before, version, after)
        raw = self.stored.versioned(self.raw, version, tail)
        return Entry(self.key, self._namespace, self.name, revision, self._labels, self._fields, raw, tail)

    def dry_run_entry(self) -> Entry:
        """The entry of an object whose creation was a dry run: it has no resourceVersion."""
        entry = self.entry(0)
        before, after = self._halves
        entry.raw = self.raw
        entry.json = without_json_version(before, after)
        return entry
