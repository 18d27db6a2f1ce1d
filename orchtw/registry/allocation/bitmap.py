"""Sets of small numbers as the bits of one integer."""

from __future__ import annotations

from collections.abc import Iterator


def lowest(bits: int) -> int:
    """Return the smallest number of a set that is not empty."""
    return (bits & -bits).bit_length() - 1


def lowest_from(bits: int, start: int) -> int:
    """Return the smallest number from `start` on, else the smallest of all, of a set that is not empty."""
    above = bits >> start
    return start + lowest(above) if above else lowest(bits)


def members(bits: int) -> Iterator[int]:
    """Yield the numbers of a set, in order."""
    while bits:
        yield lowest(bits)
        bits &= bits - 1


def span(first: int, last: int) -> int:
    """Return the set of all numbers from `first` to `last`."""
    return (1 << last + 1) - (1 << first) if last >= first else 0
