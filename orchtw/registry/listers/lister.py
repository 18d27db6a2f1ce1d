"""Listers of objects as the cache has them: read at each call, or once for each of their versions."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator
from typing import Final, Generic, Protocol, TypeVar

from orchtw.registry.stored import Stored
from orchtw.storage.cache.freshness import MOST_RECENT
from orchtw.watch.entry import Entry

T = TypeVar("T")
Found = TypeVar("Found", covariant=True)

KEPT: Final = 1024
"""Objects that are kept as they were read, unless the kind says otherwise."""


class Lister(Protocol[Found]):
    """Reader of another kind's objects."""

    def get(self, namespace: str, name: str) -> Found | None:
        """Return what was read of an object (namespace empty: cluster scope), or None if it does not exist.

        Raises DamagedObject (500) for one that cannot be read.
        """

    def due(self) -> Awaitable[None] | None:
        """Return what to await before an object counts as missing on a shared store, or None."""


class StoredLister(Generic[T]):
    """`Lister` over the cache of one stored resource. `read` makes of an entry what `get` returns, at each call."""

    def __init__(self, stored: Stored, read: Callable[[Stored, Entry], T]) -> None:
        self.stored = stored
        self._read = read

    def due(self) -> Awaitable[None] | None:
        """Return what to await before an object counts as missing, or None."""
        return self.stored.cache.freshness.due(MOST_RECENT)

    def get(self, namespace: str, name: str) -> T | None:
        """Return what was read of an object, or None if it does not exist."""
        entry: Entry | None = self.stored.get(namespace, name)
        return None if entry is None else self._of(entry)

    def list(self) -> Iterator[T]:
        """Yield what was read of each object, by name."""
        return map(self._of, sorted(self.stored.cache.snapshot(), key=lambda entry: entry.name))

    def _of(self, entry: Entry) -> T:
        return self._read(self.stored, entry)


class CachedLister(StoredLister[T]):
    """`StoredLister` that reads each object once for each of its versions, and keeps at most `most` of them."""

    def __init__(self, stored: Stored, read: Callable[[Stored, Entry], T], most: int = KEPT) -> None:
        super().__init__(stored, read)
        self._most = most
        self._known: dict[str, tuple[Entry, T]] = {}

    def _of(self, entry: Entry) -> T:
        known = self._known.get(entry.key)
        if known is None or known[0] is not entry:
            known = self._keep(entry, self._read(self.stored, entry))
        return known[1]

    def _keep(self, entry: Entry, value: T) -> tuple[Entry, T]:
        if len(self._known) >= self._most:
            self._known.clear()
        known = self._known[entry.key] = entry, value
        return known
