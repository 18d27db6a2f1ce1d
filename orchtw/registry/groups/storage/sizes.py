"""How much text a map may hold."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

MAX_BYTES: Final = 256 * 1024
"""Of the keys and values of parameters and the like."""


def text_bytes(texts: Mapping[str, str]) -> int:
    """Bytes of all keys and values in UTF-8."""
    return sum(_bytes(key) + _bytes(value) for key, value in texts.items())


def _bytes(text: str) -> int:
    return len(text.encode("utf-8", "surrogatepass"))
