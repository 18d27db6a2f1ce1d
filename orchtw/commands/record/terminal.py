"""Text for terminals: colours where they are wanted, and nothing that a terminal would obey."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any, Final, TextIO

import msgspec
import orjson

MOST_CHARACTERS: Final = 80
"""Length of a value in a list of changes; longer ones are truncated."""

_CODES: Final = {"added": "32", "removed": "31", "changed": "33", "object": "1", "user": "36", "faint": "2"}
_ASCII: Final = {"→": "->", "…": "..."}


class Style(msgspec.Struct, frozen=True):
    """Style of an output: with colours or without, with signs beyond ASCII or without."""

    coloured: bool = False
    plain: bool = False

    @classmethod
    def of(cls, stream: TextIO, wanted: str, environ: Mapping[str, str] = os.environ) -> Style:
        """Return the style of a stream. `wanted` is always, never or auto.

        That is on terminals, unless NO_COLOR is set or TERM is dumb.
        """
        coloured = wanted == "always"
        if wanted == "auto":
            coloured = stream.isatty() and not environ.get("NO_COLOR") and environ.get("TERM") != "dumb"
        return cls(coloured, plain=(stream.encoding or "").lower().replace("-", "") != "utf8")

    def paint(self, kind: str, text: str) -> str:
        """Return a text in the colour of a kind."""
        return f"\x1b[{_CODES[kind]}m{text}\x1b[0m" if self.coloured and text else text

    def sign(self, text: str) -> str:
        """Return a sign, or its form in ASCII."""
        return _ASCII[text] if self.plain else text

    def value(self, value: Any, most: int = MOST_CHARACTERS) -> str:
        """Return a value as JSON on one line, truncated to `most` characters; 0: not truncated."""
        text = harmless(orjson.dumps(value).decode())
        return text[:most] + self.sign("…") if most and len(text) > most else text


def harmless(text: object) -> str:
    """Return a text with everything escaped that is not printable: terminals obey control characters."""
    shown = str(text)
    return shown if shown.isprintable() else "".join(map(_escaped, shown))


def _escaped(character: str) -> str:
    if character.isprintable():
        return character
    code = ord(character)
    return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"
