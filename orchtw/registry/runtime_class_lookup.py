"""Lookup of runtime classes: overhead and scheduling of their pods."""

from __future__ import annotations

from collections.abc import Awaitable, Mapping, Sequence
from typing import Final

import attrs

from orchtw.naming.names import Naming
from orchtw.registry.targets import Targets
from orchtw.storage.freshness import MOST_RECENT
from orchtw.watch.entry import Entry
from orchtw.wire.objects import Object

KEPT: Final = 256
"""Classes that are kept decoded; clusters have a few."""


@attrs.frozen(slots=True, kw_only=True)
class RuntimeClass:
    """One class: `overhead` None, it says nothing of it. Amounts are canonical; the values are to be read only."""

    overhead: Mapping[str, str] | None = None
    node_selector: Mapping[str, str] = attrs.field(factory=dict)
    tolerations: Sequence[Object] = ()


class RuntimeClasses:
    """Looks classes up in their cache; each is read once for each of its versions."""

    def __init__(self, targets: Targets, naming: Naming) -> None:
        self._stored = targets.stored_target(naming.group("node.orch.io"), "v1", "runtimeclasses").stored
        self._known: dict[str, tuple[Entry, RuntimeClass]] = {}

    def due(self) -> Awaitable[None] | None:
        """Return what to await before a class counts as missing on a shared store, or None."""
        return self._stored.cache.freshness.due(MOST_RECENT)

    def find(self, name: str) -> RuntimeClass | None:
        """The class of that name, or None."""
        entry: Entry | None = self._stored.get("", name)
        if entry is None:
            return None
        known = self._known.get(name)
        if known is None or known[0] is not entry:
            if len(self._known) >= KEPT:
                self._known.clear()
            known = self._known[name] = (entry, read(self._stored.load(entry)))
        return known[1]


def read(obj: Object) -> RuntimeClass:
    """Read a RuntimeClass object."""
    overhead, scheduling = obj.get("overhead"), obj.get("scheduling") or {}
    return RuntimeClass(
        overhead=None if overhead is None else overhead.get("podFixed") or {},
        node_selector=scheduling.get("nodeSelector") or {},
        tolerations=tuple(scheduling.get("tolerations") or ()),
    )
