"""Compression of texts that have much in common."""

from __future__ import annotations

from typing import Final
from zlib import DEF_MEM_LEVEL, DEFLATED, Z_FIXED, compressobj, decompressobj

PACKING_LEVEL: Final = 3  # the fastest with texts that are much alike: it looks for longer matches than 1
DICTIONARY_BYTES: Final = 32 * 1024  # zlib uses no more
BARE: Final = -15  # without checksums of text and dictionary, half of the time of packing and two thirds of unpacking
CODES: Final = Z_FIXED  # tables of codes of their own would take two thirds of the rest of the time of unpacking
_LENGTH_BYTES: Final = 4


class Packed(bytes):
    """Compressed text, to be unpacked by the `Packer` that made it; the text's length follows it."""

    __slots__ = ()

    @property
    def text_bytes(self) -> int:
        """Length of the original text."""
        return int.from_bytes(self[-_LENGTH_BYTES:], "little")


class Packer:
    """Compresses texts of one kind, with the first of them as dictionary: they have much in common."""

    def __init__(self) -> None:
        self._like = b""

    def pack(self, text: bytes) -> Packed:
        """Compress one text; the first one becomes the dictionary."""
        if not self._like:
            self._like = text[:DICTIONARY_BYTES]
        packing = compressobj(PACKING_LEVEL, DEFLATED, BARE, DEF_MEM_LEVEL, CODES, self._like)
        length = len(text).to_bytes(_LENGTH_BYTES, "little")
        return Packed(packing.compress(text) + packing.flush() + length)

    def unpack(self, packed: Packed) -> bytes:
        """Return the original text."""
        return self.begin(packed, packed.text_bytes)

    def begin(self, packed: Packed, size: int) -> bytes:
        """Return the first `size` bytes of the original text, at the cost of these."""
        return decompressobj(BARE, zdict=self._like).decompress(packed, size)
