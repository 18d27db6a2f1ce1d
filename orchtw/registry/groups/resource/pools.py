"""Taints of devices by rule, and requests to count the devices of pools (reference KIND-94)."""

from __future__ import annotations

from typing import Final

from orchtw.errors import Cause
from orchtw.naming.naming import Naming
from orchtw.registry.kind import KindRecord
from orchtw.registry.traits import SPEC
from orchtw.schema.validation.problems import IMMUTABLE
from orchtw.values.causes import forbidden, invalid, required
from orchtw.wire.objects import Object

_COUNTS: Final = ("resourceSliceCount", "totalDevices", "allocatedDevices", "availableDevices", "unavailableDevices")


def validate_pool_status(new: Object, old: Object, naming: Naming) -> list[Cause]:
    """Validate that the counts stay once they are there, and that a pool has them or an error."""
    status, before = new.get("status"), old.get("status")
    if before and status != before:
        return [invalid("status", status, IMMUTABLE)]
    missing = status is not None and status.get("poolCount") is None
    causes = [required("status.poolCount")] if missing else []
    for index, pool in enumerate((status or {}).get("pools") or ()):
        if pool.get("validationError"):
            given = (key for key in _COUNTS if pool.get(key) is not None)
            text = "may not be set when validationError is set"
            causes += [forbidden(f"status.pools[{index}].{key}", text) for key in given]
    return causes


DEVICE_TAINT_RULE = KindRecord(
    group="resource.orch.io",
    kind="DeviceTaintRule",
    generation=SPEC,
)
RESOURCE_POOL_STATUS_REQUEST = KindRecord(
    group="resource.orch.io",
    kind="ResourcePoolStatusRequest",
    generation=SPEC,
    validate_status=validate_pool_status,
)
