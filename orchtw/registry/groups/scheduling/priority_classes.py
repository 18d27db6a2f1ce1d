"""Priority classes, of which the system has some of its own."""

from __future__ import annotations

from orchtw.errors import Cause
from orchtw.naming.naming import Naming
from orchtw.registry.kind import KindRecord
from orchtw.schema.tables import cells_cluster
from orchtw.values.causes import forbidden, not_supported, required
from orchtw.wire.objects import Object

HIGHEST_USER_PRIORITY = 1_000_000_000
SYSTEM_PRIORITIES = {"system-node-critical": 2_000_001_000, "system-cluster-critical": 2_000_000_000}
"""Values of the system's own classes, by name."""

_POLICIES = ("PreemptLowerPriority", "Never")
_SYSTEM_PREFIX = "system-"
_RESERVED = f"priority class names with '{_SYSTEM_PREFIX}' prefix are reserved for system use only. error: "


def validate_priority_class(new: Object, old: Object | None, naming: Naming) -> list[Cause]:
    """Validate that the highest values are the system's, and that no value changes."""
    causes, name, policy = [], new["metadata"].get("name", ""), new.get("preemptionPolicy")
    if policy == "":
        causes.append(required("preemptionPolicy"))
    elif policy is not None and policy not in _POLICIES:
        causes.append(not_supported("preemptionPolicy", policy, _POLICIES))
    if old is not None:
        if new.get("value") != old.get("value"):
            causes.append(forbidden("Value", "may not be changed in an update."))
    elif name.startswith(_SYSTEM_PREFIX):
        if why := _not_the_systems(name, new):
            causes.append(forbidden("metadata.name", _RESERVED + why))
    elif new.get("value", 0) > HIGHEST_USER_PRIORITY:
        why = f"maximum allowed value of a user defined priority is {HIGHEST_USER_PRIORITY}"
        causes.append(forbidden("value", why))
    return causes


def _not_the_systems(name: str, priority_class: Object) -> str:
    """Return why a class is not a system class, or an empty text."""
    value = SYSTEM_PRIORITIES.get(name)
    if value is None:
        return f"{name} is not a known system priority class"
    if priority_class.get("value", 0) != value:
        return f"value of {name} PriorityClass must be {value}"
    return f"globalDefault of {name} PriorityClass must be false" if priority_class.get("globalDefault") else ""


PRIORITY_CLASS = KindRecord(
    group="scheduling.orch.io",
    kind="PriorityClass",
    generation=(),
    validate=validate_priority_class,
    cells=cells_cluster.priority_class,
    protected=dict.fromkeys(SYSTEM_PRIORITIES, "this is a system priority class and cannot be deleted"),
)
