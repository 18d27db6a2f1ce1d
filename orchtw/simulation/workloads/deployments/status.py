"""Status of Deployments: counts of pods."""

from __future__ import annotations

from collections.abc import Sequence

from orchtw.simulation.workloads.deployments.progress import with_availability
from orchtw.simulation.workloads.deployments.sets import asked, counted
from orchtw.wire.objects import Object


def deployment_status(
    deployment: Object, sets: Sequence[Object], new: Object | None, now: float, *, terminating: bool
) -> Object:
    """Return the counts of a Deployment's pods, and whether enough are available, `now` in seconds since the epoch.

    `terminating`: pods that are being deleted are counted as well.
    """
    old = deployment.get("status") or {}
    available = counted(sets, "availableReplicas")
    status: Object = {
        "observedGeneration": deployment["metadata"].get("generation", 0),
        "replicas": counted(sets, "replicas"),
        "updatedReplicas": counted([new], "replicas"),
        "readyReplicas": counted(sets, "readyReplicas"),
        "availableReplicas": available,
        "unavailableReplicas": max(0, asked(sets) - available),
        "conditions": list(old.get("conditions") or ()),
    }
    if terminating:
        status["terminatingReplicas"] = counted(sets, "terminatingReplicas")
    if old.get("collisionCount") is not None:
        status["collisionCount"] = old["collisionCount"]
    return with_availability(deployment, status, now)
