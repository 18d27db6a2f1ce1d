"""Size of texts in UTF-8, which byte limits refer to."""

from __future__ import annotations


def size(text: str) -> int:
    """Return the bytes of `text`; half a surrogate pair, which has no form in UTF-8, counts as three."""
    return len(text) if text.isascii() else len(text.encode("utf-8", "surrogatepass"))
