"""Jobs of a CronJob that have ended, and which of them are kept."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from orchtw.simulation.workloads.jobs.outcome import COMPLETE
from orchtw.simulation.workloads.jobs.status import ending_of
from orchtw.wire.objects import Object


def expired(cron_job: Object, jobs: Iterable[Object]) -> list[Object]:
    """Return the ended Jobs beyond the limits, the oldest first."""
    spec = cron_job["spec"]
    successful: list[Object] = []
    failed: list[Object] = []
    for job in jobs:
        end = ending_of(job)
        if end is not None:
            (successful if end["type"] == COMPLETE else failed).append(job)
    return [
        *_oldest(successful, spec.get("successfulJobsHistoryLimit")),
        *_oldest(failed, spec.get("failedJobsHistoryLimit")),
    ]


def _oldest(jobs: Sequence[Object], limit: int | None) -> list[Object]:
    if limit is None:
        return []
    return sorted(jobs, key=_age)[: max(0, len(jobs) - limit)]


def _age(job: Object) -> tuple[str, str]:
    return (job.get("status") or {}).get("startTime") or "", job["metadata"]["name"]


def last_success(jobs: Iterable[Object], known: str | None) -> str | None:
    """Return the time at which the last Job completed, `known` if it is later than those of the Jobs."""
    times = [time for job in jobs if (time := (job.get("status") or {}).get("completionTime"))]
    return max([*times, *([known] if known else [])], default=None)
