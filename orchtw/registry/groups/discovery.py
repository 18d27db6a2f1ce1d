"""Endpoint slices."""

from __future__ import annotations

from orchtw.registry.kind import Kind
from orchtw.schema.conversion.discovery import SLICE_CONVERSIONS
from orchtw.schema.tables import cells_cluster

ENDPOINT_SLICE = Kind(
    group="discovery.orch.io",
    kind="EndpointSlice",
    generation=(("addressType",), ("endpoints",), ("ports",), ("metadata", "labels")),
    conversions=SLICE_CONVERSIONS,
    cells=cells_cluster.endpoint_slice,
)

KINDS = (ENDPOINT_SLICE,)
