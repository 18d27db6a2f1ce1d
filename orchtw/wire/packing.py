"""Texts that have much in common, kept compressed."""

from __future__ import annotations

from typing import Final
from zlib import compressobj, decompressobj

PACKING_LEVEL: Final = 1  # the fastest; others save a twentieth
DICTIONARY_BYTES: Final = 32 * 1024  # all that zlib looks at


class Packed(bytes):
    """Compressed text, to be unpacked by the `Packer` that made it."""

    __slots__ = ()


class Packer:
    """Compresses texts of one kind, with the first of them as dictionary: they have much in common."""

    def __init__(self) -> None:
        self._like = b""

    def pack(self, text: bytes) -> Packed:
        """Compress one text; the first one becomes the dictionary."""
        if not self._like:
            self._like = text[:DICTIONARY_BYTES]
        packing = compressobj(PACKING_LEVEL, zdict=self._like)
        return Packed(packing.compress(text) + packing.flush())

    def unpack(self, packed: Packed) -> bytes:
        """Return the original text."""
        return decompressobj(zdict=self._like).decompress(packed)
