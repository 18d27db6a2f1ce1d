"""Decoder of requests' fields (HPACK, RFC 7541).

It replaces the library's, whose table keeps bytes: fields that a client repeats in each request, which are almost
all, are checked and made into text once, when they enter the table. That takes a third of the time.
"""

from __future__ import annotations

import re
from collections import deque
from typing import Final

from hpack.exceptions import HPACKError
from hpack.huffman_table import decode_huffman
from hpack.table import HeaderTable

from orchtw.serving.header_names import KNOWN_NAMES
from orchtw.serving.http2.limits import FIELDS_BYTES
from orchtw.serving.http2.problems import ConnectionProblem, FieldsTooLarge
from orchtw.serving.limits import NAME_BYTES
from orchtw.wire.http2_frames import Code

TABLE_BYTES: Final = 4096
_ENTRY_BYTES: Final = 32
_MOST_DIGITS: Final = 4  # of an integer, after its first byte: no length or index of ours needs more

_NAME = re.compile(rb":?[!#$%&'*+\-.^_`|~0-9a-z]+")
_UNSAFE = re.compile(rb"[\x00\r\n]")

Field = tuple[str, str, bool]
"""Name and value, whose characters are bytes, and a flag for both being valid in a request."""


def _field(name: bytes, value: bytes) -> Field:
    """Return a field; blanks around its value are not part of it: clients written in Go send them on."""
    if name[:1] != b":":
        value = value.strip(b" \t")
    known = KNOWN_NAMES.get(name)
    text = known if known is not None else name.decode("latin-1")
    sound = (
        (name.islower() if known is not None else _NAME.fullmatch(name) is not None)
        and _UNSAFE.search(value) is None
        and value[:1] not in (b" ", b"\t")
        and value[-1:] not in (b" ", b"\t")
    )
    return text, value.decode("latin-1"), sound


Entry = tuple[Field, bytes, int]
"""Entry of a table: a field, its name as it came, and its size."""

_STATIC: Final[tuple[Entry, ...]] = tuple(
    (_field(name, value), name, len(name) + len(value) + _ENTRY_BYTES) for name, value in HeaderTable.STATIC_TABLE
)


class FieldDecoder:
    """Decoder with one connection's table.

    Raises ConnectionProblem for undecodable fields and FieldsTooLarge for too many; after either, nothing more can be
    decoded. `size` is that of the last list, as both sides count it (§4.1).
    """

    __slots__ = ("_lines", "_room", "_table", "_used", "size")

    def __init__(self, lines: int) -> None:
        self._lines = lines
        self._table: deque[Entry] = deque()
        self._used = 0
        self._room = TABLE_BYTES
        self.size = 0

    def decode(self, block: bytes) -> list[Field]:
        """Return the fields of one list, in order."""
        try:
            return self._decode(block)
        except (IndexError, HPACKError) as problem:
            raise ConnectionProblem(Code.COMPRESSION_ERROR, "header fields cannot be decoded") from problem

    def _decode(self, block: bytes) -> list[Field]:
        fields: list[Field] = []
        at, end, size = 0, len(block), 0
        while at < end:
            byte = block[at]
            if byte & 0x80:
                index, at = (byte & 0x7F, at + 1) if byte != 0xFF else _integer(block, at, 0x7F)
                field, _, taken = self._entry(index)
                size += taken
            elif byte & 0xE0 == 0x20:
                at = self._resize(block, at, begun=bool(fields))
                continue
            else:
                field, taken, at = self._literal(block, at, byte)
                size += taken
            fields.append(field)
            if size > FIELDS_BYTES or len(fields) > self._lines:
                raise FieldsTooLarge
        self.size = size
        return fields

    def _literal(self, block: bytes, at: int, byte: int) -> tuple[Field, int, int]:
        """Return a literal field, its size, and the position of the next one."""
        kept = byte & 0x40
        index, at = _integer(block, at, 0x3F if kept else 0x0F)
        if index:
            name = self._entry(index)[1]
        else:
            name, at = _string(block, at)
        value, at = _string(block, at)
        if len(name) > NAME_BYTES:
            raise FieldsTooLarge
        field = _field(name, value)
        size = len(name) + len(value) + _ENTRY_BYTES
        if kept:
            self._add(field, name, size)
        return field, size, at

    def _entry(self, index: int) -> Entry:
        if index > len(_STATIC):
            return self._table[index - len(_STATIC) - 1]
        if not index:
            raise IndexError
        return _STATIC[index - 1]

    def _add(self, field: Field, name: bytes, size: int) -> None:
        self._used += size
        if size <= self._room:
            self._table.appendleft((field, name, size))
        self._shrink(size)

    def _shrink(self, added: int = 0) -> None:
        if added > self._room:
            self._table.clear()
            self._used = 0
        while self._used > self._room:
            self._used -= self._table.pop()[2]

    def _resize(self, block: bytes, at: int, *, begun: bool) -> int:
        room, at = _integer(block, at, 0x1F)
        if begun or room > TABLE_BYTES:
            raise IndexError
        self._room = room
        self._shrink()
        return at


def _integer(block: bytes, at: int, mask: int) -> tuple[int, int]:
    value = block[at] & mask
    at += 1
    if value < mask:
        return value, at
    for shift in range(0, 7 * _MOST_DIGITS, 7):
        digit = block[at]
        at += 1
        value += (digit & 0x7F) << shift
        if digit < 0x80:
            return value, at
    raise IndexError


def _string(block: bytes, at: int) -> tuple[bytes, int]:
    packed = block[at] & 0x80
    size, at = _integer(block, at, 0x7F)
    end = at + size
    if end > len(block):
        raise IndexError
    text = block[at:end]
    return (decode_huffman(text) if packed else text), end
