"""The core group but for pods, volumes and services."""

from __future__ import annotations

from orchtw.objects import Object
from orchtw.registry.defaults.places import put
from orchtw.registry.defaults.pod import fill_pod_template
from orchtw.registry.defaults.quantities import round_up

_NODE_STATUS_TAIL = (
    *("allocatable", "phase", "conditions", "addresses", "daemonEndpoints", "nodeInfo", "images", "volumesInUse"),
    *("volumesAttached", "config"),
)
_LIMITS_TAIL = ("default", "defaultRequest", "maxLimitRequestRatio")


def fill_replication_controller(controller: Object) -> None:
    """Labels and selector are those of the template where they are not given."""
    spec = controller["spec"]
    labels = template_labels(spec)
    if labels:
        if not spec.get("selector"):
            put(spec, "selector", dict(labels), ("selector", "template"))
        label(controller, labels)
    fill_pod_template(spec)


def template_labels(spec: Object) -> dict[str, str]:
    """The labels of a spec's pod template."""
    template = spec.get("template") or {}
    return template.get("metadata", {}).get("labels") or {}


def label(obj: Object, labels: dict[str, str]) -> None:
    """Give `labels` to an object that has none."""
    meta = obj["metadata"]
    if labels and not meta.get("labels"):
        put(meta, "labels", dict(labels), ("labels", "annotations", "ownerReferences", "finalizers", "managedFields"))


def fill_node(node: Object) -> None:
    """All of a node can be allotted unless it says otherwise."""
    status = node["status"]
    round_up(status, "capacity", "allocatable")
    if status.get("capacity") and "allocatable" not in status:
        put(status, "allocatable", dict(status["capacity"]), _NODE_STATUS_TAIL)


def fill_limit_range(limit_range: Object) -> None:
    """A limit is by default the maximum, a request by default the limit, else the minimum; of containers only."""
    for limits in limit_range["spec"].get("limits") or ():
        round_up(limits, "max", "min", "default", "defaultRequest", "maxLimitRequestRatio")
        if limits["type"] == "Container":
            _extend(limits, "default", limits.get("max"))
            _extend(limits, "defaultRequest", limits.get("default"))
            _extend(limits, "defaultRequest", limits.get("min"))


def _extend(limits: Object, key: str, more: dict[str, str] | None) -> None:
    if more:
        amounts = {**more, **(limits.get(key) or {})}
        put(limits, key, dict(sorted(amounts.items())), _LIMITS_TAIL)


def fill_quota(quota: Object) -> None:
    """Amounts."""
    round_up(quota["spec"], "hard")
    round_up(quota["status"], "hard", "used")
