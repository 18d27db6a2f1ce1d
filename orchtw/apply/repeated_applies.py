"""Cache of applies whose outcome is known: controllers apply the same configuration to an object again and again.

Most change nothing. Some change what admission then restores, such as a list without the elements that it adds: these
are merged twice, and their changed parts are kept from then on.
"""

from __future__ import annotations

from hashlib import blake2b
from typing import Any, Final

import orjson

from orchtw.schema.codec.unchanged import same_text
from orchtw.wire.json_values import loads
from orchtw.wire.objects import Object

REMEMBERED: Final = 8192
"""Most applies in one cache, some 2 MB; a full cache is cleared."""

MAX_PARTS_BYTES: Final = 1 << 20
"""Bound of the changed parts in one cache."""

Key = tuple[str, str, str, bool, bytes]
"""The object's uid and resourceVersion, the manager, the force flag, and a digest of the configuration."""


class RepeatedApplies:
    """Applies to objects as they are stored now, with the parts that they changed, if any, as texts by top key."""

    def __init__(self) -> None:
        self._known: dict[Key, dict[str, bytes] | None] = {}  # None: an apply with changes has come once
        self._parts_bytes = 0

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

    def changes(self, key: Key) -> dict[str, Any] | None:
        """Return the changed parts of an apply's outcome, empty if it changes nothing; None: it is not known."""
        found = self._known.get(key)
        return None if found is None else {name: loads(text) for name, text in found.items()}

    def add(self, key: Key) -> None:
        """Add an apply that changed nothing."""
        self._put(key, {}, 0)

    def add_changed(self, key: Key, live: Object, merged: Object) -> None:
        """Add an apply that made `merged` of the bare `live`, if it comes for the second time."""
        if list(merged) != list(live):
            return
        if key not in self._known:
            self._put(key, None, 0)
            return
        texts = {name: orjson.dumps(part) for name, part in merged.items() if not _is_same(live[name], part)}
        size = sum(map(len, texts.values()))
        if texts and size <= MAX_PARTS_BYTES:
            self._put(key, texts, size)

    def _put(self, key: Key, parts: dict[str, bytes] | None, size: int) -> None:
        if len(self._known) >= REMEMBERED or self._parts_bytes + size > MAX_PARTS_BYTES:
            self._known, self._parts_bytes = {}, 0
        self._known[key] = parts
        self._parts_bytes += size


def _is_same(before: Any, after: Any) -> bool:
    return before is after or same_text(before, after)
