"""Disruption budgets and pod security policies."""

from __future__ import annotations

from orchtw.registry.kind import Kind
from orchtw.registry.traits import SPEC
from orchtw.rules.names import PATH_SEGMENT_NAME
from orchtw.schema.conversion.policy import BUDGET_CONVERSIONS
from orchtw.schema.tables import cells_cluster, cells_workloads

POD_DISRUPTION_BUDGET = Kind(
    group="policy",
    kind="PodDisruptionBudget",
    generation=SPEC,
    unconditional_update=False,
    name_form=PATH_SEGMENT_NAME,
    conversions=BUDGET_CONVERSIONS,
    cells=cells_workloads.disruption_budget,
)
POD_SECURITY_POLICY = Kind(group="policy", kind="PodSecurityPolicy", cells=cells_cluster.security_policy)

KINDS = (POD_DISRUPTION_BUDGET, POD_SECURITY_POLICY)
