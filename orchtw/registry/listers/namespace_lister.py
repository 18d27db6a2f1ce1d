"""Lister of the objects of a namespace, each read once for each of its versions."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import TypeVar

from orchtw.registry.listers.lister import CachedLister
from orchtw.registry.offload import Compute
from orchtw.registry.stored import Stored
from orchtw.storage.cache.watch_cache import ResourceCache
from orchtw.watch.entry import LARGE_BYTES, Entry
from orchtw.watch.event_log import Event
from orchtw.wire.objects import Object

T = TypeVar("T")

def _nobody(namespace: str) -> None:
    """Ignore the change of a namespace: the default."""


class NamespaceLister(CachedLister[T]):
    """`CachedLister` that lists by namespace as well; it follows the cache of a kind of the release.

    To find that a namespace is empty costs a look into a dict. `changed` is called, with the namespace, when one of
    its objects has changed.
    """

    def __init__(
        self, stored: Stored, read: Callable[[Object], T], changed: Callable[[str], None] = _nobody
    ) -> None:
        super().__init__(stored, lambda stored, entry: read(stored.load(entry)))
        self._changed = changed
        self._cache: ResourceCache | None = None
        self._entries: dict[str, dict[str, Entry]] = {}
        self._values: dict[str, Sequence[tuple[Entry, T]]] = {}

    def has(self, namespace: str) -> bool:
        """Report whether a namespace has any objects of the kind."""
        if self._cache is not self.stored.cache:
            self._follow(self.stored.cache)
        return namespace in self._entries

    def of(self, namespace: str) -> Sequence[tuple[Entry, T]]:
        """Return the objects of a namespace in the order of their names, each with its value."""
        if not self.has(namespace):
            return ()
        values = self._values.get(namespace)
        if values is None:
            values = self._values[namespace] = [(entry, self._of(entry)) for entry in self._sorted(namespace)]
        return values

    async def ready(self, namespace: str, run: Compute) -> Sequence[tuple[Entry, T]]:
        """Return the same as `of`, but read large changed objects through `run`."""
        if self.has(namespace) and namespace not in self._values:
            for entry in self._sorted(namespace):
                known = self._known.get(entry.key)
                if len(entry.raw) > LARGE_BYTES and (known is None or known[0] is not entry):
                    self._keep(entry, await run(len(entry.raw), partial(self._read, self.stored, entry)))
        return self.of(namespace)

    def _sorted(self, namespace: str) -> list[Entry]:
        found = self._entries[namespace]
        return [found[name] for name in sorted(found)]

    def _follow(self, cache: ResourceCache) -> None:
        self._cache = cache
        for entry in cache.snapshot():
            self._entries.setdefault(entry.namespace, {})[entry.name] = entry
        cache.follow(self)

    def take(self, event: Event) -> None:
        """Take in a change of one object, as `Follower.take`."""
        entry = event.new or event.old
        assert entry is not None
        namespace = entry.namespace
        known = self._entries.setdefault(namespace, {})
        if event.new is not None:
            known[entry.name] = entry
        else:
            known.pop(entry.name, None)
            self._known.pop(entry.key, None)
        self._values.pop(namespace, None)
        if not known:
            del self._entries[namespace]
        self._changed(namespace)

    def closed(self) -> None:
        """Do nothing: the kind is one of the release's and does not go away."""
