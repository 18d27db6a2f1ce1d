"""How much storage of a class there is at a place."""

from __future__ import annotations

from orchtw.errors import Cause
from orchtw.naming import Naming
from orchtw.objects import Object
from orchtw.registry.kind import Kind
from orchtw.rules.causes import NOT_NEGATIVE, invalid
from orchtw.schema.tables import cells_cluster


def validate_capacity(new: Object, old: Object | None, naming: Naming) -> list[Cause]:
    """There is never less than nothing."""
    amount = new.get("capacity") or ""
    return [invalid("capacity", amount, NOT_NEGATIVE)] if amount.startswith("-") else []


CSI_STORAGE_CAPACITY = Kind(
    group="storage.orch.io",
    kind="CSIStorageCapacity",
    unconditional_update=False,
    validate=validate_capacity,
    cells=cells_cluster.csi_capacity,
)
