"""What the rest of the server needs to know of namespaces: whether one exists, and its phase."""

from __future__ import annotations

from orchtw.registry.targets import Targets
from orchtw.watch.entry import Entry

PHASE = "status.phase"


class Namespaces:
    """Looks namespaces up in their cache."""

    def __init__(self, targets: Targets) -> None:
        self._stored = targets.stored_target("", "v1", "namespaces").stored
        self._phase = self._stored.field_names.index(PHASE)

    def phase_of(self, name: str) -> str | None:
        """The namespace's status.phase, or None where there is no such namespace."""
        entry: Entry | None = self._stored.get("", name)
        return None if entry is None else entry.fields[self._phase]
