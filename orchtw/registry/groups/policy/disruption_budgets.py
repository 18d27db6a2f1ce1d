"""Record and rules of PodDisruptionBudgets."""

from __future__ import annotations

from orchtw.errors import Cause
from orchtw.naming.naming import Naming
from orchtw.registry.kind import KindRecord
from orchtw.registry.traits import SPEC, Sent
from orchtw.schema.conversion.policy import BUDGET_CONVERSIONS
from orchtw.schema.tables import cells_workloads
from orchtw.values.causes import NOT_NEGATIVE, invalid, not_supported
from orchtw.values.go_literals import SELECTOR, as_amount, pointer, shown, struct
from orchtw.values.int_or_percent import part_causes, share_causes
from orchtw.values.names import PATH_SEGMENT_NAME
from orchtw.wire.objects import Object

_SHOWN_SPEC = struct(
    "policy.PodDisruptionBudgetSpec",
    MinAvailable=("minAvailable", pointer("intstr.IntOrString", as_amount)),
    Selector=("selector", pointer("v1.LabelSelector", SELECTOR)),
    MaxUnavailable=("maxUnavailable", pointer("intstr.IntOrString", as_amount)),
)

_EVICTIONS = ("AlwaysAllow", "IfHealthyBudget")
_AMOUNTS = ("minAvailable", "maxUnavailable")
_COUNTS = ("disruptionsAllowed", "currentHealthy", "desiredHealthy", "expectedPods")


def validate_disruption_budget(new: Object, old: Object | None, naming: Naming) -> list[Cause]:
    """Validate that at most one of the two amounts is given, as a number or a percentage."""
    spec = new["spec"]
    given = {key: spec[key] for key in _AMOUNTS if spec.get(key) is not None}
    causes = []
    if len(given) > 1:
        causes.append(invalid("spec", shown(_SHOWN_SPEC, spec), "minAvailable and maxUnavailable cannot be both set"))
    for key, value in given.items():
        causes += share_causes(f"spec.{key}", value) + part_causes(f"spec.{key}", value)
    eviction = spec.get("unhealthyPodEvictionPolicy")
    if eviction is not None and eviction not in _EVICTIONS:
        causes.append(not_supported("spec.unhealthyPodEvictionPolicy", eviction, _EVICTIONS))
    return causes


def validate_sent_budget(new: Object, old: Object | None, sent: Sent, naming: Naming) -> list[Cause]:
    """Validate that the counts of a status are not negative, in version v1 only."""
    if sent.subresource != "status" or sent.resource.version != "v1":
        return []
    status = new.get("status") or {}
    return [invalid(f"status.{key}", count, NOT_NEGATIVE) for key in _COUNTS if (count := status.get(key) or 0) < 0]


POD_DISRUPTION_BUDGET = KindRecord(
    group="policy",
    kind="PodDisruptionBudget",
    generation=SPEC,
    unconditional_update=False,
    name_form=PATH_SEGMENT_NAME,
    validate=validate_disruption_budget,
    validate_sent=validate_sent_budget,
    conversions=BUDGET_CONVERSIONS,
    cells=cells_workloads.disruption_budget,
)
