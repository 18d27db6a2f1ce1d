"""CSI drivers on each node."""

from __future__ import annotations

from typing import Final

from orchtw.errors import MAX_CAUSES, Cause
from orchtw.naming.naming import Naming
from orchtw.registry.kind import KindRecord
from orchtw.schema.tables import cells_cluster
from orchtw.schema.validation.problems import IMMUTABLE
from orchtw.values import utf8
from orchtw.values.causes import duplicate, invalid, required
from orchtw.values.go_literals import as_number, as_text, listed, pointer, shown, struct
from orchtw.values.names import qualified_name
from orchtw.wire.objects import Object

_RESOURCES_KIND = "storage.VolumeNodeResources"
_SHOWN_DRIVER = struct(
    "storage.CSINodeDriver",
    Name=("name", as_text), NodeID=("nodeID", as_text), TopologyKeys=("topologyKeys", listed("string")),
    Allocatable=("allocatable", pointer(
        _RESOURCES_KIND, struct(_RESOURCES_KIND, Count=("count", pointer("int32", as_number)))
    )),
)  # fmt: skip

_MAX_NODE_ID: Final = 192


def validate_node(new: Object, old: Object | None, naming: Naming) -> list[Cause]:
    """Validate drivers, which come and go, but do not change."""
    drivers = new["spec"].get("drivers") or ()
    causes: list[Cause] = []
    for index, driver in enumerate(drivers):
        if len(causes) > MAX_CAUSES:
            break
        causes += _driver_causes(driver, f"spec.drivers[{index}]")
    before = {driver.get("name"): driver for driver in (old["spec"].get("drivers") or () if old else ())}
    changed = [driver for driver in drivers if before.get(driver.get("name"), driver) != driver]
    values = [shown(_SHOWN_DRIVER, driver) for driver in changed[:MAX_CAUSES]]
    return causes + [invalid("CSINodeDriver", value, IMMUTABLE) for value in values]


def _driver_causes(driver: Object, path: str) -> list[Cause]:
    causes: list[Cause] = []
    node_id = driver.get("nodeID", "")
    if utf8.size(node_id) > _MAX_NODE_ID:
        causes.append(invalid(f"{path}.nodeID", node_id, f"must be {_MAX_NODE_ID} characters or less"))
    keys, seen = driver.get("topologyKeys") or (), set()
    for key in keys:
        if len(causes) > MAX_CAUSES:
            break
        if not key:
            causes.append(required(path))
        if key in seen:
            causes.append(duplicate(path, key))
        seen.add(key)
        causes += [invalid(path, keys, text) for text in qualified_name(key)]
    return causes


CSI_NODE = KindRecord(
    group="storage.orch.io",
    kind="CSINode",
    unconditional_update=False,
    validate=validate_node,
    cells=cells_cluster.csi_node,
)
