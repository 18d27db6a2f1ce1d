"""Status of StatefulSets: counts of pods by readiness and revision."""

from __future__ import annotations

from collections.abc import Sequence

from orchtw.registry.groups.apps.rolling_updates import ROLLING
from orchtw.simulation.workloads.hashes import REVISION_HASH
from orchtw.simulation.workloads.pods import PodView
from orchtw.wire.objects import Object


def stateful_status(owner: Object, pods: Sequence[PodView], current: str, update: str, now: float) -> Object:
    """Return the status of a StatefulSet with these pods; `current` and `update` are names of revisions.

    Once all pods are of the new revision and ready, it is the current one.
    """
    min_ready_s = owner["spec"].get("minReadySeconds") or 0
    ready = [pod for pod in pods if pod.running_and_ready]
    status: Object = {
        "observedGeneration": owner["metadata"].get("generation", 0),
        "replicas": len(pods),
        "readyReplicas": len(ready),
        "availableReplicas": sum(pod.available(min_ready_s, now) for pod in ready),
        "currentReplicas": _of_revision(pods, current),
        "updatedReplicas": _of_revision(pods, update),
        "currentRevision": current,
        "updateRevision": update,
        "collisionCount": (owner.get("status") or {}).get("collisionCount") or 0,
    }
    if conditions := (owner.get("status") or {}).get("conditions"):
        status["conditions"] = conditions
    rolls = owner["spec"]["updateStrategy"].get("type") == ROLLING
    if rolls and status["updatedReplicas"] == len(pods) == len(ready):
        status["currentReplicas"], status["currentRevision"] = status["updatedReplicas"], update
    return status


def _of_revision(pods: Sequence[PodView], revision: str) -> int:
    return sum(bool(pod.phase) and not pod.terminating and pod.labels.get(REVISION_HASH) == revision for pod in pods)
