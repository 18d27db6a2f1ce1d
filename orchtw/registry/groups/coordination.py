"""Kinds of group coordination: Leases."""

from __future__ import annotations

from orchtw.registry.kind import KindRecord
from orchtw.schema.tables import cells_cluster

LEASE = KindRecord(
    group="coordination.orch.io",
    kind="Lease",
    create_on_update=True,
    unconditional_update=False,
    free_finalizers=True,
    cells=cells_cluster.lease,
)

KINDS = (LEASE,)
