"""Drafts of the objects updated last: their next update does not parse them.

Updates come in rows: controllers write the status of an object again and again. A draft is given to
one write only, which may change it, and what that write stores takes its place. Drafts of one object differ by the
version of the API that it is written in, so that each is kept for one target.
"""

from __future__ import annotations

from threading import Lock
from typing import Final

from orchtw.watch.entry import Entry
from orchtw.wire.objects import Object

MAX_BYTES: Final = 8 << 20
"""Limit of all drafts together: some 250 Pods of 6 KiB."""

SHORTEST: Final = 1024
LONGEST: Final = 32 * 1024
"""Sizes of kept objects as JSON, in bytes: small ones are as quick to parse, large ones are parsed in a thread."""

MEMORY_OF_A_BYTE: Final = 5
"""Bytes of a draft for each of its JSON text: parsed objects have three to four, and small ones most."""


class RecentDrafts:
    """Drafts by target and by the entry that they were stored as; the oldest go first. Thread-safe."""

    def __init__(self, max_bytes: int = MAX_BYTES) -> None:
        self.size_bytes = 0
        self._max_bytes = max_bytes
        self._kept: dict[int, tuple[Entry, object, Object, int]] = {}
        self._lock = Lock()

    def keep(self, target: object, entry: Entry, draft: Object) -> None:
        """Keep the draft that has been stored as `entry`; from now on, its writer may not use it any more."""
        if type(entry.json) is not bytes or not SHORTEST <= len(entry.json) <= LONGEST:
            return
        draft["metadata"]["resourceVersion"] = str(entry.revision)
        size = len(entry.json) * MEMORY_OF_A_BYTE
        with self._lock:
            self._drop(id(entry))
            self._kept[id(entry)] = entry, target, draft, size
            self.size_bytes += size
            while self.size_bytes > self._max_bytes:
                self._drop(next(iter(self._kept)))

    def take(self, target: object, entry: Entry) -> Object | None:
        """Return the draft of an entry, which is the caller's own; None if none is kept for that target."""
        with self._lock:
            found = self._drop(id(entry))
        return None if found is None or found[1] is not target else found[2]

    def _drop(self, key: int) -> tuple[Entry, object, Object, int] | None:
        found = self._kept.pop(key, None)  # an entry that is kept lives, so that no other has its id
        if found is not None:
            self.size_bytes -= found[3]
        return found


RECENT_DRAFTS: Final = RecentDrafts()
"""Drafts of all kinds. `orchtw_recent_drafts_bytes` shows the size."""
