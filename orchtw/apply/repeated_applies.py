"""Cache of applies that changed nothing: controllers apply the same configuration to an object again and again."""

from __future__ import annotations

from hashlib import blake2b
from typing import Final

import orjson

from orchtw.wire.objects import Object

REMEMBERED: Final = 8192
"""Most applies in one cache, some 2 MB; a full cache is cleared."""

Key = tuple[str, str, str, bool, bytes]
"""The object's uid and resourceVersion, the manager, the force flag, and a digest of the configuration."""


class RepeatedApplies:
    """Applies to objects as they are stored now that left them as they were."""

    def __init__(self) -> None:
        self._known: set[Key] = set()

    @staticmethod
    def key(live: Object, applied: Object, manager: str, *, force: bool) -> Key | None:
        """Return the key of an apply, or None for one that is not cached: it is not to a stored object."""
        meta = live["metadata"]
        uid, version = meta.get("uid"), meta.get("resourceVersion")
        if not uid or not version:
            return None
        try:
            text = orjson.dumps(applied)
        except orjson.JSONEncodeError:  # deeper than it writes, or a number too large for it
            return None
        return uid, version, manager, force, blake2b(text, digest_size=16).digest()

    def __contains__(self, key: Key) -> bool:
        return key in self._known

    def add(self, key: Key) -> None:
        """Add an apply that changed nothing."""
        if len(self._known) >= REMEMBERED:
            self._known = set()
        self._known.add(key)
