"""Replication controllers, and the labels that jobs too default from their template."""

from __future__ import annotations

from orchtw.errors import Cause
from orchtw.naming.naming import Naming
from orchtw.registry.emission_order import put
from orchtw.registry.groups.core.controller_rules import (
    labels_of,
    lasting_pod_causes,
    shared_disk_causes,
    unselected_causes,
    validate_replica_status,
    warn_of_pods,
)
from orchtw.registry.groups.core.pod_templates import set_pod_template_defaults
from orchtw.registry.kind import KindRecord
from orchtw.registry.traits import SPEC
from orchtw.rules.selectors import selector_of_object
from orchtw.schema.tables import cells_workloads
from orchtw.wire.objects import Object

LABELS_TAIL = ("labels", "annotations", "ownerReferences", "finalizers", "clusterName", "managedFields")
"""Keys of metadata in emission order, from the labels."""


def set_replication_controller_defaults(controller: Object) -> None:
    """Fill in labels and selector from the template where they are not given."""
    spec = controller["spec"]
    labels = labels_of(spec)
    if labels:
        if not spec.get("selector"):
            put(spec, "selector", dict(labels), ("selector", "template"))
        label(controller, labels)
    set_pod_template_defaults(spec)


def label(obj: Object, labels: dict[str, str]) -> None:
    """Give `labels` to an object that has none."""
    meta = obj["metadata"]
    if labels and not meta.get("labels"):
        put(meta, "labels", dict(labels), LABELS_TAIL)


def validate_replication_controller(new: Object, old: Object | None, naming: Naming) -> list[Cause]:
    """Validate that selector and template fit each other."""
    spec = new["spec"]
    if spec.get("template") is None:
        return []
    causes: list[Cause] = []
    if selector := spec.get("selector"):
        causes += unselected_causes(spec, selector_of_object({"matchLabels": selector}))
    if (spec.get("replicas") or 0) > 1:
        causes += shared_disk_causes(spec)
    return causes + lasting_pod_causes(spec, "ReplicationController")


REPLICATION_CONTROLLER = KindRecord(
    group="",
    kind="ReplicationController",
    generation=SPEC,
    orphans_in=("v1",),
    set_defaults=set_replication_controller_defaults,
    validate=validate_replication_controller,
    validate_status=validate_replica_status,
    warn=warn_of_pods,
    cells=cells_workloads.replication_controller,
)
