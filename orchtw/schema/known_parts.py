"""Cache of what is known of parts of objects by their JSON text, since most objects are made from templates.

Text in, text out: no value is shared between objects, so none can be changed behind the cache's back.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, Final

import orjson

from orchtw.memory.known_values import KnownValues

SHORTEST, LONGEST = 512, 64 * 1024
"""Size of cached parts in bytes: shorter ones are as quick to walk, longer ones are worked on in a thread."""

MAX_BYTES: Final = 8 << 20
"""Bound of one cache, keys and values together."""

Key = tuple[str, str, bytes]
"""The schema of a part, the question about it, and its text."""

_KNOWN: Final = b""

_DRAWN_CHARACTERS: Final = 5
_DRAWN_MARK: Final = b"-api-access-"
_DRAWN_NAME: Final = re.compile(rb'"name":"([a-z]+%b[a-z0-9]{%d})"' % (_DRAWN_MARK, _DRAWN_CHARACTERS))
_PLACEHOLDER: Final = b"0" * _DRAWN_CHARACTERS


class KnownParts:
    """Answers by text, bounded in bytes.

    An answer is kept when it comes a second time, so that unlike objects do not push out those made from templates.
    Thread-safe.
    """

    def __init__(self, max_bytes: int = MAX_BYTES) -> None:
        self._values = KnownValues[Key, bytes](max_bytes)
        self.get = self._values.get
        """Returns the answer that is kept for a key, or None."""

    @property
    def size_bytes(self) -> int:
        """Return about how many bytes the cache holds."""
        return self._values.size_bytes

    def put(self, key: Key, answer: bytes) -> None:
        """Keep an answer if its key comes for the second time."""
        if self._values.comes_again(key):
            self._values.keep(key, answer, len(key[2]) + len(answer))

    def valid(
        self,
        schema: str,
        check: Callable[[Any, Any], list[Any]],
        new: dict[str, Any],
        old: dict[str, Any] | None,
    ) -> list[Any]:
        """Return what `check` finds in a struct, which may be known to be nothing.

        `check` must depend on its arguments alone. Known are new structs, and those that an update does not change.
        """
        text = text_of(new)
        if text is None or (old is not None and old is not new and text_of(old) != text):
            return check(new, old)
        key = schema, "new" if old is None else "same", Drawn(text).text
        if self.get(key) is not None:
            return []
        causes = check(new, old)
        if not causes:
            self.put(key, _KNOWN)
        return causes


class Drawn:
    """Text of a part, in which a placeholder of the same length stands for a name that was drawn at random.

    Every Pod gets a volume for its account's token, which has a name of its own, and a mount of it in each container.
    Nothing that is asked of a part depends on which name that is, provided that it occurs as a whole `name` alone:
    the part is valid with either, and its encodings differ in the name.
    """

    __slots__ = ("_name", "_placeholder", "text")

    def __init__(self, text: bytes) -> None:
        self.text = text
        self._name = self._placeholder = b""
        found = _DRAWN_NAME.search(text) if _DRAWN_MARK in text else None
        if found is None:
            return
        name = found[1]
        placeholder = name[:-_DRAWN_CHARACTERS] + _PLACEHOLDER
        if placeholder not in text and text.count(name) == text.count(b'"name":"%b"' % name):
            self._name, self._placeholder = name, placeholder
            self.text = text.replace(name, placeholder)

    def general(self, encoded: bytes) -> bytes | None:
        """Return the encoding of `text`, made from that of the part; None: it does not follow from it."""
        if not self._name:
            return encoded
        found = encoded.replace(self._name, self._placeholder)
        return found if found.count(self._placeholder) == self.text.count(self._placeholder) else None

    def particular(self, encoded: bytes) -> bytes:
        """Return the encoding of the part, made from that of `text`."""
        return encoded.replace(self._placeholder, self._name) if self._name else encoded


def text_of(part: Any) -> bytes | None:
    """Return the JSON text of a part of an object, or None for one that is not cached."""
    try:
        text = orjson.dumps(part)
    except orjson.JSONEncodeError:  # deeper than it writes, or a number too large for it
        return None
    return text if SHORTEST <= len(text) <= LONGEST else None
