"""Kinds of the node group: RuntimeClasses."""

from __future__ import annotations

from collections.abc import Sequence

from orchtw.errors import MAX_CAUSES, Cause
from orchtw.naming.naming import Naming
from orchtw.registry.amounts import round_up
from orchtw.registry.groups.core.resource_lists import check_amounts
from orchtw.registry.groups.core.scheduling_terms import TOLERATION, check_toleration
from orchtw.registry.kind import KindRecord
from orchtw.rules.resource_names import container_resource_name
from orchtw.schema.tables import cells_cluster
from orchtw.schema.validation.problems import within
from orchtw.values.causes import duplicate, invalid
from orchtw.values.go_literals import shown
from orchtw.values.names import label_value, qualified_name
from orchtw.wire.objects import Object

_SELECTOR = "scheduling.nodeSelector"
_TOLERATIONS = "scheduling.tolerations"
_IDENTITY = ("key", "operator", "value", "effect")


def set_runtime_class_defaults(runtime_class: Object) -> None:
    """Round the amounts of podFixed up to what the API can express."""
    round_up(runtime_class.get("overhead"), "podFixed")


def validate_runtime_class(new: Object, old: Object | None, naming: Naming) -> list[Cause]:
    """Validate overhead and scheduling as in pods, with the release's paths."""
    scheduling, overhead = new.get("scheduling") or {}, (new.get("overhead") or {}).get("podFixed") or {}
    causes = check_amounts("overhead.limits", overhead, naming, lambda name: container_resource_name(name, naming))
    for key, value in (scheduling.get("nodeSelector") or {}).items():
        if len(causes) > MAX_CAUSES:
            break
        causes += [invalid(_SELECTOR, key, text) for text in qualified_name(key)]
        causes += [invalid(_SELECTOR, value, text) for text in label_value(value)]
    return causes + _toleration_causes(scheduling.get("tolerations") or ())


def _toleration_causes(tolerations: Sequence[Object]) -> list[Cause]:
    causes: list[Cause] = []
    seen: set[tuple[object, ...]] = set()
    for index, toleration in enumerate(tolerations):
        if len(causes) > MAX_CAUSES:
            break
        causes += within(f"{_TOLERATIONS}.tolerations[{index}]", check_toleration(toleration, None))
        key = tuple(toleration.get(name, "") for name in _IDENTITY)
        if key in seen:
            causes.append(duplicate(f"{_TOLERATIONS}[{index}]", shown(TOLERATION, toleration)))
        seen.add(key)
    return causes


RUNTIME_CLASS = KindRecord(
    group="node.orch.io",
    kind="RuntimeClass",
    create_on_update=True,
    unconditional_update=False,
    free_finalizers=True,
    set_defaults=set_runtime_class_defaults,
    validate=validate_runtime_class,
    cells=cells_cluster.runtime_class,
)

KINDS = (RUNTIME_CLASS,)
