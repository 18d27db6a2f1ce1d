"""Lookup of priority classes: values, and the default."""

from __future__ import annotations

from collections.abc import Awaitable

import attrs

from orchtw.naming.names import Naming
from orchtw.registry.targets import Targets
from orchtw.storage.cache.cacher import ResourceCache
from orchtw.storage.freshness import MOST_RECENT
from orchtw.watch.entry import Entry
from orchtw.watch.log import Event


@attrs.frozen(slots=True)
class PriorityClass:
    """One class: what its pods get."""

    name: str
    value: int
    preemption_policy: str
    is_default: bool


class PriorityClasses:
    """Looks classes up in their cache; each is read once for each of its versions."""

    def __init__(self, targets: Targets, naming: Naming) -> None:
        self._stored = targets.stored_target(naming.group("scheduling.orch.io"), "v1", "priorityclasses").stored
        self._cache: ResourceCache | None = None
        self._known: dict[str, tuple[Entry, PriorityClass]] = {}
        self._default: PriorityClass | None = None
        self._is_current = False

    def due(self) -> Awaitable[None] | None:
        """Return what to await before a class counts as missing on a shared store, or None."""
        return self._stored.cache.freshness.due(MOST_RECENT)

    def find(self, name: str) -> PriorityClass | None:
        """The class of that name, or None. Raises DamagedObject (500)."""
        entry: Entry | None = self._stored.get("", name)
        if entry is None:
            self._known.pop(name, None)
            return None
        known = self._known.get(name)
        if known is None or known[0] is not entry:
            known = self._known[name] = (entry, self._read(entry))
        return known[1]

    def default(self) -> PriorityClass | None:
        """The default class, or None; of several, which two servers may have let in at once, the lowest."""
        if not self._is_current or self._cache is not self._stored.cache:
            self._follow()
            found = (self.find(entry.name) for entry in self._stored.cache.snapshot())
            defaults = [each for each in found if each is not None and each.is_default]
            self._default = min(defaults, key=lambda each: each.value, default=None)
            self._is_current = True
        return self._default

    def _follow(self) -> None:
        if self._cache is not self._stored.cache:
            self._cache = self._stored.cache
            self._cache.follow(self)

    def take(self, event: Event) -> None:
        """Something has happened to a class."""
        self._is_current = False

    def closed(self) -> None:
        """The kind is one of the release's and does not go away."""

    def _read(self, entry: Entry) -> PriorityClass:
        obj = self._stored.load(entry)
        policy = obj.get("preemptionPolicy") or ""
        return PriorityClass(entry.name, obj.get("value", 0), policy, bool(obj.get("globalDefault")))
