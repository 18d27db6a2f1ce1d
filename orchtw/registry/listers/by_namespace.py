"""Lister of the objects of a namespace, each read once for each of its versions."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from typing import Any, Generic, TypeVar

from orchtw.registry.stored import Stored
from orchtw.storage.cache.cacher import ResourceCache
from orchtw.watch.entry import LARGE_BYTES, Entry
from orchtw.watch.log import Event
from orchtw.wire.objects import Object

T = TypeVar("T")
Run = Callable[[int, Callable[[], Any]], Awaitable[Any]]
"""Runs work that takes as long as so many bytes: `Offload.run`."""


def _nobody(namespace: str) -> None:
    """Ignore the change of a namespace: the default."""


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
        if values is None or namespace in self._stale:
            known = self._read_already(namespace)
            values = [(each, known[each] if each in known else self._made(each)) for each in self._sorted(namespace)]
            self._values[namespace] = values
            self._stale.discard(namespace)
        return values

    async def ready(self, namespace: str, run: Run) -> Sequence[tuple[Entry, T]]:
        """Return the same as `of`, but read large changed objects through `run`."""
        if self.has(namespace) and (namespace in self._stale or namespace not in self._values):
            known = self._read_already(namespace)
            large = [each for each in self._sorted(namespace) if len(each.raw) > LARGE_BYTES and each not in known]
            made = {each: await run(len(each.raw), partial(self._made, each)) for each in large}
            if made and self.has(namespace):
                self._values[namespace] = list({**self._read_already(namespace), **made}.items())
                self._stale.add(namespace)
        return self.of(namespace)

    def _sorted(self, namespace: str) -> list[Entry]:
        found = self._entries[namespace]
        return [found[name] for name in sorted(found)]

    def _read_already(self, namespace: str) -> dict[Entry, T]:
        """Return the values read so far in a namespace, older versions of its objects included."""
        return dict(self._values.get(namespace, ()))

    def _made(self, entry: Entry) -> T:
        return self._read(self.stored.load(entry))

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
        self._stale.add(namespace)
        if not known:
            del self._entries[namespace]
            self._values.pop(namespace, None)
            self._stale.discard(namespace)
        self._changed(namespace)

    def closed(self) -> None:
        """Do nothing: the kind is one of the release's and does not go away."""
