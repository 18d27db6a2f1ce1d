"""Record and rules of Nodes."""

from __future__ import annotations

from orchtw.registry.amounts import round_up
from orchtw.registry.emission_order import put
from orchtw.registry.groups.core.node_validation import node_warnings, validate_node, validate_node_status
from orchtw.registry.kind import KindRecord
from orchtw.registry.strategy import Strategy
from orchtw.request import UserInfo
from orchtw.schema.tables import cells_core
from orchtw.wire.objects import Object

_NODE_STATUS_TAIL = (
    *("allocatable", "phase", "conditions", "addresses", "daemonEndpoints", "nodeInfo", "images", "volumesInUse"),
    *("volumesAttached", "config"),
)


_NODE_SPEC_TAIL = ("providerID", "unschedulable", "taints", "configSource", "externalID")


class NodeStrategy(Strategy):
    """Write rules of nodes: an agent registers its node with its status; later writes go to /status."""

    def reset_status(self, obj: Object) -> None:
        pass

    def prepare_for_create(self, obj: Object, user: UserInfo) -> None:
        super().prepare_for_create(obj, user)
        _drop_settings(obj, {})

    def prepare_for_update(self, new: Object, old: Object) -> None:
        super().prepare_for_update(new, old)
        _drop_settings(new, old)

    def prepare_for_status(self, new: Object, old: Object, now: str) -> Object:
        kept = super().prepare_for_status(new, old, now)
        kept["status"] = dict(kept.get("status") or {})
        _drop_settings(kept, old)
        return kept


def _drop_settings(node: Object, old: Object) -> None:
    """Drop settings for the node agent, unless the old node has some."""
    for part, name in (("spec", "configSource"), ("status", "config")):
        if (node.get(part) or {}).get(name) is not None and (old.get(part) or {}).get(name) is None:
            del node[part][name]


def set_node_defaults(node: Object) -> None:
    """Fill in allocatable from the capacity, and the two names of the first range of addresses."""
    spec, status = node["spec"], node["status"]
    first, ranges = spec.get("podCIDR"), spec.get("podCIDRs")
    if first and (not ranges or ranges[0] != first):
        put(spec, "podCIDRs", [first], _NODE_SPEC_TAIL)
    elif ranges and not first:
        put(spec, "podCIDR", ranges[0], ("podCIDRs", *_NODE_SPEC_TAIL))
    round_up(status, "capacity", "allocatable")
    if status.get("capacity") and "allocatable" not in status:
        put(status, "allocatable", dict(status["capacity"]), _NODE_STATUS_TAIL)


NODE = KindRecord(
    group="",
    kind="Node",
    strategy=NodeStrategy,
    set_defaults=set_node_defaults,
    validate=validate_node,
    validate_status=validate_node_status,
    warn=node_warnings,
    cells=cells_core.node,
)
