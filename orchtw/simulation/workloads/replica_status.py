"""Status of ReplicaSets and ReplicationControllers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from orchtw.simulation.workloads.conditions import condition, find, without
from orchtw.simulation.workloads.pods import PodView
from orchtw.wire.objects import Object

TERMINATING_GATE: Final = "DeploymentReplicaSetTerminatingReplicas"
FAILURE: Final = "ReplicaFailure"


def replica_status(owner: Object, pods: Sequence[PodView], failed: tuple[str, str] | None, now: float) -> Object:
    """Return the status of an owner with these pods, `now` in seconds since the epoch.

    `failed` is the reason (FailedCreate, FailedDelete) and the message of a failure to create or delete pods.
    """
    spec, old = owner["spec"], owner.get("status") or {}
    labels = ((spec.get("template") or {}).get("metadata") or {}).get("labels") or {}
    active = [pod for pod in pods if pod.active]
    min_ready_s = spec.get("minReadySeconds") or 0
    status: Object = {
        "replicas": len(active),
        "fullyLabeledReplicas": sum(labels.items() <= pod.labels.items() for pod in active),
        "readyReplicas": sum(pod.ready for pod in active),
        "availableReplicas": sum(pod.available(min_ready_s, now) for pod in active),
        "terminatingReplicas": sum(pod.terminating for pod in pods),
        "observedGeneration": owner["metadata"].get("generation", 0),
        "conditions": _conditions(old, failed, now),
    }
    return status


def _conditions(old: Object, failed: tuple[str, str] | None, now: float) -> list[Object]:
    """Return the conditions, with the failure as long as there is one; that of an earlier time stays."""
    conditions = old.get("conditions") or []
    if failed is None:
        return without(conditions, FAILURE)
    known = find(old, FAILURE)
    if known is not None and known["reason"] == failed[0]:
        return list(conditions)
    return [*without(conditions, FAILURE), condition(FAILURE, "True", *failed, now)]
