"""The Protobuf envelope: four prefix bytes, then message Unknown with the type and the object (reference ENC-12)."""

from __future__ import annotations

from functools import lru_cache

from orchtw.schema.codec.refusals import unrecognized
from orchtw.schema.codec.wire import delimited, fields_of, read_varint, varint

PREFIX = b"k8s\x00"
ENVELOPE_END = b"\x1a\x00\x22\x00"  # contentEncoding and contentType: written, empty
_TYPE, _RAW, _ENCODING = 1, 2, 3


@lru_cache(maxsize=4096)  # one per kind
def envelope_head(api_version: str, kind: str) -> bytes:
    """All bytes of an envelope that come before the length of the raw object."""
    types = delimited(1, api_version.encode()) + delimited(2, kind.encode())
    return PREFIX + delimited(_TYPE, types) + b"\x12"


def wrap(api_version: str, kind: str, raw: bytes) -> bytes:
    """The envelope around an inner message."""
    return b"%b%b%b%b" % (envelope_head(api_version, kind), varint(len(raw)), raw, ENVELOPE_END)


def content(body: bytes, start: int) -> bytes | None:
    """The inner message of an envelope as `wrap` makes it, whose length is at `start`; None for any other bytes."""
    if not body.endswith(ENVELOPE_END):
        return None
    try:
        length, first = read_varint(body, start)
    except (IndexError, ValueError):
        return None
    end = first + length
    return body[first:end] if end + len(ENVELOPE_END) == len(body) else None


def unwrap(body: bytes, must_be: str = "") -> tuple[str, str, bytes]:
    """apiVersion, kind and inner message of an envelope; type names may be empty.

    Raises BadRequest when `body` is not an envelope, naming the kind that it `must_be`.
    """
    if body[:4] != PREFIX:
        why = "provided data does not appear to be a protobuf message, expected prefix [107 56 115 0]"
        raise unrecognized(body, must_be, why)
    try:
        parts = dict(fields_of(body[4:]))
        types = dict(fields_of(_content(parts.get(_TYPE, b""))))
        if parts.get(_ENCODING):
            raise ValueError("the content of the envelope is encoded in a way that is not supported")
        api_version, kind = (_content(types.get(number, b"")).decode() for number in (1, 2))
        return api_version, kind, _content(parts.get(_RAW, b""))
    except (IndexError, ValueError) as error:
        why = "truncated" if isinstance(error, IndexError) else str(error)
        raise unrecognized(body, must_be, f"the envelope cannot be read: {why}") from None


def _content(value: int | bytes) -> bytes:
    if isinstance(value, int):
        raise ValueError("wrong wire type 0")
    return value
