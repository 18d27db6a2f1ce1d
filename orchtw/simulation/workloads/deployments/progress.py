"""Conditions of Deployments: Available, Progressing, ReplicaFailure."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from orchtw.simulation.workloads.conditions import condition, find, without
from orchtw.simulation.workloads.deployments.sets import max_unavailable, size_of
from orchtw.simulation.workloads.replica_status import FAILURE
from orchtw.values.times import parse_time, rfc3339
from orchtw.wire.objects import Object

AVAILABLE: Final = "Available"
PROGRESSING: Final = "Progressing"
PAUSED: Final = "DeploymentPaused"
RESUMED: Final = "DeploymentResumed"
TIMED_OUT: Final = "ProgressDeadlineExceeded"
COMPLETE: Final = "NewReplicaSetAvailable"
CREATED: Final = "NewReplicaSetCreated"
FOUND: Final = "FoundNewReplicaSet"
UPDATED: Final = "ReplicaSetUpdated"
NOT_CREATED: Final = "ReplicaSetCreateError"

_NO_DEADLINE: Final = (1 << 31) - 1


def deadline_s(deployment: Object) -> int | None:
    """Return the seconds within which an update must get on; None: there is no limit."""
    deadline: int | None = deployment["spec"].get("progressDeadlineSeconds")
    return None if deadline == _NO_DEADLINE else deadline


def with_condition(status: Object, kind: str, value: str, reason: str, message: str, now: float) -> Object:
    """Return a status with a condition; one of the same value and reason stays as it is."""
    known = find(status, kind)
    if known is not None and (known["status"], known.get("reason")) == (value, reason):
        return status
    made = {**condition(kind, value, reason, message, now), "lastUpdateTime": rfc3339(int(now))}
    if known is not None and known["status"] == value and known.get("lastTransitionTime"):
        made["lastTransitionTime"] = known["lastTransitionTime"]
    return {**status, "conditions": [*without(status.get("conditions") or (), kind), made]}


def without_condition(status: Object, kind: str) -> Object:
    """Return a status without the condition of that type."""
    return {**status, "conditions": without(status.get("conditions") or (), kind)}


def with_availability(deployment: Object, status: Object, now: float) -> Object:
    """Return a status that says whether enough pods are available."""
    if status["availableReplicas"] >= size_of(deployment) - max_unavailable(deployment):
        text = "Deployment has minimum availability."
        return with_condition(status, AVAILABLE, "True", "MinimumReplicasAvailable", text, now)
    text = "Deployment does not have minimum availability."
    return with_condition(status, AVAILABLE, "False", "MinimumReplicasUnavailable", text, now)


def is_complete(deployment: Object, status: Object) -> bool:
    """Report whether all pods are of the present template and available, and there are no others."""
    wanted = size_of(deployment)
    counts = [status.get(field) or 0 for field in ("updatedReplicas", "replicas", "availableReplicas")]
    generation = deployment["metadata"].get("generation", 0)
    return counts == [wanted] * 3 and (status.get("observedGeneration") or 0) >= generation


def _has_progressed(old: Object, new: Object) -> bool:
    """Report whether there are more new, fewer old, more ready or more available pods than before."""

    def count(status: Object, field: str) -> int:
        return status.get(field) or 0

    def outdated(status: Object) -> int:
        return count(status, "replicas") - count(status, "updatedReplicas")

    grown = ("updatedReplicas", "readyReplicas", "availableReplicas")
    return outdated(new) < outdated(old) or any(count(new, field) > count(old, field) for field in grown)


def has_timed_out(deployment: Object, status: Object, now: float) -> bool:
    """Report whether the update has not got on for longer than its deadline."""
    known, limit_s = find(status, PROGRESSING), deadline_s(deployment)
    if known is None or limit_s is None or known.get("reason") == COMPLETE:
        return False
    return known.get("reason") == TIMED_OUT or _updated(known) + limit_s < now


def with_progress(deployment: Object, new: Object | None, status: Object, now: float) -> Object:
    """Return a status that says how the update of a Deployment to its `new` ReplicaSet gets on."""
    if deadline_s(deployment) is None:
        return without_condition(status, PROGRESSING)
    old = deployment.get("status") or {}
    known = find(old, PROGRESSING)
    if (
        known is not None
        and known.get("reason") == COMPLETE
        and status["replicas"] == status["updatedReplicas"]
    ):
        return status
    subject = _subject(deployment, new)
    if is_complete(deployment, status):
        return with_condition(status, PROGRESSING, "True", COMPLETE, f"{subject} has successfully progressed.", now)
    if _has_progressed(old, status):
        return _advanced(status, f"{subject} is progressing.", now)
    if has_timed_out(deployment, status, now):
        return with_condition(status, PROGRESSING, "False", TIMED_OUT, f"{subject} has timed out progressing.", now)
    return status


def _subject(deployment: Object, new: Object | None) -> str:
    if new is None:
        return f'Deployment "{deployment["metadata"]["name"]}"'
    return f'ReplicaSet "{new["metadata"]["name"]}"'


def _advanced(status: Object, message: str, now: float) -> Object:
    """Return a status that has got on just now, which its time shows even where it had got on before."""
    known = find(status, PROGRESSING)
    made = with_condition(without_condition(status, PROGRESSING), PROGRESSING, "True", UPDATED, message, now)
    if known is not None and known["status"] == "True":
        made["conditions"][-1]["lastTransitionTime"] = known["lastTransitionTime"]
    return made


def with_failures(status: Object, sets: Sequence[Object], new: Object | None) -> Object:
    """Return a status with the failure of the new ReplicaSet to make pods, or else that of another one."""
    for each in (*([] if new is None else [new]), *sets):
        failure = find(each.get("status") or {}, FAILURE)
        if failure is not None:
            copied = {**failure, "lastUpdateTime": failure["lastTransitionTime"]}
            return {**status, "conditions": [*without(status.get("conditions") or (), FAILURE), copied]}
    return without_condition(status, FAILURE)


def stuck_in_s(deployment: Object, status: Object, now: float) -> float | None:
    """Return the seconds after which to see whether the update has timed out; None: it is done, or has."""
    known, limit_s = find(status, PROGRESSING), deadline_s(deployment)
    if known is None or limit_s is None or known.get("reason") == TIMED_OUT or is_complete(deployment, status):
        return None
    return max(0.0, _updated(known) + limit_s - now) + 1.0


def _updated(known: Object) -> float:
    stamp = known.get("lastUpdateTime") or known.get("lastTransitionTime")
    return float(parse_time(stamp)[0]) if stamp else 0.0
