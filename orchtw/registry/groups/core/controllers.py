"""Replication controllers, and the labels that whatever makes pods takes from their template."""

from __future__ import annotations

from orchtw.objects import Object
from orchtw.registry.emission_order import put
from orchtw.registry.groups.core.pod_templates import set_pod_template_defaults
from orchtw.registry.kind import Kind
from orchtw.registry.traits import SPEC
from orchtw.schema.tables import cells_workloads


def set_replication_controller_defaults(controller: Object) -> None:
    """Labels and selector are those of the template where they are not given."""
    spec = controller["spec"]
    labels = template_labels(spec)
    if labels:
        if not spec.get("selector"):
            put(spec, "selector", dict(labels), ("selector", "template"))
        label(controller, labels)
    set_pod_template_defaults(spec)


def template_labels(spec: Object) -> dict[str, str]:
    """The labels of a spec's pod template."""
    template = spec.get("template") or {}
    return template.get("metadata", {}).get("labels") or {}


def label(obj: Object, labels: dict[str, str]) -> None:
    """Give `labels` to an object that has none."""
    meta = obj["metadata"]
    if labels and not meta.get("labels"):
        put(meta, "labels", dict(labels), ("labels", "annotations", "ownerReferences", "finalizers", "managedFields"))


REPLICATION_CONTROLLER = Kind(
    group="",
    kind="ReplicationController",
    generation=SPEC,
    orphans_in=("v1",),
    set_defaults=set_replication_controller_defaults,
    cells=cells_workloads.replication_controller,
)
