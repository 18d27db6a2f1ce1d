"""Limits of the text in maps."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from orchtw.values import utf8

MAX_BYTES: Final = 256 * 1024
"""Bytes of the keys and values of parameters and similar maps."""


def text_bytes(texts: Mapping[str, str]) -> int:
    """Return the bytes of all keys and values in UTF-8."""
    return sum(utf8.size(key) + utf8.size(value) for key, value in texts.items())
