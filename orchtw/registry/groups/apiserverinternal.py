"""Versions in which servers store their objects."""

from __future__ import annotations

from orchtw.registry.kind import Kind
from orchtw.schema.tables import cells_cluster

STORAGE_VERSION = Kind(
    group="internal.apiserver.orch.io",
    kind="StorageVersion",
    unconditional_update=False,
    status_ignores=("spec", "metadata"),
    cells=cells_cluster.storage_version,
)

KINDS = (STORAGE_VERSION,)
