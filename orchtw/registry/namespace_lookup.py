"""Lookup of namespaces: existence and phase."""

from __future__ import annotations

from collections.abc import Awaitable, Mapping

from orchtw.registry.targets import Targets
from orchtw.storage.freshness import MOST_RECENT
from orchtw.watch.entry import Entry

PHASE = "status.phase"


class Namespaces:
    """Looks namespaces up in their cache."""

    def __init__(self, targets: Targets) -> None:
        self._stored = targets.stored_target("", "v1", "namespaces").stored
        self._phase = self._stored.field_names.index(PHASE)

    def due(self) -> Awaitable[None] | None:
        """Return what to await before phases are current on a shared store, or None."""
        return self._stored.cache.freshness.due(MOST_RECENT)

    def phase_of(self, name: str) -> str | None:
        """The namespace's status.phase, or None where there is no such namespace."""
        entry: Entry | None = self._stored.get("", name)
        return None if entry is None else entry.fields[self._phase]

    def labels_of(self, name: str) -> Mapping[str, str] | None:
        """The namespace's labels, one mapping as long as they stay, or None where there is no such namespace."""
        entry: Entry | None = self._stored.get("", name)
        return None if entry is None else entry.labels
