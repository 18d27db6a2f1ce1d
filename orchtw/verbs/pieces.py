"""Long bodies as sequences of pieces that are joined only when they are sent."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import overload

from orchtw.schema.wire import varint

ITEMS_PER_PIECE = 64
"""Objects joined at a time: some 400 KiB of pods, a few socket writes, however long the list."""

Join = Callable[[Sequence[bytes], bool], bytes]
"""Makes bytes of a group of items; the flag says that it is the first group."""


class Pieces(Sequence[bytes]):
    """A body of `head`, then `items` in joined groups, then `tail`; `length` is its size in bytes."""

    def __init__(self, head: bytes, items: Sequence[bytes], tail: bytes, length: int, join: Join) -> None:
        self.length = length
        self._head = head
        self._items = items
        self._tail = tail
        self._join = join
        self._groups = -(-len(items) // ITEMS_PER_PIECE)

    def __len__(self) -> int:
        return self._groups + 2

    @overload
    def __getitem__(self, index: int) -> bytes: ...

    @overload
    def __getitem__(self, index: slice) -> Sequence[bytes]: ...

    def __getitem__(self, index: int | slice) -> bytes | Sequence[bytes]:
        if isinstance(index, slice):
            return [self[i] for i in range(*index.indices(len(self)))]
        if index < 0 or index >= len(self):
            raise IndexError(index)
        if index == 0:
            return self._head
        if index > self._groups:
            return self._tail
        start = (index - 1) * ITEMS_PER_PIECE
        return self._join(self._items[start : start + ITEMS_PER_PIECE], index == 1)


def json_pieces(head: bytes, tails: Sequence[bytes], end: bytes, opening: bytes) -> Pieces:
    """A JSON list: `head`, the objects as `opening` + tail with commas between, `end`."""
    separator = b"," + opening

    def join(group: Sequence[bytes], first: bool) -> bytes:
        return (opening if first else separator) + separator.join(group)

    length = len(head) + len(end) + sum(map(len, tails)) + len(tails) * len(separator) - (1 if tails else 0)
    return Pieces(head, tails, end, length, join)


def protobuf_pieces(head: bytes, messages: Sequence[bytes], end: bytes, tag: bytes) -> Pieces:
    """A repeated Protobuf field: each message behind `tag` and its length."""

    def join(group: Sequence[bytes], first: bool) -> bytes:
        parts: list[bytes] = []
        for message in group:
            parts += (tag, varint(len(message)), message)
        return b"".join(parts)

    length = len(head) + len(end) + repeated_length(messages, tag)
    return Pieces(head, messages, end, length, join)


def repeated_length(messages: Sequence[bytes], tag: bytes) -> int:
    """The size in bytes of `messages` as a repeated field."""
    sizes = list(map(len, messages))
    return sum(sizes) + len(sizes) * len(tag) + sum(_varint_length(size) for size in sizes)


def _varint_length(value: int) -> int:
    return max(1, -(-value.bit_length() // 7))
