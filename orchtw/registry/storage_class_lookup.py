"""Lookup of storage classes."""

from __future__ import annotations

from orchtw.naming.names import Naming
from orchtw.registry.targets import Targets
from orchtw.storage.freshness import MOST_RECENT
from orchtw.watch.entry import Entry


class StorageClasses:
    """Looks classes up in their cache."""

    def __init__(self, targets: Targets, naming: Naming) -> None:
        self._stored = targets.stored_target(naming.group("storage.orch.io"), "v1", "storageclasses").stored

    async def may_expand(self, name: str) -> bool:
        """Report whether volumes of the class can grow; False for a missing class. Raises DamagedObject (500)."""
        if (due := self._stored.cache.freshness.due(MOST_RECENT)) is not None:
            await due
        entry: Entry | None = self._stored.get("", name)
        return entry is not None and bool(self._stored.load(entry).get("allowVolumeExpansion"))
