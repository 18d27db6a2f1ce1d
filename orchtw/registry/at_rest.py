"""The form in which objects lie in the store: Protobuf where the kind has it, else JSON.

Entries keep `raw`: the object without kind and apiVersion. It takes its resourceVersion from the commit.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Final, Protocol

import orjson

from orchtw.schema.codec.codec import Codec
from orchtw.schema.codec.envelope import content, content_start, envelope_head, unwrap, wrap
from orchtw.schema.codec.json_text import load_json
from orchtw.schema.codec.kind_codec import KindCodec
from orchtw.schema.codec.splice import metadata_of, set_protobuf_version
from orchtw.schema.codec.strict_fields import TYPE_KEYS
from orchtw.wire.objects import Object

SMALL_BYTES: Final = 1024
"""Size below which an object is encoded sooner than it is compared with the one that it replaces."""

Halves = tuple[bytes, bytes]
"""An object's JSON after its type, split before the text of its resourceVersion."""

Replaced = tuple[Object, bytes]
"""The object that an update replaces: its canonical dict and its `raw`."""

ReadOlder = Callable[[bytes], Object]
"""Reads a stored value of an older version or form as a canonical dict of that version."""


class AtRest(Protocol):
    """One form, for the objects of one kind."""

    head: bytes
    """Prefix of values in the present version and form."""

    def encode(self, obj: Object, halves: Halves, replaced: Replaced | None = None) -> bytes:
        """Return a canonical dict as `raw`; `halves` are its JSON around its version.

        `replaced` makes it cheaper: what did not change is not encoded again.
        """

    def decode(self, raw: bytes) -> Object:
        """Return a `raw` as canonical dict. Raises BadRequest naming the place that cannot be read."""

    def metadata(self, raw: bytes, *, owned: bool = True) -> Object:
        """Return only the metadata of a `raw` that this server made; `owned` False: maybe without managedFields."""

    def tail(self, raw: bytes) -> bytes:
        """Return the JSON of a `raw` after kind and apiVersion."""

    def versioned(self, raw: bytes, version: bytes, tail: bytes) -> bytes:
        """Return `raw` with that resourceVersion; `tail` is the object's JSON with it."""

    @property
    def scans(self) -> bool:
        """Report whether a `scanner` costs much less than `decode`."""

    def scanner(self, paths: Iterable[str]) -> Callable[[bytes], Object]:
        """Return a decoder of at least some paths of a `raw`. It raises ValueError for malformed data."""

    def value(self, raw: bytes) -> bytes:
        """Return the stored value of a `raw`, which names its kind."""

    def raw(self, value: bytes) -> bytes:
        """Return the `raw` of a stored value. Raises StatusError or ValueError for an unreadable one."""

    def start(self, value: bytes) -> int:
        """Return where the `raw` of a stored value begins, if it can be told without reading it; else 0."""

    def is_current(self, value: bytes) -> bool:
        """Report whether a readable value is in the version and form that `value` would give it now."""


class ProtobufAtRest:
    """Inner Protobuf message; the store keeps it in its envelope."""

    scans = True

    def __init__(self, codec: KindCodec, read_older: ReadOlder | None = None) -> None:
        self._codec = codec
        self.head = envelope_head(codec.api_version, codec.kind)
        self._read_older = read_older
        self.decode = codec.decode_protobuf
        self._length = len(codec.type_prefix)

    def encode(self, obj: Object, halves: Halves, replaced: Replaced | None = None) -> bytes:
        """Encode in Protobuf, as `AtRest.encode`; the methods below are those of `AtRest`."""
        if replaced is None:
            return self._codec.field_encoder.new(obj)
        if len(replaced[1]) < SMALL_BYTES:
            return self._codec.encode_protobuf(obj)
        return self._codec.field_encoder.changed(obj, *replaced)

    def metadata(self, raw: bytes, *, owned: bool = True) -> Object:
        return self._codec.decode_metadata(raw)

    def tail(self, raw: bytes) -> bytes:
        return orjson.dumps(self.decode(raw))[self._length :]

    def versioned(self, raw: bytes, version: bytes, tail: bytes) -> bytes:
        return set_protobuf_version(raw, version)

    def scanner(self, paths: Iterable[str]) -> Callable[[bytes], Object]:
        return self._codec.part_decoder(paths)

    def value(self, raw: bytes) -> bytes:
        return wrap(self._codec.api_version, self._codec.kind, raw)

    def raw(self, value: bytes) -> bytes:
        if self._read_older is None or value.startswith(self.head):
            return content(value, len(self.head)) or unwrap(value)[2]
        return self._codec.encode_protobuf(self._read_older(value))

    def start(self, value: bytes) -> int:
        return content_start(value, len(self.head)) if value.startswith(self.head) else 0

    def is_current(self, value: bytes) -> bool:
        return value.startswith(self.head)


class JsonAtRest:
    """JSON after kind and apiVersion; the store keeps the whole object."""

    scans = False

    def __init__(self, codec: Codec) -> None:
        self.head = codec.type_prefix
        self._length = len(codec.type_prefix)

    def encode(self, obj: Object, halves: Halves, replaced: Replaced | None = None) -> bytes:
        """Join the halves, as `AtRest.encode`; the methods below are those of `AtRest`."""
        return b"".join(halves)

    def decode(self, raw: bytes) -> Object:
        obj: Object = load_json(self.head + raw)
        return obj

    def metadata(self, raw: bytes, *, owned: bool = True) -> Object:
        return metadata_of(raw, owned=owned)

    def tail(self, raw: bytes) -> bytes:
        return raw

    def versioned(self, raw: bytes, version: bytes, tail: bytes) -> bytes:
        return tail

    def scanner(self, paths: Iterable[str]) -> Callable[[bytes], Object]:
        return self.decode

    def value(self, raw: bytes) -> bytes:
        return self.head + raw

    def raw(self, value: bytes) -> bytes:
        if value.startswith(self.head):
            return value[self._length :]
        obj = load_json(value)  # in a version that was stored before
        return orjson.dumps({key: obj[key] for key in obj if key not in TYPE_KEYS})[1:]

    def start(self, value: bytes) -> int:
        return self._length if value.startswith(self.head) else 0

    def is_current(self, value: bytes) -> bool:
        return value.startswith(self.head)


def at_rest(codec: Codec, read_older: ReadOlder | None = None) -> AtRest:
    """Return the form of a kind's objects. Without `read_older` all are taken for objects of the present version."""
    if codec.protobuf and codec.with_message is not None:
        return ProtobufAtRest(codec.with_message, read_older)
    return JsonAtRest(codec)
