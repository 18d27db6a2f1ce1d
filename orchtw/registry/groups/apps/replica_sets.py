"""Replica sets, and the rules of templates that deployments share."""

from __future__ import annotations

from orchtw.errors import Cause
from orchtw.naming.naming import Naming
from orchtw.registry.groups.core.controller_rules import (
    empty_selector_causes,
    lasting_pod_causes,
    meaning,
    shared_disk_causes,
    unselected_causes,
    validate_replica_status,
    warn_of_pods,
)
from orchtw.registry.groups.core.pod_templates import set_pod_template_defaults
from orchtw.registry.kind import KindRecord
from orchtw.registry.traits import SPEC
from orchtw.rules.selectors import LabelSelector
from orchtw.schema.tables import cells_workloads
from orchtw.values.causes import invalid
from orchtw.values.go_literals import SELECTOR, shown
from orchtw.wire.objects import Object


def set_replica_set_defaults(replica_set: Object) -> None:
    """Fill in the defaults of the template; all others are declared."""
    set_pod_template_defaults(replica_set["spec"])


def replicated_pod_causes(spec: Object, selector: LabelSelector) -> list[Cause]:
    """Return the causes for a template that the selector misses, that may not run twice, or that does not run for
    ever.
    """
    causes = [] if selector.empty else unselected_causes(spec, selector)
    if (spec.get("replicas") or 0) > 1:
        causes += shared_disk_causes(spec)
    return causes + lasting_pod_causes(spec, "ReplicaSet")


def validate_replica_set(new: Object, old: Object | None, naming: Naming) -> list[Cause]:
    """Validate that selector and template fit each other."""
    spec = new["spec"]
    causes = empty_selector_causes(spec, "deployment")
    if (selector := meaning(spec.get("selector"))) is None:
        return [*causes, invalid("spec.selector", shown(SELECTOR, spec.get("selector")), "invalid label selector")]
    return causes + replicated_pod_causes(spec, selector)


REPLICA_SET = KindRecord(
    group="apps",
    kind="ReplicaSet",
    generation=SPEC,
    set_defaults=set_replica_set_defaults,
    validate=validate_replica_set,
    validate_status=validate_replica_status,
    warn=warn_of_pods,
    cells=cells_workloads.replica_set,
)
