"""Record and rules of CSIStorageCapacities."""

from __future__ import annotations

from orchtw.errors import Cause
from orchtw.naming.naming import Naming
from orchtw.registry.kind import KindRecord
from orchtw.schema.tables import cells_cluster
from orchtw.values.causes import NOT_NEGATIVE, invalid
from orchtw.wire.objects import Object


def validate_capacity(new: Object, old: Object | None, naming: Naming) -> list[Cause]:
    """Validate that the capacity is not negative."""
    amount = new.get("capacity") or ""
    return [invalid("capacity", amount, NOT_NEGATIVE)] if amount.startswith("-") else []


CSI_STORAGE_CAPACITY = KindRecord(
    group="storage.orch.io",
    kind="CSIStorageCapacity",
    unconditional_update=False,
    validate=validate_capacity,
    cells=cells_cluster.csi_capacity,
)
