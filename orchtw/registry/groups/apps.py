"""Workloads of the apps group."""

from __future__ import annotations

from orchtw.objects import Object
from orchtw.registry.emission_order import put
from orchtw.registry.groups.core.pod_templates import set_pod_template_defaults
from orchtw.registry.groups.core.volumes import set_claim_defaults
from orchtw.registry.kind import Kind
from orchtw.registry.traits import SPEC
from orchtw.schema.tables import cells_workloads

ROLLING = "RollingUpdate"
_GROUP = "apps"


def set_deployment_defaults(deployment: Object) -> None:
    """A quarter of the pods at a time is replaced."""
    spec = deployment["spec"]
    _set_rolling_defaults(spec["strategy"], "25%", "25%")
    set_pod_template_defaults(spec)


def set_daemon_set_defaults(daemon_set: Object) -> None:
    """One pod at a time is replaced, after it has gone."""
    spec = daemon_set["spec"]
    _set_rolling_defaults(spec["updateStrategy"], 1, 0)
    set_pod_template_defaults(spec)


def _set_rolling_defaults(strategy: Object, max_unavailable: int | str, max_surge: int | str) -> None:
    if strategy["type"] == ROLLING:
        given = strategy.get("rollingUpdate") or {}
        strategy["rollingUpdate"] = {"maxUnavailable": max_unavailable, "maxSurge": max_surge, **given}


def set_stateful_set_defaults(stateful_set: Object) -> None:
    """All pods are replaced; a set that names the type and no details keeps it so."""
    spec = stateful_set["spec"]
    strategy = spec["updateStrategy"]
    if not strategy.get("type"):
        put(strategy, "type", ROLLING, ("type", "rollingUpdate"))
        strategy.setdefault("rollingUpdate", {})
    if strategy["type"] == ROLLING and "rollingUpdate" in strategy:
        strategy["rollingUpdate"] = {"partition": 0, **strategy["rollingUpdate"]}
    set_pod_template_defaults(spec)
    for claim in spec.get("volumeClaimTemplates") or ():
        set_claim_defaults(claim)


def set_replica_set_defaults(replica_set: Object) -> None:
    """The template alone; the rest is declared."""
    set_pod_template_defaults(replica_set["spec"])


DEPLOYMENT = Kind(
    group=_GROUP,
    kind="Deployment",
    generation=(*SPEC, ("metadata", "annotations")),
    status_ignores=("spec", "metadata.labels"),
    set_defaults=set_deployment_defaults,
    cells=cells_workloads.deployment,
)
DAEMON_SET = Kind(
    group=_GROUP,
    kind="DaemonSet",
    generation=SPEC,
    set_defaults=set_daemon_set_defaults,
    cells=cells_workloads.daemon_set,
)
REPLICA_SET = Kind(
    group=_GROUP,
    kind="ReplicaSet",
    generation=SPEC,
    set_defaults=set_replica_set_defaults,
    cells=cells_workloads.replica_set,
)
STATEFUL_SET = Kind(
    group=_GROUP,
    kind="StatefulSet",
    generation=SPEC,
    set_defaults=set_stateful_set_defaults,
    cells=cells_workloads.stateful_set,
)
CONTROLLER_REVISION = Kind(group=_GROUP, kind="ControllerRevision", cells=cells_workloads.controller_revision)

KINDS = (CONTROLLER_REVISION, DAEMON_SET, DEPLOYMENT, REPLICA_SET, STATEFUL_SET)
