"""Size in memory of a Protobuf message, estimated before it is decoded.

An empty element takes two bytes on the wire and hundreds in memory. Large messages are therefore scanned first.
"""

from __future__ import annotations

from orchtw.schema.codec.json_text import MAX_CONTAINERS
from orchtw.schema.codec.mismatch import SchemaError
from orchtw.schema.codec.wire import FIXED32, FIXED64, LENGTH, VARINT, read_varint
from orchtw.schema.nodes import EitherSchema, ListSchema, MapSchema, Node, StructSchema

UNCOUNTED_BYTES = 2 * MAX_CONTAINERS
"""Size up to which a message is not counted: fewer bytes cannot hold too many messages."""


def check_size(schema: StructSchema, raw: bytes) -> None:
    """Raise SchemaError if a message consists of more than MAX_CONTAINERS messages and map entries.

    A malformed message is left to the decoder.
    """
    if len(raw) <= UNCOUNTED_BYTES:
        return
    try:
        count = _count(schema, raw)
    except (IndexError, ValueError):
        return
    if count > MAX_CONTAINERS:
        raise SchemaError(f"more than {MAX_CONTAINERS} messages")


def _count(schema: StructSchema, raw: bytes) -> int:
    """Count the messages below the root and the map entries; counting ends beyond the limit."""
    waiting: list[tuple[StructSchema, int, int]] = [(schema, 0, len(raw))]
    tables: dict[StructSchema, dict[int, StructSchema | None]] = {}
    count = 0
    while waiting and count <= MAX_CONTAINERS:
        struct, position, end = waiting.pop()
        parts = tables.get(struct)
        if parts is None:
            parts = tables[struct] = _parts(struct)
        while position < end and count <= MAX_CONTAINERS:
            key, position = read_varint(raw, position)
            if key & 7 != LENGTH:
                position = _after(raw, position, key & 7)
                continue
            length, position = read_varint(raw, position)
            if key >> 3 in parts:
                count += 1
                if inner := parts[key >> 3]:
                    waiting.append((inner, position, position + length))
            position += length
    return count


def _after(raw: bytes, position: int, wire_type: int) -> int:
    if wire_type == VARINT:
        return read_varint(raw, position)[1]
    if wire_type in (FIXED64, FIXED32):
        return position + (8 if wire_type == FIXED64 else 4)
    raise ValueError(wire_type)


def _parts(struct: StructSchema) -> dict[int, StructSchema | None]:
    """Return the fields that hold messages, by number, with the struct; None: map entries, or other forms."""
    found: dict[int, StructSchema | None] = {}
    for field in struct.fields:
        node: Node = field.node.element if isinstance(field.node, ListSchema) else field.node
        if isinstance(node, StructSchema):
            found[field.number] = node
        elif isinstance(node, MapSchema | EitherSchema):
            found[field.number] = None
    return found
