"""The end of a Job: whether its pods, its limits and its deadline say that it is over, and why."""

from __future__ import annotations

from typing import Final

import msgspec

from orchtw.simulation.workloads.jobs.indexes import parse_indexes
from orchtw.simulation.workloads.jobs.tally import JobPods
from orchtw.simulation.workloads.pods import restarts_of
from orchtw.values.times import parse_time
from orchtw.wire.objects import Object

COMPLETE: Final = "Complete"
FAILED: Final = "Failed"
FAILURE_TARGET: Final = "FailureTarget"
SUCCESS_CRITERIA: Final = "SuccessCriteriaMet"


class JobEnding(msgspec.Struct, frozen=True):
    """The condition with which a Job ends; `before`: the type of the condition that announces it, or empty."""

    kind: str
    reason: str = ""
    message: str = ""
    before: str = ""


def deadline_left_s(job: Object, now: float) -> float | None:
    """Return the seconds until a running Job has been active for too long; None: it may run for ever."""
    limit, start = job["spec"].get("activeDeadlineSeconds"), (job.get("status") or {}).get("startTime")
    if limit is None or not start or job["spec"].get("suspend"):
        return None
    return float(parse_time(start)[0] + limit - now)


def outcome(tally: JobPods, now: float) -> JobEnding | None:
    """Return how the Job ends now; None while it goes on."""
    return _failure(tally, now) or _success(tally)


def _failure(tally: JobPods, now: float) -> JobEnding | None:
    spec, left_s = tally.job["spec"], deadline_left_s(tally.job, now)
    if tally.fatal:
        return JobEnding(FAILED, "PodFailurePolicy", tally.fatal, FAILURE_TARGET)
    if len(tally.failed) > (spec.get("backoffLimit") or 0) or _restarted_too_often(tally):
        return JobEnding(FAILED, "BackoffLimitExceeded", "Job has reached the specified backoff limit")
    if left_s is not None and left_s <= 0:
        return JobEnding(FAILED, "DeadlineExceeded", "Job was active longer than specified deadline")
    return _failed_indexes(tally)


def _failed_indexes(tally: JobPods) -> JobEnding | None:
    spec = tally.job["spec"]
    if spec.get("backoffLimitPerIndex") is None:
        return None
    most = spec.get("maxFailedIndexes")
    if most is not None and len(tally.lost) > most:
        text = "Job has exceeded the specified maximal number of failed indexes"
        return JobEnding(FAILED, "MaxFailedIndexesExceeded", text, FAILURE_TARGET)
    if tally.lost and not tally.active and len(tally.lost) + len(tally.done) >= (spec.get("completions") or 0):
        return JobEnding(FAILED, "FailedIndexes", "Job has failed indexes", FAILURE_TARGET)
    return None


def _restarted_too_often(tally: JobPods) -> bool:
    """Report whether containers that restart in place have used up the limit."""
    spec = tally.job["spec"]
    if (spec["template"].get("spec") or {}).get("restartPolicy") != "OnFailure":
        return False
    restarts = sum(restarts_of(pod.get("status") or {}) for pod in tally.active)
    return restarts > 0 and restarts >= (spec.get("backoffLimit") or 0)


def _success(tally: JobPods) -> JobEnding | None:
    spec = tally.job["spec"]
    for number, rule in enumerate((spec.get("successPolicy") or {}).get("rules") or ()):
        if _meets(rule, tally.done):
            return JobEnding(COMPLETE, "SuccessPolicy", f"Matched rules at index {number}", SUCCESS_CRITERIA)
    completions = spec.get("completions")
    enough = tally.completed > 0 if completions is None else tally.completed >= completions
    return JobEnding(COMPLETE) if enough and not tally.active else None


def _meets(rule: Object, done: set[int]) -> bool:
    named, count = rule.get("succeededIndexes"), rule.get("succeededCount")
    found = done if named is None else done & parse_indexes(named)
    wanted = len(parse_indexes(named)) if count is None else count
    return len(found) >= wanted
