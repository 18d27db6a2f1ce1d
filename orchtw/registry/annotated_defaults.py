"""Objects of a kind that an annotation makes the default for others, such as ingress classes."""

from __future__ import annotations

from collections.abc import Awaitable, Sequence

from orchtw.registry.targets import Targets
from orchtw.storage.cache.freshness import MOST_RECENT
from orchtw.storage.cache.watch_cache import ResourceCache
from orchtw.watch.entry import Entry
from orchtw.watch.event_log import Event


class AnnotatedDefaults:
    """Objects of one cluster-scoped resource of whose `annotations` one is "true"."""

    def __init__(self, targets: Targets, path: tuple[str, str, str], *annotations: str) -> None:
        self._stored = targets.stored_target(*path).stored
        self._annotations = annotations
        self._cache: ResourceCache | None = None
        self._names: Sequence[str] | None = None

    def due(self) -> Awaitable[None] | None:
        """Return what to await before the names are current on a shared store, or None."""
        return self._stored.cache.freshness.due(MOST_RECENT)

    def names(self) -> Sequence[str]:
        """Return the names of all of them, in order."""
        if self._cache is not self._stored.cache:
            self._cache, self._names = self._stored.cache, None
            self._cache.follow(self)
        if self._names is None:
            self._names = [entry.name for entry in self._cache.snapshot() if self._is_default(entry)]
        return self._names

    def _is_default(self, entry: Entry) -> bool:
        annotations = self._stored.metadata(entry).get("annotations") or {}
        return any(annotations.get(each) == "true" for each in self._annotations)

    def take(self, event: Event) -> None:
        """Drop the names after a change, as `Follower.take`."""
        self._names = None

    def closed(self) -> None:
        """Do nothing: the kinds are the release's and do not go away."""
