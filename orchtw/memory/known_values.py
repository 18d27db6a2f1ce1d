"""Cache of values that cost more to make than to keep, bounded in bytes."""

from __future__ import annotations

from collections.abc import Hashable
from threading import Lock
from typing import Final, Generic, TypeVar

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")

MOST_SEEN: Final = 16384  # hashes of keys that came once, 2 MB at most
OVERHEAD_BYTES: Final = 200  # tuple, hash table slot, header of a text


class KnownValues(Generic[K, V]):
    """Values by key: a generation that fills half the bound replaces the one before it, so that those asked for stay.

    Values are shared and must not be modified. Thread-safe.
    """

    def __init__(self, max_bytes: int) -> None:
        self._limit = max_bytes // 2
        self._young: dict[K, tuple[V, int]] = {}
        self._old: dict[K, tuple[V, int]] = {}
        self._young_bytes = self._old_bytes = 0
        self._seen: set[int] = set()
        self._lock = Lock()

    @property
    def size_bytes(self) -> int:
        """Return about how many bytes the cache holds, as `keep` was told."""
        return self._young_bytes + self._old_bytes

    def get(self, key: K) -> V | None:
        """Return the value that is kept under a key, or None."""
        found = self._young.get(key)
        if found is None:
            found = self._old.get(key)
            if found is None:
                return None
            self._put(key, found)
        return found[0]

    def comes_again(self, key: K) -> bool:
        """Report whether a key has come before, and note that it has come: most values are asked for only once."""
        number = hash(key)
        if number in self._seen:
            return True
        if len(self._seen) >= MOST_SEEN:
            self._seen = set()
        self._seen.add(number)
        return False

    def keep(self, key: K, value: V, size_bytes: int) -> None:
        """Keep a value, which takes about so many bytes together with its key; one that exceeds the bound is not."""
        if size_bytes + OVERHEAD_BYTES <= self._limit:
            self._put(key, (value, size_bytes + OVERHEAD_BYTES))

    def _put(self, key: K, found: tuple[V, int]) -> None:
        with self._lock:
            if key in self._young:
                return
            if self._young_bytes + found[1] > self._limit:
                self._old, self._old_bytes = self._young, self._young_bytes
                self._young, self._young_bytes = {}, 0
            self._young[key] = found
            self._young_bytes += found[1]
