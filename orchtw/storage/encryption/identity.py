"""Provider that does not seal; it rejects sealed values, which are not plain ones."""

from __future__ import annotations

from typing import Final

from orchtw.storage.encryption.provider import MARK, NOT_PLAIN, Unreadable


class Identity:
    """Values stored as plain text."""

    prefix: Final = b""
    family: Final = b""
    no_key: Final = ""

    def seal(self, plain: bytes, place: bytes) -> bytes:
        """Return the value itself, as `open` does for plain ones."""
        return plain

    def open(self, sealed: bytes, place: bytes) -> bytes:
        if sealed.startswith(MARK):
            raise Unreadable(NOT_PLAIN)
        return sealed
