"""Priorities of pods."""

from __future__ import annotations

from orchtw.registry.kind import Kind
from orchtw.schema.tables import cells_cluster

PRIORITY_CLASS = Kind(
    group="scheduling.orch.io", kind="PriorityClass", generation=(), cells=cells_cluster.priority_class
)

KINDS = (PRIORITY_CLASS,)
