"""Lister of namespaces: their phase and labels."""

from __future__ import annotations

from collections.abc import Awaitable, Mapping

import attrs

from orchtw.registry.targets import Targets
from orchtw.storage.freshness import MOST_RECENT
from orchtw.watch.entry import Entry

PHASE = "status.phase"


@attrs.frozen(slots=True)
class NamespaceState:
    """A namespace's status.phase and its labels, which are one mapping as long as they stay."""

    phase: str
    labels: Mapping[str, str]


class Namespaces:
    """`Lister` of namespaces. The cache's entries hold both: nothing is read, and nothing kept."""

    def __init__(self, targets: Targets) -> None:
        self._stored = targets.stored_target("", "v1", "namespaces").stored
        self._phase = self._stored.field_names.index(PHASE)

    def due(self) -> Awaitable[None] | None:
        """Return what to await before an object counts as missing, or None."""
        return self._stored.cache.freshness.due(MOST_RECENT)

    def get(self, namespace: str, name: str) -> NamespaceState | None:
        """Return what was read of an object, or None if it does not exist."""
        entry: Entry | None = self._stored.get(namespace, name)
        return None if entry is None else NamespaceState(entry.fields[self._phase], entry.labels)
