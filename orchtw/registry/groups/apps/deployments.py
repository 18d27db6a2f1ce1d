"""Record and rules of Deployments."""

from __future__ import annotations

import re
from typing import Final

from orchtw.errors import Cause
from orchtw.naming.naming import Naming
from orchtw.registry.groups.apps.replica_sets import replicated_pod_causes
from orchtw.registry.groups.apps.rolling_updates import ROLLING, set_rolling_defaults
from orchtw.registry.groups.core.controller_rules import (
    collision_causes,
    count_causes,
    empty_selector_causes,
    meaning,
    warn_of_pods,
)
from orchtw.registry.groups.core.pod_templates import set_pod_template_defaults
from orchtw.registry.kind import KindRecord
from orchtw.registry.traits import SPEC
from orchtw.schema.tables import cells_workloads
from orchtw.values.causes import NOT_NEGATIVE, Literal, forbidden, invalid, not_supported, required
from orchtw.values.go_literals import SELECTOR, as_amount, as_text, pointer, shown, struct
from orchtw.values.int_or_percent import amount, part_causes, share_causes
from orchtw.wire.objects import Object

_ROLLING_KIND = "apps.RollingUpdateDeployment"
_SHOWN = struct(
    "apps.DeploymentStrategy",
    Type=("type", as_text),
    RollingUpdate=("rollingUpdate", pointer(_ROLLING_KIND, struct(
        _ROLLING_KIND, MaxUnavailable=("maxUnavailable", as_amount), MaxSurge=("maxSurge", as_amount)
    ))),
)  # fmt: skip

RECREATE: Final = "Recreate"
ROLLBACK: Final = "deprecated.deployment.rollback.to"
"""Annotation for the rollback of older API versions: the revision to go back to, 0 for the last one."""

_STRATEGY = "spec.strategy"
_INTEGER = re.compile("[+-]?[0-9]{1,19}")
_COUNTS = ("updatedReplicas", "readyReplicas", "availableReplicas")


def set_deployment_defaults(deployment: Object) -> None:
    """Fill in a rolling update of a quarter of the pods at a time."""
    spec = deployment["spec"]
    set_rolling_defaults(spec["strategy"], "25%", "25%")
    set_pod_template_defaults(spec)


def validate_deployment(new: Object, old: Object | None, naming: Naming) -> list[Cause]:
    """Validate that selector, template, strategy and deadlines fit each other."""
    spec = new["spec"]
    causes = empty_selector_causes(spec, "deployment")
    if (selector := meaning(spec.get("selector"))) is None:
        causes.append(invalid("spec.selector", shown(SELECTOR, spec.get("selector")), "invalid label selector"))
    else:
        causes += replicated_pod_causes(spec, selector)
    causes += _strategy_causes(spec.get("strategy") or {})
    deadline = spec.get("progressDeadlineSeconds")
    if deadline is not None and deadline <= (spec.get("minReadySeconds") or 0):
        causes.append(invalid("spec.progressDeadlineSeconds", deadline, "must be greater than minReadySeconds"))
    return causes + _rollback_causes(new["metadata"].get("annotations") or {})


def _strategy_causes(strategy: Object) -> list[Cause]:
    kind, rolling = strategy.get("type", ""), strategy.get("rollingUpdate")
    if kind == RECREATE:
        detail = f"may not be specified when strategy `type` is '{RECREATE}'"
        return [] if rolling is None else [forbidden(f"{_STRATEGY}.rollingUpdate", detail)]
    if kind != ROLLING:
        return [not_supported(_STRATEGY, shown(_SHOWN, strategy), (RECREATE, ROLLING))]
    if rolling is None:
        return [required(f"{_STRATEGY}.rollingUpdate", "this should be defaulted and never be nil")]
    return _rolling_causes(f"{_STRATEGY}.rollingUpdate", rolling)


def _rolling_causes(field: str, rolling: Object) -> list[Cause]:
    down, surge = rolling.get("maxUnavailable"), rolling.get("maxSurge")
    causes = share_causes(f"{field}.maxUnavailable", down) + share_causes(f"{field}.maxSurge", surge)
    if not amount(down) and not amount(surge):
        why = "may not be 0 when `maxSurge` is 0"
        causes.append(invalid(f"{field}.maxUnavailable", Literal(as_amount(down)), why))
    return causes + part_causes(f"{field}.maxUnavailable", down)


def _rollback_causes(annotations: dict[str, str]) -> list[Cause]:
    revision = annotations.get(ROLLBACK)
    if revision is None:
        return []
    if not _INTEGER.fullmatch(revision):
        return [invalid(f"metadata.annotations[{ROLLBACK}]", revision, "must be an integer")]
    if int(revision) < 0:
        return [invalid("spec.rollback.version", int(revision), NOT_NEGATIVE)]
    return []


def validate_deployment_status(new: Object, old: Object, naming: Naming) -> list[Cause]:
    """Validate that the counts fit each other."""
    status = new.get("status") or {}
    causes = count_causes(status, _COUNTS, "cannot be greater than readyReplicas")
    return causes + collision_causes(status, old.get("status") or {})


DEPLOYMENT = KindRecord(
    group="apps",
    kind="Deployment",
    generation=(*SPEC, ("metadata", "annotations")),
    status_ignores=("spec", "metadata.labels"),
    set_defaults=set_deployment_defaults,
    validate=validate_deployment,
    validate_status=validate_deployment_status,
    warn=warn_of_pods,
    cells=cells_workloads.deployment,
)
