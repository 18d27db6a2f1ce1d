"""Long lists of cached encodings as sequences of pieces that are joined only when they are sent."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Generator, Iterator, Sequence
from hashlib import blake2b
from typing import Final, Protocol, overload
from zlib import crc32

from orchtw.errors import Expired
from orchtw.request import MarkedPieces
from orchtw.schema.codec.wire import varint
from orchtw.watch.entry import LARGE_BYTES, Entry

PIECE_BYTES: Final = 256 * 1024
"""Approximate bytes of a piece, for a list of any length."""

LEAST_BYTES: Final = PIECE_BYTES // 2
"""Bytes from which on a piece may end where the pieces of all lists end.

Objects that come and go would else move the ends of all pieces that follow, and a page begins anywhere.
"""

OBJECTS: Final = 8
"""One object in so many begins a piece in all lists."""

MARK_BYTES: Final = 16
"""Bytes of a piece's mark: so many that two of them are never equal by chance."""

STRIDE: Final = 8
"""Number of objects encoded between two readings of the clock: a millisecond or two, when they are new."""

RUN: Final = 64
"""Number of objects that are looked up at once."""

Group = tuple[int, int]
"""Positions of the first object of a piece and of the one after its last. One that begins after its end, (n + 1, n),
is the lead of a large object at n, which follows as a piece (n, n)."""


class Held:
    """Entries that are yet to be sent to a reader, and that may expire before (see `storage.cache.pins`)."""

    def __init__(self, entries: Sequence[Entry]) -> None:
        self._entries: Sequence[Entry] | None = entries
        self._length = len(entries)

    def __len__(self) -> int:
        return self._length

    def run(self, start: int, stop: int) -> Sequence[Entry]:
        """Return a part of the entries. Raises Expired once they are released."""
        if self._entries is None:
            raise Expired.list()
        return self._entries[start:stop]

    def runs(self, length: int) -> Iterator[Sequence[Entry]]:
        """Yield all entries, `length` at a time. Raises Expired as `run` does."""
        return (self.run(start, start + length) for start in range(0, self._length, length))

    def expire(self) -> None:
        """Release the entries: the response ends early."""
        self._entries = None


class PieceForm(Protocol):
    """Framing of objects in a list body: each encoding follows a lead."""

    encode: Callable[[Entry], bytes]

    def measure(self, entry: Entry) -> int:
        """Return the length of an object's encoding, without making it anew where it is known."""

    def lead(self, size: int, first: bool) -> bytes:
        """Return the bytes in front of an encoding of `size` bytes."""

    def join(self, encodings: Sequence[bytes], first: bool) -> bytes:
        """Return encodings with their leads; `first` if the first of them is the list's."""


class JsonForm:
    """Objects separated by commas; `opening` comes before each object's tail, of which `size` is the length."""

    def __init__(self, tail: Callable[[Entry], bytes], opening: bytes, size: Callable[[Entry], int]) -> None:
        self.encode = tail
        self._size = size
        self._opening = opening
        self._separator = b"," + opening

    def measure(self, entry: Entry) -> int:
        """Return the length of an object's tail."""
        return self._size(entry)

    def lead(self, size: int, first: bool) -> bytes:
        """Return the comma and the opening."""
        return self._opening if first else self._separator

    def join(self, encodings: Sequence[bytes], first: bool) -> bytes:
        """Return the objects, with a comma before each but the list's first."""
        return self.lead(0, first) + self._separator.join(encodings)


class ProtobufForm:
    """Messages of a repeated field, each behind `tag` and its length."""

    def __init__(self, message: Callable[[Entry], bytes], tag: bytes) -> None:
        self.encode = message
        self._tag = tag

    def measure(self, entry: Entry) -> int:
        """Return the length of an object's message."""
        return len(self.encode(entry))

    def lead(self, size: int, first: bool) -> bytes:
        """Return field tag and length."""
        return self._tag + varint(size)

    def join(self, encodings: Sequence[bytes], first: bool) -> bytes:
        """Return the encodings as repeated fields."""
        parts: list[bytes] = []
        for encoding in encodings:
            parts += (self._tag, varint(len(encoding)), encoding)
        return b"".join(parts)


class Pieces(MarkedPieces):
    """Response in pieces, each made on demand."""

    @abstractmethod
    def piece(self, index: int) -> bytes:
        """Return the piece at `index`. Raises IndexError."""

    @overload
    def __getitem__(self, index: int) -> bytes: ...

    @overload
    def __getitem__(self, index: slice) -> Sequence[bytes]: ...

    def __getitem__(self, index: int | slice) -> bytes | Sequence[bytes]:
        if isinstance(index, slice):
            return [self[i] for i in range(*index.indices(len(self)))]
        return self.piece(index)

    def __iter__(self) -> Iterator[bytes]:
        """Yield all pieces, without keeping references to them."""
        return map(self.piece, range(len(self)))


class Items(Pieces):
    """The objects of a list in pieces; `length` is their size in bytes. Large ones are shared pieces."""

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

    def mark(self, index: int) -> bytes:
        """Return a digest of the keys and revisions of a piece's objects, and of which kind of piece it is."""
        start, stop = self._groups[index]
        entries = self._held.run(start, stop) if start < stop else self._held.run(stop, stop + 1)
        kind = (start > stop) - (start < stop)
        found = blake2b(b"%d %d " % (kind, min(start, stop) == 0), digest_size=MARK_BYTES)
        found.update("".join([f"{entry.key}/{entry.revision}/" for entry in entries]).encode())
        return found.digest()


def items_of(held: Held, form: PieceForm) -> Generator[None, None, Items]:
    """Divide the objects of a list into pieces, in steps; new ones are encoded."""
    groups: list[Group] = []
    begin = size = length = 0
    for start in range(0, len(held), RUN):
        for position, entry in enumerate(held.run(start, start + RUN), start):
            item = form.measure(entry)
            lead = len(form.lead(item, position == 0))
            length += lead + item
            if item >= LARGE_BYTES or size >= PIECE_BYTES or (size >= LEAST_BYTES and _begins(entry)):
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


def _begins(entry: Entry) -> bool:
    """Report whether a piece begins with an object, wherever it is in a list."""
    return not crc32(entry.key.encode()) % OBJECTS


def parts_of(held: Held, form: PieceForm) -> Iterator[bytes]:
    """Yield the objects of a list, each encoded when it is its turn."""
    for number, entries in enumerate(held.runs(STRIDE)):
        yield form.join(list(map(form.encode, entries)), number == 0)


class Framed(Pieces):
    """The pieces of a list between its head and its end."""

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

    def mark(self, index: int) -> bytes | None:
        """Return the mark of the objects of a piece; head and end have none."""
        return self._items.mark(index - 1) if 0 < index <= len(self._items) else None
