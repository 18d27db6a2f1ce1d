"""CRC-32 of a text from those of its parts, as `crc32_combine` of zlib, which Python does not offer."""

from __future__ import annotations

from typing import Final

POLYNOMIAL: Final = 0xEDB88320  # with the lowest power in the highest bit
_ONE: Final = 1 << 31
_BYTE: Final = 3  # a byte shifts by 2 to the power of 3 bits


def _product(one: int, other: int) -> int:
    """Return the product of two polynomials modulo POLYNOMIAL."""
    found, bit = 0, _ONE
    while bit:
        if one & bit:
            found ^= other
        other = (other >> 1) ^ POLYNOMIAL if other & 1 else other >> 1
        bit >>= 1
    return found


def _powers() -> tuple[int, ...]:
    """Return x to the power of each power of 2, up to 2 ** 31."""
    found = [_ONE >> 1]
    while len(found) < 32:
        found.append(_product(found[-1], found[-1]))
    return tuple(found)


_POWERS: Final = _powers()


def shift_of(size: int) -> int:
    """Return the factor by which `size` further bytes shift a CRC."""
    found, at = _ONE, _BYTE
    while size:
        if size & 1:
            found = _product(_POWERS[at % len(_POWERS)], found)
        size >>= 1
        at += 1
    return found


def joined_crc(first: int, second: int, shift: int) -> int:
    """Return the CRC of two texts together; `shift` is the one of the second's size."""
    return _product(shift, first) ^ second
