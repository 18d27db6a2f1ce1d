"""Counts of keys after a page of a past state: counted for the first page, known for later ones."""

from __future__ import annotations

from collections import OrderedDict
from threading import Lock
from typing import Final

MAX_COUNTS: Final = 256  # places where lists may go on, two for each page

Place = tuple[str, int, str]
"""Prefix of the keys, revision, and first key that may follow."""


class Counts:
    """Numbers of live keys from some places on. A past state does not change, so none is ever wrong.

    Safe to use from several threads.
    """

    def __init__(self) -> None:
        self._counts: OrderedDict[Place, int] = OrderedDict()
        self._lock = Lock()

    def find(self, place: Place) -> int | None:
        """Return the number of keys from a place on, or None if unknown."""
        with self._lock:
            return self._counts.get(place)

    def keep(self, prefix: str, revision: int, keys: list[str], remaining: int) -> None:
        """Keep the number of keys after a page; a reader may come back for its last key, so that place is kept
        too.
        """
        with self._lock:
            for more, key in enumerate(reversed(keys[-2:])):
                self._counts[prefix, revision, f"{key}\0"] = remaining + more
            while len(self._counts) > MAX_COUNTS:
                self._counts.popitem(last=False)
