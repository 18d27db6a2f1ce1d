"""The special forms as Protobuf messages: canonical value → bytes and back (reference ENC-19).

Readers raise SchemaError or another ValueError on malformed data, IndexError where the bytes end too soon.
"""

from __future__ import annotations

import binascii
import struct
from collections.abc import Callable
from functools import lru_cache, wraps
from typing import Any

import orjson

from orchtw.schema.codec.json_text import load_json
from orchtw.schema.codec.mismatch import Mismatch, SchemaError
from orchtw.schema.codec.wire import delimited, fields_of, varint
from orchtw.schema.values import any_value, double_value, object_value
from orchtw.values.quantity import canonical_quantity
from orchtw.values.times import duration_text, micro_time_text, parse_duration, parse_time, time_text

_CACHED = 4096
_LONGEST_CACHED = 32  # bytes: all but hostile times, numbers and quantities

Read = Callable[[bytes], Any]


# --- writing special forms: canonical value → the message's bytes ---


@lru_cache(maxsize=_CACHED)
def time_message(text: str | None) -> bytes:
    """Encode a Time: seconds and zero nanos; nothing for the zero time."""
    return b"" if text is None else b"\x08%b\x10\x00" % varint(parse_time(text)[0])


@lru_cache(maxsize=_CACHED)
def micro_time_message(text: str | None) -> bytes:
    """Encode a MicroTime: seconds and nanos in whole microseconds."""
    if text is None:
        return b""
    seconds, microseconds = parse_time(text)
    return b"\x08%b\x10%b" % (varint(seconds), varint(microseconds * 1000))


def duration_message(text: str) -> bytes:
    """Encode a Duration as nanoseconds."""
    return b"\x08" + varint(parse_duration(text))


@lru_cache(maxsize=_CACHED)
def quantity_message(text: str) -> bytes:
    """Encode a Quantity: its canonical text."""
    return delimited(1, text.encode())


def int_or_string_message(value: int | str) -> bytes:
    """Encode an IntOrString: type, number and text, all three written."""
    if isinstance(value, str):
        return b"\x08\x01\x10\x00" + delimited(3, value.encode())
    return b"\x08\x00\x10%b\x1a\x00" % varint(value)


def any_message(value: Any) -> bytes:
    """Encode RawExtension, FieldsV1 or JSON: compact JSON text; nothing for null."""
    return b"" if value is None else delimited(1, orjson.dumps(value))


def strings_message(values: list[str] | None) -> bytes:
    """Encode a message that is a list of strings."""
    return b"".join([delimited(1, value.encode()) for value in values or ()])


def bytes_content(text: str | None) -> bytes:
    """Decode the bytes of base64 text."""
    return binascii.a2b_base64(text or "")


def double_bits(value: float) -> bytes:
    """Encode a number as eight bytes, little-endian."""
    return struct.pack("<d", value)


def either_message(encode: Callable[[Any], bytes], value: Any) -> bytes:
    """Encode a schema (field 1) or a list of alternatives (field 2): JSONSchemaPropsOrArray, …OrStringArray."""
    if isinstance(value, list):
        return b"".join([delimited(2, item.encode() if type(item) is str else encode(item)) for item in value])
    return b"" if value is None else delimited(1, encode(value))


def either_bool_message(encode: Callable[[Any], bytes], value: Any) -> bytes:
    """Encode JSONSchemaPropsOrBool: `allows` is always written, and true beside a schema."""
    if isinstance(value, dict):
        return b"\x08\x01" + delimited(2, encode(value))
    return b"\x08\x01" if value else b"\x08\x00"


# --- reading: the message's bytes → canonical value ---


def _cached_if_short(read: Read) -> Read:
    """Add a cache to `read` that no client can fill with long messages."""
    cached = lru_cache(maxsize=_CACHED)(read)

    @wraps(read)
    def wrapper(data: bytes) -> Any:
        return cached(data) if len(data) <= _LONGEST_CACHED else read(data)

    return wrapper


def _signed(number: object) -> int:
    if not isinstance(number, int):
        raise SchemaError("wrong wire type 2")
    return number - (1 << 64) if number >> 63 else number


def _content(value: object) -> bytes:
    if not isinstance(value, bytes):
        raise SchemaError("wrong wire type 0")
    return value


@_cached_if_short
def read_time(data: bytes) -> str | None:
    """Decode a Time to RFC 3339 text; None for the zero time."""
    return _time_text(data, time_text)


@_cached_if_short
def read_micro_time(data: bytes) -> str | None:
    """Decode a MicroTime to RFC 3339 text with microseconds; None for the zero time."""
    nanos = _signed(dict(fields_of(data)).get(2, 0))
    return _time_text(data, lambda seconds: micro_time_text(seconds, nanos // 1000 % 1_000_000))


def _time_text(data: bytes, text: Callable[[int], str | None]) -> str | None:
    if not data:
        return None
    try:
        return text(_signed(dict(fields_of(data)).get(1, 0)))
    except OverflowError:
        raise SchemaError("expected a time in the years 1 to 9999") from None


def read_duration(data: bytes) -> str:
    """Decode a duration to Go's text."""
    return duration_text(_signed(dict(fields_of(data)).get(1, 0)))


@_cached_if_short
def read_quantity(data: bytes) -> str:
    """Decode a quantity to canonical form; a message without text is zero."""
    text = _content(dict(fields_of(data)).get(1, b"0")).decode()
    try:
        return canonical_quantity(text)
    except ValueError:
        raise Mismatch("a quantity such as 500m, 1.5Gi or 1e3", text) from None


@_cached_if_short
def read_int_or_string(data: bytes) -> int | str:
    """Decode the number or the text, by the message's type field."""
    parts = dict(fields_of(data))
    if parts.get(1):
        return _content(parts.get(3, b"")).decode()
    number = _signed(parts.get(2, 0)) & 0xFFFFFFFF
    return number - (1 << 32) if number >> 31 else number


def read_any(data: bytes) -> Any:
    """Decode the JSON value in a RawExtension or JSON; an empty message is None."""
    raw = _content(dict(fields_of(data)).get(1, b""))
    if not raw:
        return None
    try:
        value = load_json(raw)
    except ValueError as error:
        raise SchemaError(f"json parse error: {error}") from None
    return None if value is None else any_value(value)


def read_object(data: bytes) -> Any:
    """Decode the JSON object in a FieldsV1; an empty message is None."""
    value = read_any(data)
    return None if value is None else object_value(value)


def read_strings(data: bytes) -> list[str]:
    """Decode a message that is a list of strings."""
    return [_content(value).decode() for number, value in fields_of(data) if number == 1]


def read_string(data: bytes) -> str:
    """Decode text from UTF-8."""
    return data.decode()


def read_bytes(data: bytes) -> str:
    """Encode bytes as base64 text."""
    return binascii.b2a_base64(data, newline=False).decode()


def read_double(data: bytes) -> int | float:
    """Decode a finite number. Infinities are rejected."""
    return double_value(struct.unpack("<d", data)[0])


def read_either(decode: Callable[[bytes, int, int], Any], last: Read, data: bytes) -> Any:
    """Decode a schema (field 1), or each field 2 with `last` (JSONSchemaPropsOrArray, …OrStringArray)."""
    parts = fields_of(data)
    several = [last(_content(value)) for number, value in parts if number == 2]
    if several:
        return several
    schema = dict(parts).get(1)
    return None if schema is None else decode(_content(schema), 0, len(_content(schema)))


def read_either_bool(decode: Callable[[bytes, int, int], Any], data: bytes) -> Any:
    """Decode a schema, or the boolean `allows` (JSONSchemaPropsOrBool)."""
    parts = dict(fields_of(data))
    schema = parts.get(2)
    return bool(parts.get(1)) if schema is None else decode(_content(schema), 0, len(_content(schema)))
