"""Protobuf's wire format: tags, varints and fields.

Readers raise SchemaError or another ValueError on malformed data, IndexError where the bytes end too soon.
"""

from __future__ import annotations

from collections.abc import Container
from functools import cache

from orchtw.schema.codec.mismatch import SchemaError

VARINT, FIXED64, LENGTH, FIXED32 = 0, 1, 2, 5
_MAX_SHIFT = 63


def varint(number: int) -> bytes:
    """Encode a varint; negative numbers take ten bytes."""
    # -30 % of the time for lengths of fields and objects, which nearly all are.
    if 0 <= number < 16384:
        return bytes((number & 127 | 128, number >> 7)) if number > 127 else bytes((number,))
    number &= 0xFFFFFFFFFFFFFFFF
    out = bytearray()
    while number > 127:
        out.append(number & 127 | 128)
        number >>= 7
    out.append(number)
    return bytes(out)


@cache  # one per field of a schema and wire type
def tag(number: int, wire_type: int) -> bytes:
    """Encode the tag of a field."""
    return varint(number << 3 | wire_type)


@cache  # one per field number and wire type: a few dozen in all
def short_fields(tag_bytes: bytes) -> tuple[bytes, ...]:
    """Return tag and one-byte varint for every value below 128: the beginnings of nearly all fields."""
    return tuple(tag_bytes + bytes((number,)) for number in range(128))


def delimited(number: int, content: bytes) -> bytes:
    """Encode a whole length-delimited field."""
    return b"%b%b%b" % (tag(number, LENGTH), varint(len(content)), content)


def read_varint(data: bytes, position: int) -> tuple[int, int]:
    """Read an unsigned varint of at most 64 bits; return it and the position after it."""
    number = shift = 0
    while True:
        byte = data[position]
        position += 1
        number |= (byte & 127) << shift
        if byte < 128:
            return number & 0xFFFFFFFFFFFFFFFF, position
        shift += 7
        if shift > _MAX_SHIFT:
            raise SchemaError("a varint has at most 64 bits")


def read_int64(data: bytes, position: int) -> tuple[int, int]:
    """Read a signed integer; return it and the position after it."""
    number, position = read_varint(data, position)
    return number - (1 << 64) if number >> 63 else number, position


def read_int32(data: bytes, position: int) -> tuple[int, int]:
    """Read a signed integer, cut to 32 bits as every Protobuf reader does; return it and the position after it."""
    number, position = read_varint(data, position)
    number &= 0xFFFFFFFF
    return number - (1 << 32) if number >> 31 else number, position


def skip(data: bytes, position: int, end: int, known: Container[int]) -> int:
    """Return the position after the field that starts at `position`, whose number must not be `known`.

    A known number gets here only with a wire type that is not its own.
    """
    key, position = read_varint(data, position)
    number, wire_type = key >> 3, key & 7
    if number in known:
        raise SchemaError(f"wrong wire type {wire_type}")
    if number == 0:
        raise SchemaError("field number 0 does not exist")
    if wire_type == VARINT:
        position = read_varint(data, position)[1]
    elif wire_type == LENGTH:
        length, position = read_varint(data, position)
        position += length
    elif wire_type in (FIXED64, FIXED32):
        position += 8 if wire_type == FIXED64 else 4
    else:
        raise SchemaError(f"wire type {wire_type} is not used")
    if position > end:
        raise SchemaError("truncated")
    return position


def fields_of(data: bytes) -> list[tuple[int, int | bytes]]:
    """Return all fields of a small message as (number, value); fixed-width ones are left out."""
    out: list[tuple[int, int | bytes]] = []
    position, end = 0, len(data)
    while position < end:
        key, after = read_varint(data, position)
        if key & 7 == VARINT:
            number, position = read_varint(data, after)
            out.append((key >> 3, number))
        elif key & 7 == LENGTH:
            length, after = read_varint(data, after)
            position = after + length
            if position > end:
                raise SchemaError("truncated")
            out.append((key >> 3, data[after:position]))
        else:
            position = skip(data, position, end, ())
    return out


def map_entry(data: bytes, position: int, end: int) -> tuple[str, bytes]:
    """Read key and value of one entry of a map whose values are length-delimited; an absent one is empty."""
    key = value = b""
    while position < end:
        byte = data[position]
        length = data[position + 1]
        start = position + 2
        if length > 127:
            length, start = read_varint(data, position + 1)
        if byte == 10:
            key = data[start : start + length]
        elif byte == 18:
            value = data[start : start + length]
        else:
            position = skip(data, position, end, (1, 2))
            continue
        position = start + length
    if position != end:
        raise SchemaError("truncated")
    return key.decode(), value
