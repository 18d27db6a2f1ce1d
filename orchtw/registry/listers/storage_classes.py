"""Lister of storage classes: whether their volumes can grow."""

from __future__ import annotations

from orchtw.naming.naming import Naming
from orchtw.registry.listers.lister import CachedLister
from orchtw.registry.targets import Targets


def expandable_classes(targets: Targets, naming: Naming) -> CachedLister[bool]:
    """Return a lister of storage classes by whether volumes of the class can grow."""
    stored = targets.stored_target(naming.group("storage.orch.io"), "v1", "storageclasses").stored
    return CachedLister(stored, lambda stored, entry: bool(stored.load(entry).get("allowVolumeExpansion")))
