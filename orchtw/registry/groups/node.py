"""The node group."""

from __future__ import annotations

from orchtw.objects import Object
from orchtw.registry.amounts import round_up
from orchtw.registry.kind import Kind
from orchtw.schema.tables import cells_cluster


def set_runtime_class_defaults(runtime_class: Object) -> None:
    """Amounts."""
    round_up(runtime_class.get("overhead"), "podFixed")


RUNTIME_CLASS = Kind(
    group="node.orch.io",
    kind="RuntimeClass",
    create_on_update=True,
    unconditional_update=False,
    free_finalizers=True,
    set_defaults=set_runtime_class_defaults,
    cells=cells_cluster.runtime_class,
)

KINDS = (RUNTIME_CLASS,)
