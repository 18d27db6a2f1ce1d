"""Insertion of a resourceVersion into an object that is already encoded, without decoding it.

An object is encoded before its revision is known; once the store has assigned it, it is inserted here.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from json import JSONDecoder
from typing import Any, Final

import orjson

from orchtw.schema.codec.json_text import load_json
from orchtw.schema.codec.known_fields import KNOWN_FIELDS
from orchtw.schema.codec.wire import read_varint, short_fields, varint
from orchtw.wire.json_values import loads

# The members of metadata that come before resourceVersion in emission order (ObjectMeta, and ListMeta's selfLink).
_STRING = rb'"(?:[^"\\]|\\.)*"'
_NAMES_BEFORE = (b"name", b"generateName", b"namespace", b"selfLink", b"uid")
_BEFORE = b"".join(rb'(?:"%b":%b(?:,|(?=\})))?' % (name, _STRING) for name in _NAMES_BEFORE)
_JSON_VERSION = re.compile(rb'"metadata":\{' + _BEFORE + rb'("resourceVersion":%b(,)?)?' % _STRING)

_VERSION_KEY: Final = b'"resourceVersion":"'
_METADATA: Final = b'"metadata":'
_FIRST: Final = JSONDecoder()
_LARGE_BYTES: Final = 32 * 1024

_OWNERS = b',"managedFields":['
_OWNERS_END = b']},"'  # of the entries, of metadata, and the next key

_META_TAG = b"\x0a"
_VERSION_TAG = 0x32  # field 6, length-delimited
_TAGS_BEFORE = frozenset(number << 3 | 2 for number in range(1, 6))


def set_json_version(tail: bytes, version: bytes) -> bytes:
    """Return the JSON of an object, or its tail after the type, with metadata.resourceVersion set to `version`.

    Replaces the version that is there or inserts it in its place in emission order. Raises ValueError when the text
    has no metadata.
    """
    match = _JSON_VERSION.match(tail) or _JSON_VERSION.search(tail)
    if match is None:
        raise ValueError("no metadata in the encoded object")
    start, end = match.span(1)
    if start < 0:
        start = end = match.end()
        comma = b"" if tail[end : end + 1] == b"}" else b","
        lead = b"" if tail[start - 1 : start] in (b"{", b",") else b","
    else:
        comma, lead = match[2] or b"", b""
    return b'%b%b"resourceVersion":"%b"%b%b' % (tail[:start], lead, version, comma, tail[end:])


def without_json_version(before: bytes, after: bytes) -> bytes:
    """Join the JSON around a resourceVersion's text to that of an object without one."""
    head, rest = before.removesuffix(_VERSION_KEY), after[1:]
    return head + rest[1:] if rest[:1] == b"," else head.removesuffix(b",") + rest


def set_protobuf_version(raw: bytes, version: bytes) -> bytes:
    """Return an inner message with metadata.resourceVersion set to `version`.

    For objects that this server encoded: metadata first, its fields in ascending order. Raises ValueError on others.
    """
    if raw[:1] != _META_TAG:
        raise ValueError("no metadata at the start of the encoded object")
    length, start = read_varint(raw, 1)
    end = start + length
    position = start
    while position < end and raw[position] in _TAGS_BEFORE:
        position = _after(raw, position)
    rest = _after(raw, position) if position < end and raw[position] == _VERSION_TAG else position
    head = raw[start:position] + short_fields(b"\x32")[len(version)] + version
    size = varint(len(head) + end - rest)
    return b"%b%b%b%b" % (_META_TAG, size, head, raw[rest:])


def metadata_field(raw: bytes) -> bytes:
    """Return the beginning of an inner message of this server, field 1: its metadata. Raises ValueError on others."""
    if raw[:1] != _META_TAG:
        raise ValueError("no metadata at the start of the encoded object")
    return raw[: _after(raw, 0)]


def _after(raw: bytes, position: int) -> int:
    """Return the position after the length-delimited field at `position`, whose tag has one byte."""
    length = raw[position + 1]
    if length < 128:
        return position + 2 + length
    length, start = read_varint(raw, position + 1)
    return start + length


def metadata_of(tail: bytes, *, owned: bool = True) -> dict[str, Any]:
    """Return the metadata of a JSON tail, mostly without parsing the rest; `owned` False: without managedFields.

    Where metadata has no managedFields, the cut falls elsewhere and leaves no valid JSON, or whole metadata; if
    invalid, a large object is parsed up to the end of its metadata, which comes first. Raises ValueError.
    """
    start = tail.find(_OWNERS)
    end = tail.find(_OWNERS_END, start) + 2 if start > 0 else 0
    if end > 1:
        try:
            head = b"{%b}" % tail[:end] if owned else b"{%b}}" % tail[:start]
            return loads(head)["metadata"]  # type: ignore[no-any-return]
        except orjson.JSONDecodeError:
            pass
    if len(tail) > _LARGE_BYTES and tail.startswith(_METADATA):
        return _FIRST.raw_decode(tail.decode(), len(_METADATA))[0]  # type: ignore[no-any-return]
    return load_json(b"{" + tail)["metadata"]  # type: ignore[no-any-return]


def load_owned(types: Mapping[str, Any], tail: bytes) -> dict[str, Any]:
    """Return the object of a JSON tail with its type. Its owners' field sets are shared and must not be modified.

    Raises ValueError.
    """
    parts = split_owned(tail) if len(tail) <= _LARGE_BYTES else None
    if parts is not None:
        obj, end = parts
        entries = KNOWN_FIELDS.entries(tail[tail.find(_OWNERS) + len(_OWNERS) - 1 : end - 1])
        if entries is not None:
            obj["metadata"]["managedFields"] = entries
            return {**types, **obj}
    return {**types, **load_json(b"{" + tail)}


def split_owned(tail: bytes) -> tuple[dict[str, Any], int] | None:
    """Return the object of a JSON tail without its managedFields, and where its metadata ends in the tail.

    Ownership is half of an object's JSON and costs half of its parsing. None for a tail without managedFields, or
    one that does not come apart cleanly: a cut at a wrong place leaves no JSON on either side.
    """
    start = tail.find(_OWNERS)
    end = tail.find(_OWNERS_END, start) + 2 if start > 0 else 0
    if end < 2:
        return None
    try:
        obj = loads(b"{%b}}" % tail[:start])
        if len(obj) > 1:  # it is below another key
            return None
        obj.update(loads(b"{" + tail[end + 1 :]))
    except orjson.JSONDecodeError:
        return None
    return obj, end
