"""Semantic versions: their form and order."""

from __future__ import annotations

import re
from typing import Final

_NUMBER: Final = r"(0|[1-9]\d*)"
_PART: Final = r"(?:0|[1-9]\d*|\d*[A-Za-z-][0-9A-Za-z-]*)"
VERSION: Final = re.compile(
    rf"{_NUMBER}\.{_NUMBER}\.{_NUMBER}(?:-({_PART}(?:\.{_PART})*))?(?:\+[0-9A-Za-z-]+(?:\.[0-9A-Za-z-]+)*)?", re.ASCII
)
"""Pattern of a version, with groups for its numbers and the pre-release."""
LONGEST: Final = 256
"""Limit of the versions that are looked at, in characters."""

Order = tuple[object, ...]


def order_of(numbers: tuple[int, ...], prerelease: tuple[str, ...]) -> Order:
    """Return a key that sorts versions: a pre-release comes before its release, a number before a text."""
    parts = tuple((0, int(each), "") if each.isdecimal() else (1, 0, each) for each in prerelease)
    return (*numbers, not parts, parts)


def order(text: str) -> Order | None:
    """Return the key of a version; None if `text` is not one."""
    match = VERSION.fullmatch(text) if len(text) <= LONGEST else None
    if match is None:
        return None
    return order_of(tuple(map(int, match.groups()[:3])), tuple(match[4].split(".")) if match[4] else ())
