"""Keys in the cluster: `/registry/pods/x` below another prefix, and the ends of ranges."""

from __future__ import annotations

from typing import Final

from orchtw.errors import BadRequest

SENTINEL: Final = b"~revision"
"""Key directly below the prefix, written only to make watches see the revision."""

VOCABULARY: Final = b"~vocabulary"
"""Key directly below the prefix with the name of the vocabulary in which objects are stored."""


class EtcdKeys:
    """Mapping of keys: `below` replaces `root`, with which every key must begin; both without a final slash."""

    def __init__(self, below: str, root: str) -> None:
        self._below = below.rstrip("/").encode()
        self._root = root.rstrip("/").encode()
        self.first = self._below + b"/"
        self.end = after(self.first)
        self.sentinel = self.first + SENTINEL
        self.vocabulary = self.first + VOCABULARY
        self.own = frozenset((self.sentinel, self.vocabulary))
        """Keys of the store itself, hidden from all readers."""
        self._same = self._below == self._root
        self._cut = len(self._below)

    def stored(self, key: str) -> bytes:
        """Return the key in the cluster.

        Raises BadRequest (400) for a key that is not valid text or not below the root.
        """
        try:
            raw = key.encode()
        except UnicodeEncodeError:
            raise BadRequest("the key is not valid text") from None
        if not key or b"\0" in raw or not raw.startswith(self._root + b"/"):
            raise BadRequest("the key is not valid text")
        return raw if self._same else self._below + raw[len(self._root) :]

    def shown(self, raw: bytes) -> str:
        """Return the store's key for one in the cluster; invalid text keeps its bytes."""
        if not self._same:
            raw = self._root + raw[self._cut :]
        return raw.decode("utf-8", "surrogateescape")

    def range(self, prefix: str, start: str) -> tuple[bytes, bytes]:
        """Return the first key, and the one after the last, of those with a prefix from `start` on."""
        first, end = self._prefixed(prefix)
        raw = start.encode()
        if raw > self._root + b"/":
            first = max(first, self._below + raw[len(self._root) :])
        return first, end

    def _prefixed(self, prefix: str) -> tuple[bytes, bytes]:
        try:
            raw, root = prefix.encode(), self._root + b"/"
        except UnicodeEncodeError:
            raise BadRequest("the key is not valid text") from None
        if raw.startswith(root):
            first = self._below + raw[len(self._root) :]
            return first, after(first)
        if root.startswith(raw):
            return self.first, self.end
        return self.end, self.end  # nothing has this prefix


def after(prefix: bytes) -> bytes:
    """Return the first key after all with a prefix; if there is none, a zero byte, which means no end."""
    cut = prefix.rstrip(b"\xff")
    return cut[:-1] + bytes((cut[-1] + 1,)) if cut else b"\0"
