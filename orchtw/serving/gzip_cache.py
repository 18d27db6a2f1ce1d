"""Compressed pieces of lists, kept for other lists that have the same objects in a row."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Hashable
from typing import Final

import msgspec

PIECE_BYTES: Final = 512
"""Memory of a piece beside its data."""

KEPT_BYTES: Final = 64 << 20
"""Limit of a cache that is not given one."""


class Compressed(msgspec.Struct, frozen=True):
    """Deflated text that refers to nothing before it and ends with a byte; `crc`, `size` and `shift` of the text."""

    data: bytes
    crc: int
    size: int
    shift: int

    @property
    def held_bytes(self) -> int:
        """Memory that it takes in a cache."""
        return len(self.data) + PIECE_BYTES


class GzipCache:
    """Compressed pieces by what they are made of; those that have not been used for a while make room.

    Where pieces of more than `limit_bytes` are read in turn, each would push out the one that is needed next. So a
    new piece only replaces a cold one, and used ones become cold when as much as the limit has been refused.
    Their memory is bounded alone, and together with all other data held for readers (see `give_up`).
    """

    def __init__(self, limit_bytes: int = KEPT_BYTES) -> None:
        self._limit_bytes = limit_bytes
        self._pieces: OrderedDict[Hashable, Compressed] = OrderedDict()  # the one that was used last is the last one
        self._warm: set[Hashable] = set()
        self._bytes = 0
        self._refused_bytes = 0

    def __len__(self) -> int:
        return len(self._pieces)

    @property
    def used_bytes(self) -> int:
        """Return the bytes that it holds."""
        return self._bytes

    def get(self, key: Hashable) -> Compressed | None:
        """Return the compressed piece, or None."""
        piece = self._pieces.get(key)
        if piece is not None:
            self._pieces.move_to_end(key)
            self._warm.add(key)
        return piece

    def put(self, key: Hashable, piece: Compressed) -> None:
        """Keep a piece, if there is room for it."""
        size = piece.held_bytes
        if key in self._pieces:
            return
        while self._bytes + size > self._limit_bytes:
            coldest = next(iter(self._pieces), None)
            if coldest is None or coldest in self._warm:
                self._refuse(size)
                return
            self._drop(coldest)
        self._pieces[key] = piece
        self._warm.add(key)
        self._bytes += size

    def give_up(self, size: int) -> None:
        """Let go of about so many bytes of what has not been asked for since the last time, the coldest first."""
        target = self._bytes - size
        for key in [each for each in self._pieces if each not in self._warm]:
            if self._bytes <= target:
                break
            self._drop(key)
        self._warm.clear()

    def _refuse(self, size: int) -> None:
        self._refused_bytes += size
        if self._refused_bytes >= self._limit_bytes:
            self._refused_bytes = 0
            self._warm.clear()

    def _drop(self, key: Hashable) -> None:
        self._warm.discard(key)
        self._bytes -= self._pieces.pop(key).held_bytes
