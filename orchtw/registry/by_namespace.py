"""The objects of one kind in each namespace, as the values that somebody makes of them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Generic, TypeVar

from orchtw.objects import Object
from orchtw.registry.stored import Stored
from orchtw.storage.cache import ResourceCache
from orchtw.watch.entry import Entry
from orchtw.watch.log import Event

T = TypeVar("T")


def _nobody(namespace: str) -> None:
    """Nobody is told."""


class ByNamespace(Generic[T]):
    """Follows the cache of a kind of the release; each object is read once for each of its versions.

    To find that a namespace has none costs a look into a dict. `changed` is called, with the namespace, when one of
    them has changed.
    """

    def __init__(
        self, stored: Stored, read: Callable[[Object], T], changed: Callable[[str], None] = _nobody
    ) -> None:
        self.stored = stored
        self._read = read
        self._changed = changed
        self._cache: ResourceCache | None = None
        self._entries: dict[str, dict[str, Entry]] = {}
        self._values: dict[str, Sequence[tuple[Entry, T]]] = {}
        self._stale: set[str] = set()

    def of(self, namespace: str) -> Sequence[tuple[Entry, T]]:
        """The objects of a namespace in the order of their names, each with what was made of it."""
        if self._cache is not self.stored.cache:
            self._follow(self.stored.cache)
        found = self._entries.get(namespace)
        if found is None:
            return ()
        values = self._values.get(namespace)
        if values is None or namespace in self._stale:
            values = self._values[namespace] = self._made(found, dict(values or ()))
            self._stale.discard(namespace)
        return values

    def _made(self, found: dict[str, Entry], known: dict[Entry, T]) -> Sequence[tuple[Entry, T]]:
        entries = [found[name] for name in sorted(found)]
        return [(each, known[each] if each in known else self._read(self.stored.load(each))) for each in entries]

    def _follow(self, cache: ResourceCache) -> None:
        self._cache = cache
        for entry in cache.snapshot():
            self._entries.setdefault(entry.namespace, {})[entry.name] = entry
        cache.follow(self)

    def take(self, event: Event) -> None:
        """Something has happened to one of them."""
        entry = event.new or event.old
        assert entry is not None
        namespace = entry.namespace
        known = self._entries.setdefault(namespace, {})
        if event.new is not None:
            known[entry.name] = entry
        else:
            known.pop(entry.name, None)
        self._stale.add(namespace)
        if not known:
            del self._entries[namespace]
            self._values.pop(namespace, None)
            self._stale.discard(namespace)
        self._changed(namespace)

    def closed(self) -> None:
        """The kind is one of the release's and does not go away."""
