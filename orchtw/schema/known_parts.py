"""Cache of what is known of parts of objects by their JSON text, since most objects are made from templates.

Text in, text out: no value is shared between objects, so none can be changed behind the cache's back.
"""

from __future__ import annotations

from collections.abc import Callable
from threading import Lock
from typing import Any, Final

import orjson

SHORTEST, LONGEST = 512, 64 * 1024
"""Size of cached parts in bytes: shorter ones are as quick to walk, longer ones are worked on in a thread."""

MAX_BYTES: Final = 8 << 20
"""Bound of one cache, keys and values together."""

MOST_SEEN: Final = 16384  # hashes of texts that came once, 2 MB at most
_OVERHEAD_BYTES: Final = 200  # tuple, hash table slot, header of the text

Key = tuple[str, str, bytes]
"""The schema of a part, the question about it, and its text."""

_KNOWN: Final = b""


class KnownParts:
    """Answers by text, bounded in bytes: a generation that fills half the bound replaces the one before it.

    An answer is kept when it comes a second time, so that unlike objects do not push out those made from templates.
    Thread-safe.
    """

    def __init__(self, max_bytes: int = MAX_BYTES) -> None:
        self._limit = max_bytes // 2
        self._young: dict[Key, bytes] = {}
        self._old: dict[Key, bytes] = {}
        self._young_bytes = self._old_bytes = 0
        self._seen: set[int] = set()
        self._lock = Lock()

    @property
    def size_bytes(self) -> int:
        """Return about how many bytes the cache holds."""
        return self._young_bytes + self._old_bytes

    def get(self, key: Key) -> bytes | None:
        """Return the answer that is kept for a text, or None."""
        found = self._young.get(key)
        if found is None:
            found = self._old.get(key)
            if found is not None:
                self._keep(key, found)
        return found

    def put(self, key: Key, answer: bytes) -> None:
        """Keep an answer if its key comes for the second time."""
        number = hash(key)
        if number in self._seen:
            self._keep(key, answer)
            return
        if len(self._seen) >= MOST_SEEN:
            self._seen = set()
        self._seen.add(number)

    def _keep(self, key: Key, answer: bytes) -> None:
        size = len(key[2]) + len(answer) + _OVERHEAD_BYTES
        with self._lock:
            if key in self._young:
                return
            if self._young_bytes + size > self._limit:
                self._old, self._old_bytes = self._young, self._young_bytes
                self._young, self._young_bytes = {}, 0
            self._young[key] = answer
            self._young_bytes += size

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
        key = schema, "new" if old is None else "same", text
        if self.get(key) is not None:
            return []
        causes = check(new, old)
        if not causes:
            self.put(key, _KNOWN)
        return causes


def text_of(part: Any) -> bytes | None:
    """Return the JSON text of a part of an object, or None for one that is not cached."""
    try:
        text = orjson.dumps(part)
    except orjson.JSONEncodeError:  # deeper than it writes, or a number too large for it
        return None
    return text if SHORTEST <= len(text) <= LONGEST else None
