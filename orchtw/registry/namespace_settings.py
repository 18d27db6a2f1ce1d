"""Settings in annotations of namespaces, parsed once for each resourceVersion."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import Final, Generic, TypeVar

from orchtw.registry.targets import Targets
from orchtw.storage.freshness import MOST_RECENT
from orchtw.watch.entry import Entry

T = TypeVar("T")

KEPT: Final = 1024
"""Namespaces of which it is kept; the annotations of one are up to 256 KiB."""


class NamespaceSettings(Generic[T]):
    """`read` makes of annotations what `find` returns. It is called on the reactor."""

    def __init__(self, targets: Targets, read: Callable[[Mapping[str, str]], T]) -> None:
        self._stored = targets.stored_target("", "v1", "namespaces").stored
        self._read = read
        self._known: dict[str, tuple[Entry, T]] = {}

    def due(self) -> Awaitable[None] | None:
        """Return what to await before a namespace counts as missing, or None."""
        return self._stored.cache.freshness.due(MOST_RECENT)

    def find(self, namespace: str) -> T | None:
        """Return the settings of a namespace, or None if it does not exist. Raises what `read` raises."""
        entry = self._stored.get("", namespace)
        if entry is None:
            return None
        known = self._known.get(namespace)
        if known is None or known[0] is not entry:
            read = self._read(self._stored.metadata(entry, owned=False).get("annotations") or {})
            if len(self._known) >= KEPT:
                self._known.clear()
            known = self._known[namespace] = entry, read
        return known[1]
