"""Long lists of cached encodings as sequences of pieces that are joined only when they are sent."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Generator, Iterator, Sequence
from typing import Final, Protocol, overload

from orchtw.errors import Expired
from orchtw.schema.codec.wire import varint
from orchtw.watch.entry import LARGE_BYTES, Entry

PIECE_BYTES: Final = 256 * 1024
"""Objects are joined to pieces of about that size, however long the list."""

STRIDE: Final = 8
"""Objects encoded between two looks at the clock: a millisecond or two, if it is the first time."""

RUN: Final = 64
"""Objects looked up at a time."""

Group = tuple[int, int]
"""Positions of the first object of a piece and of the one after its last. One that begins after its end, (n + 1, n),
is the lead of a large object at n, which is then a piece without it, (n, n)."""


class Held:
    """Entries that a reader has still to be sent. They can be taken from it (see `storage.cache.pins`)."""

    def __init__(self, entries: Sequence[Entry]) -> None:
        self._entries: Sequence[Entry] | None = entries
        self._length = len(entries)

    def __len__(self) -> int:
        return self._length

    def run(self, start: int, stop: int) -> Sequence[Entry]:
        """A part of them. Raises Expired when they have been taken."""
        if self._entries is None:
            raise Expired.list()
        return self._entries[start:stop]

    def runs(self, length: int) -> Iterator[Sequence[Entry]]:
        """All of them, `length` at a time. Raises Expired as `run` does."""
        return (self.run(start, start + length) for start in range(0, self._length, length))

    def expire(self) -> None:
        """Let go: the answer ends in the middle."""
        self._entries = None


class PieceForm(Protocol):
    """Framing of objects in a list body: each encoding behind a lead."""

    encode: Callable[[Entry], bytes]

    def lead(self, size: int, first: bool) -> bytes:
        """Return the bytes in front of an encoding of `size` bytes."""

    def join(self, encodings: Sequence[bytes], first: bool) -> bytes:
        """Encodings with their leads; `first` if the first of them is the list's."""


class JsonForm:
    """Objects with commas between; `opening` is what comes before each object's tail."""

    def __init__(self, tail: Callable[[Entry], bytes], opening: bytes) -> None:
        self.encode = tail
        self._opening = opening
        self._separator = b"," + opening

    def lead(self, size: int, first: bool) -> bytes:
        """The comma and the opening."""
        return self._opening if first else self._separator

    def join(self, encodings: Sequence[bytes], first: bool) -> bytes:
        """The objects, with a comma before each but the list's first."""
        return self.lead(0, first) + self._separator.join(encodings)


class ProtobufForm:
    """Messages of a repeated field, each behind `tag` and its length."""

    def __init__(self, message: Callable[[Entry], bytes], tag: bytes) -> None:
        self.encode = message
        self._tag = tag

    def lead(self, size: int, first: bool) -> bytes:
        """Return field tag and length."""
        return self._tag + varint(size)

    def join(self, encodings: Sequence[bytes], first: bool) -> bytes:
        """Return the encodings as repeated fields."""
        parts: list[bytes] = []
        for encoding in encodings:
            parts += (self._tag, varint(len(encoding)), encoding)
        return b"".join(parts)


class Pieces(Sequence[bytes], ABC):
    """An answer in pieces, each made when it is asked for."""

    @abstractmethod
    def piece(self, index: int) -> bytes:
        """The piece at `index`. Raises IndexError."""

    @overload
    def __getitem__(self, index: int) -> bytes: ...

    @overload
    def __getitem__(self, index: slice) -> Sequence[bytes]: ...

    def __getitem__(self, index: int | slice) -> bytes | Sequence[bytes]:
        if isinstance(index, slice):
            return [self[i] for i in range(*index.indices(len(self)))]
        return self.piece(index)

    def __iter__(self) -> Iterator[bytes]:
        """All of them; what has been given is not held here."""
        return map(self.piece, range(len(self)))


class Items(Pieces):
    """The objects of a list in pieces; `length` is their size in bytes. Large ones are pieces that are shared."""

    def __init__(self, held: Held, form: PieceForm, groups: Sequence[Group], length: int) -> None:
        self.length = length
        self._held = held
        self._form = form
        self._groups = groups

    def __len__(self) -> int:
        return len(self._groups)

    def piece(self, index: int) -> bytes:
        start, stop = self._groups[index]
        encode = self._form.encode
        if start < stop:
            return self._form.join(list(map(encode, self._held.run(start, stop))), start == 0)
        encoding = encode(self._held.run(stop, stop + 1)[0])
        return encoding if start == stop else self._form.lead(len(encoding), stop == 0)


def items_of(held: Held, form: PieceForm) -> Generator[None, None, Items]:
    """The objects of a list, each encoded once if that has not been done, in steps."""
    groups: list[Group] = []
    begin = size = length = 0
    for start in range(0, len(held), RUN):
        for position, entry in enumerate(held.run(start, start + RUN), start):
            item = len(form.encode(entry))
            lead = len(form.lead(item, position == 0))
            length += lead + item
            if item >= LARGE_BYTES or size >= PIECE_BYTES:
                if begin < position:
                    groups.append((begin, position))
                begin, size = position, 0
            if item >= LARGE_BYTES:
                groups += ((position + 1, position), (position, position))
                begin = position + 1
            else:
                size += lead + item
            if not position % STRIDE:
                yield
    if begin < len(held):
        groups.append((begin, len(held)))
    return Items(held, form, groups, length)


def parts_of(held: Held, form: PieceForm) -> Iterator[bytes]:
    """The objects of a list, each encoded when it is its turn."""
    for number, entries in enumerate(held.runs(STRIDE)):
        yield form.join(list(map(form.encode, entries)), number == 0)


class Framed(Pieces):
    """A list's pieces between those of its head and its end."""

    def __init__(self, head: bytes, items: Items, end: bytes) -> None:
        self.length = len(head) + items.length + len(end)
        self._head = head
        self._items = items
        self._end = end

    def __len__(self) -> int:
        return len(self._items) + 2

    def piece(self, index: int) -> bytes:
        if index < 0 or index >= len(self):
            raise IndexError(index)
        if index == 0:
            return self._head
        return self._end if index > len(self._items) else self._items[index - 1]
