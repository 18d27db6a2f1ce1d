"""Lister of runtime classes: overhead and scheduling of their pods."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

import msgspec

from orchtw.naming.naming import Naming
from orchtw.registry.listers.lister import CachedLister
from orchtw.registry.targets import Targets
from orchtw.wire.objects import Object

KEPT: Final = 256
"""Classes that are kept decoded; clusters have a few."""


class RuntimeClass(msgspec.Struct, frozen=True, kw_only=True):
    """One class: `overhead` None, it says nothing of it. Amounts are canonical; the values are to be read only."""

    overhead: Mapping[str, str] | None = None
    node_selector: Mapping[str, str] = msgspec.field(default_factory=dict)
    tolerations: Sequence[Object] = ()


def runtime_classes(targets: Targets, naming: Naming) -> CachedLister[RuntimeClass]:
    """Return a lister of runtime classes."""
    stored = targets.stored_target(naming.group("node.orch.io"), "v1", "runtimeclasses").stored
    return CachedLister(stored, lambda stored, entry: read(stored.load(entry)), KEPT)


def read(obj: Object) -> RuntimeClass:
    """Read a RuntimeClass object."""
    overhead, scheduling = obj.get("overhead"), obj.get("scheduling") or {}
    return RuntimeClass(
        overhead=None if overhead is None else overhead.get("podFixed") or {},
        node_selector=scheduling.get("nodeSelector") or {},
        tolerations=tuple(scheduling.get("tolerations") or ()),
    )
