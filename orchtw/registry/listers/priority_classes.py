"""Lister of priority classes: values, and the default."""

from __future__ import annotations

import msgspec

from orchtw.naming.naming import Naming
from orchtw.registry.listers.lister import CachedLister
from orchtw.registry.stored import Stored
from orchtw.registry.targets import Targets
from orchtw.storage.cache.watch_cache import ResourceCache
from orchtw.watch.entry import Entry
from orchtw.watch.event_log import Event


class PriorityClass(msgspec.Struct, frozen=True):
    """One class: what its pods get."""

    name: str
    value: int
    preemption_policy: str
    is_default: bool


class PriorityClasses(CachedLister[PriorityClass]):
    """Lister of priority classes, which knows the default one as well."""

    def __init__(self, targets: Targets, naming: Naming) -> None:
        stored = targets.stored_target(naming.group("scheduling.orch.io"), "v1", "priorityclasses").stored
        super().__init__(stored, _read)
        self._cache: ResourceCache | None = None
        self._default: PriorityClass | None = None
        self._is_current = False

    def default(self) -> PriorityClass | None:
        """Return the default class, or None; of several, which two servers may have let in at once, the lowest."""
        if not self._is_current or self._cache is not self.stored.cache:
            self._follow()
            defaults = (each for each in self.list() if each.is_default)
            self._default = min(defaults, key=lambda each: each.value, default=None)
            self._is_current = True
        return self._default

    def _follow(self) -> None:
        if self._cache is not self.stored.cache:
            self._cache = self.stored.cache
            self._cache.follow(self)

    def take(self, event: Event) -> None:
        """Note that a class has changed."""
        self._is_current = False

    def closed(self) -> None:
        """Do nothing: the kind is one of the release's and does not go away."""


def _read(stored: Stored, entry: Entry) -> PriorityClass:
    obj = stored.load(entry)
    policy = obj.get("preemptionPolicy") or ""
    return PriorityClass(entry.name, obj.get("value", 0), policy, bool(obj.get("globalDefault")))
