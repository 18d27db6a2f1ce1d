"""The aggregator's own group."""

from __future__ import annotations

from orchtw.registry.kind import Kind
from orchtw.rules.names import PATH_SEGMENT_NAME
from orchtw.schema.tables import cells_cluster

API_SERVICE = Kind(
    group="apiregistration.orch.io",
    kind="APIService",
    unconditional_update=False,
    status_ignores=("spec", "metadata"),
    name_form=PATH_SEGMENT_NAME,
    free_finalizers=True,
    cells=cells_cluster.api_service,
)

KINDS = (API_SERVICE,)
