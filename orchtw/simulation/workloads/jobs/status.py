"""Status of a Job: counts, times and conditions."""

from __future__ import annotations

from collections.abc import Sequence

from orchtw.simulation.workloads.conditions import condition, find, without
from orchtw.simulation.workloads.jobs.indexes import indexes_text
from orchtw.simulation.workloads.jobs.outcome import COMPLETE, FAILED, JobEnding
from orchtw.simulation.workloads.jobs.tally import JobPods
from orchtw.values.times import rfc3339
from orchtw.wire.objects import Object

SUSPENDED = "Suspended"


def counts(tally: JobPods, *, terminating: bool) -> Object:
    """Return the counts of pods; `terminating`: with those that are being deleted."""
    spec = tally.job["spec"]
    made: Object = {
        "active": len(tally.active),
        "succeeded": tally.completed,
        "failed": len(tally.failed),
        "ready": tally.ready,
    }
    if terminating:
        made["terminating"] = len(tally.terminating)
    if tally.indexed:
        made["completedIndexes"] = indexes_text(tally.done)
        if spec.get("backoffLimitPerIndex") is not None:
            made["failedIndexes"] = indexes_text(tally.lost)
    return made


def probed(kind: str, value: str, reason: str, message: str, now: float) -> Object:
    """Return a condition of a Job, which also says when it was looked at."""
    made = condition(kind, value, reason, message, now)
    return {key: made[key] for key in made if made[key]} | {"lastProbeTime": rfc3339(int(now))}


def ended(status: Object, how: JobEnding, now: float) -> Object:
    """Return the status of a Job that has ended."""
    kinds: Sequence[str] = [kind for kind in (how.before, how.kind) if kind]
    conditions = list(status.get("conditions") or ())
    for kind in kinds:
        conditions = [*without(conditions, kind), probed(kind, "True", how.reason, how.message, now)]
    made = {**status, "conditions": conditions}
    return {**made, "completionTime": rfc3339(int(now))} if how.kind == COMPLETE else made


def suspension(status: Object, suspend: bool, now: float) -> tuple[Object, bool]:
    """Return the status with the condition Suspended, and whether it changed; a resumed Job starts anew."""
    known = find(status, SUSPENDED)
    if (known is not None and known["status"] == "True") == suspend:
        return status, False
    conditions = without(status.get("conditions") or (), SUSPENDED)
    if suspend:
        made = probed(SUSPENDED, "True", "JobSuspended", "Job suspended", now)
        return {**status, "conditions": [*conditions, made]}, True
    made = probed(SUSPENDED, "False", "JobResumed", "Job resumed", now)
    return {**status, "conditions": [*conditions, made], "startTime": rfc3339(int(now))}, True


def ending_of(job: Object) -> Object | None:
    """Return the condition with which a Job ended, or None."""
    status = job.get("status") or {}
    found = (find(status, kind) for kind in (COMPLETE, FAILED))
    return next((each for each in found if each is not None and each["status"] == "True"), None)
