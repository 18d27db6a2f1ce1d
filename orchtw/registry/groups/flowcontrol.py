"""Flow schemas and priority levels."""

from __future__ import annotations

from orchtw.registry.kind import Kind
from orchtw.registry.traits import SPEC
from orchtw.schema.tables import cells_cluster

FLOW_SCHEMA = Kind(
    group="flowcontrol.apiserver.orch.io",
    kind="FlowSchema",
    generation=SPEC,
    status_ignores=("spec", "metadata"),
    cells=cells_cluster.flow_schema,
)
PRIORITY_LEVEL_CONFIGURATION = Kind(
    group="flowcontrol.apiserver.orch.io",
    kind="PriorityLevelConfiguration",
    generation=SPEC,
    status_ignores=("spec", "metadata"),
    cells=cells_cluster.priority_level,
)

KINDS = (FLOW_SCHEMA, PRIORITY_LEVEL_CONFIGURATION)
