"""Nodes."""

from __future__ import annotations

from orchtw.objects import Object
from orchtw.registry.amounts import round_up
from orchtw.registry.emission_order import put
from orchtw.registry.kind import Kind
from orchtw.registry.strategy import Strategy
from orchtw.schema.tables import cells_core

_NODE_STATUS_TAIL = (
    *("allocatable", "phase", "conditions", "addresses", "daemonEndpoints", "nodeInfo", "images", "volumesInUse"),
    *("volumesAttached", "config"),
)


class NodeStrategy(Strategy):
    """A node agent registers its node with the status that it found; later writes keep to /status."""

    def reset_status(self, obj: Object) -> None:
        pass


def set_node_defaults(node: Object) -> None:
    """All of a node is allocatable unless it says otherwise."""
    status = node["status"]
    round_up(status, "capacity", "allocatable")
    if status.get("capacity") and "allocatable" not in status:
        put(status, "allocatable", dict(status["capacity"]), _NODE_STATUS_TAIL)


NODE = Kind(group="", kind="Node", strategy=NodeStrategy, set_defaults=set_node_defaults, cells=cells_core.node)
