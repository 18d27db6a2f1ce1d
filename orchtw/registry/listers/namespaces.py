"""Lister of namespaces: their phase and labels."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from orchtw.registry.listers.lister import StoredLister
from orchtw.registry.targets import Targets

PHASE = "status.phase"


class NamespaceState(msgspec.Struct, frozen=True):
    """A namespace's status.phase and its labels, which are one mapping as long as they stay."""

    phase: str
    labels: Mapping[str, str]


class Namespaces(StoredLister[NamespaceState]):
    """Lister of namespaces. The cache's entries hold both: nothing is read, and nothing kept."""

    def __init__(self, targets: Targets) -> None:
        stored = targets.stored_target("", "v1", "namespaces").stored
        phase = stored.field_names.index(PHASE)
        super().__init__(stored, lambda stored, entry: NamespaceState(entry.fields[phase], entry.labels))
