"""Leases."""

from __future__ import annotations

from orchtw.registry.kind import Kind
from orchtw.schema.tables import cells_cluster

LEASE = Kind(
    group="coordination.orch.io",
    kind="Lease",
    create_on_update=True,
    unconditional_update=False,
    free_finalizers=True,
    cells=cells_cluster.lease,
)

KINDS = (LEASE,)
