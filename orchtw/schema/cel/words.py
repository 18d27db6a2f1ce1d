"""Keywords and reserved words of CEL, without the lexer, which a server imports with the first expression."""

from __future__ import annotations

from typing import Final

RESERVED: Final = frozenset(
    "as break const continue else for function if import let loop package namespace return var void while".split()
)
"""Words that no variable may have as its name, beside `KEYWORDS`."""

KEYWORDS: Final = frozenset({"true", "false", "null", "in"})
