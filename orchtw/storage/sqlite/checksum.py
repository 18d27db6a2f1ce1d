"""Checksum of a row, which shows whether it is as written."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import repeat
from zlib import crc32

PIECE_BYTES = 5 << 10  # longer ones make zlib give up the interpreter lock, which costs more than the sum
LONG_BYTES = 64 << 10  # from here on it is worth it


def checksum(revision: int, key: str, created: int, previous: int, value: bytes | None) -> int:
    """Return the CRC-32 over all columns of a row of `history`. Raises UnicodeEncodeError for a key without UTF-8
    form.
    """
    total = crc32(f"{revision} {created} {previous} {key}".encode(), 0 if value is None else 1)
    return _over(value, total) if value else total


def _over(value: bytes, total: int) -> int:
    """Return the checksum of everything that `total` covers, and a value after it."""
    if len(value) <= PIECE_BYTES or len(value) > LONG_BYTES:
        return crc32(value, total)
    for start in range(0, len(value), PIECE_BYTES):
        total = crc32(value[start : start + PIECE_BYTES], total)
    return total


def is_written(
    total: int | None, unsealed: int, revision: int, key: str, created: int, previous: int, value: bytes | None
) -> bool:
    """Report whether a row matches its checksum `total`; rows up to `unsealed` may lack one.

    Raises TypeError or ValueError if a column has a wrong type.
    """
    if total is None:
        return revision <= unsealed
    return total == checksum(revision, key, created, previous, value)


def all_written(
    sums: Sequence[int | None],
    unsealed: int,
    revisions: Sequence[int],
    keys: Sequence[str],
    created: Sequence[int],
    previous: Sequence[int],
    values: Sequence[bytes | None],
) -> bool:
    """Report whether all of some rows, given by columns, are written, at half the cost for small values."""
    if None in sums or None in values:
        columns = zip(sums, repeat(unsealed, len(keys)), revisions, keys, created, previous, values, strict=True)
        return all(is_written(*row) for row in columns)
    parts = zip(revisions, created, previous, keys, strict=True)
    heads = [crc32(f"{number} {made} {old} {key}".encode(), 1) for number, made, old, key in parts]
    known: Sequence[bytes] = values  # type: ignore[assignment]  # none of them is None
    return list(map(crc32 if max(map(len, known), default=0) <= PIECE_BYTES else _over, known, heads)) == sums
