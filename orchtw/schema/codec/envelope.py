"""The Protobuf envelope: four prefix bytes, then message Unknown with the type and the object (reference ENC-12)."""

from __future__ import annotations

from functools import lru_cache

from orchtw.schema.codec.mismatch import MalformedBody
from orchtw.schema.codec.refusals import unrecognized
from orchtw.schema.codec.wire import delimited, fields_of, read_varint, varint

PREFIX = b"k8s\x00"
ENVELOPE_END = b"\x1a\x00\x22\x00"  # contentEncoding and contentType: written, empty
_TYPE, _RAW, _ENCODING = 1, 2, 3


@lru_cache(maxsize=4096)  # one per kind
def envelope_head(api_version: str, kind: str) -> bytes:
    """Return all bytes of an envelope that come before the length of the raw object."""
    types = delimited(1, api_version.encode()) + delimited(2, kind.encode())
    return PREFIX + delimited(_TYPE, types) + b"\x12"


def wrap(api_version: str, kind: str, raw: bytes) -> bytes:
    """Put an inner message into an envelope."""
    return b"%b%b%b%b" % (envelope_head(api_version, kind), varint(len(raw)), raw, ENVELOPE_END)


def content(body: bytes, start: int) -> bytes | None:
    """Return the inner message of an envelope made by `wrap`, whose length is at `start`; None for other bytes."""
    if not body.endswith(ENVELOPE_END):
        return None
    try:
        length, first = read_varint(body, start)
    except (IndexError, ValueError):
        return None
    end = first + length
    return body[first:end] if end + len(ENVELOPE_END) == len(body) else None


def content_start(body: bytes, start: int) -> int:
    """Return where the inner message of an envelope begins, as `content`; 0 for other bytes."""
    try:
        length, first = read_varint(body, start)
    except (IndexError, ValueError):
        return 0
    return first if first + length + len(ENVELOPE_END) == len(body) else 0


def unwrap(body: bytes) -> tuple[str, str, bytes]:
    """Return the parts of an envelope, as `opened`. Raises BadRequest when `body` is not an envelope."""
    try:
        return opened(body)
    except MalformedBody as error:
        raise unrecognized(body, "", str(error)) from None


def opened(body: bytes) -> tuple[str, str, bytes]:
    """Return apiVersion, kind and inner message of an envelope; type names may be empty.

    Raises MalformedBody when `body` is not an envelope.
    """
    if body[:4] != PREFIX:
        raise MalformedBody("provided data does not appear to be a protobuf message, expected prefix [107 56 115 0]")
    try:
        parts = dict(fields_of(body[4:]))
        types = dict(fields_of(_content(parts.get(_TYPE, b""))))
        if parts.get(_ENCODING):
            raise ValueError("the content encoding of the envelope is not supported")
        api_version, kind = (_content(types.get(number, b"")).decode() for number in (1, 2))
        return api_version, kind, _content(parts.get(_RAW, b""))
    except (IndexError, ValueError) as error:
        why = "truncated" if isinstance(error, IndexError) else str(error)
        raise MalformedBody(f"the envelope cannot be read: {why}") from None


def _content(value: int | bytes) -> bytes:
    if isinstance(value, int):
        raise ValueError("wrong wire type 0")
    return value
