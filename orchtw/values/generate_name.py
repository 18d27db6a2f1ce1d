"""Names made from metadata.generateName (reference OBJ-29)."""

from __future__ import annotations

from random import Random
from typing import Final

_SUFFIX_LENGTH: Final = 5
_SUFFIX_ALPHABET: Final = "bcdfghjklmnpqrstvwxz2456789"  # no vowels, no look-alikes
_PREFIX_LIMIT: Final = 63 - _SUFFIX_LENGTH


def generate_name(prefix: str, random: Random) -> str:
    """Make a name: at most 58 characters of `prefix` and 5 random ones."""
    return prefix[:_PREFIX_LIMIT] + "".join(random.choices(_SUFFIX_ALPHABET, k=_SUFFIX_LENGTH))
