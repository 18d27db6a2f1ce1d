"""The pods of a Job, sorted by what they mean for it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from orchtw.simulation.workloads.jobs.failure_policy import FAIL_INDEX, FAIL_JOB, IGNORE, match
from orchtw.simulation.workloads.jobs.indexes import index_of, parse_indexes
from orchtw.values.times import parse_time
from orchtw.wire.objects import Object


class JobPods:
    """Pods and completion indexes of a Job.

    `annotation` holds the index of a pod. Failed pods that a rule lets the Job ignore are in none of the lists.
    """

    def __init__(self, job: Object, pods: Iterable[Object], annotation: str) -> None:
        self.job = job
        spec, status = job["spec"], job.get("status") or {}
        self.indexed = spec.get("completionMode") == "Indexed"
        self._annotation = annotation
        self.active: list[Object] = []
        self.terminating: list[Object] = []
        self.succeeded: list[Object] = []
        self.failed: list[Object] = []
        self.fatal = ""
        """Message of the first rule that fails the Job because of a pod; empty while the Job may go on."""
        self._condemned: set[int] = set()
        for pod in pods:
            self._sort(pod, spec.get("podFailurePolicy"))
        self.done = self._done()
        self.lost = self._lost() | parse_indexes(status.get("failedIndexes")) - self.done
        self.completed = len(self.done) if self.indexed else len(self.succeeded)

    def index(self, pod: Object) -> int | None:
        """Return the completion index of a pod."""
        return index_of(pod, self._annotation)

    @property
    def ready(self) -> int:
        """Number of active pods that are ready."""
        return sum(
            any(
                each["type"] == "Ready" and each["status"] == "True"
                for each in (pod.get("status") or {}).get("conditions") or ()
            )
            for pod in self.active
        )

    def _sort(self, pod: Object, policy: Object | None) -> None:
        phase = (pod.get("status") or {}).get("phase")
        if phase == "Succeeded":
            self.succeeded.append(pod)
        elif phase == "Failed":
            met = match(policy, pod)
            if met is not None and met.action == FAIL_JOB and not self.fatal:
                self.fatal = met.message
            if met is not None and met.action == FAIL_INDEX and (index := self.index(pod)) is not None:
                self._condemned.add(index)
            if met is None or met.action != IGNORE:
                self.failed.append(pod)
        elif pod["metadata"].get("deletionTimestamp"):
            self.terminating.append(pod)
        else:
            self.active.append(pod)

    def _done(self) -> set[int]:
        """Return the indexes that have completed."""
        if not self.indexed:
            return set()
        completions = self.job["spec"].get("completions") or 0
        found = {self.index(pod) for pod in self.succeeded}
        return {index for index in found if index is not None and index < completions}

    def _lost(self) -> set[int]:
        """Return the indexes that have failed for good."""
        limit = self.job["spec"].get("backoffLimitPerIndex")
        if limit is None:
            return set()
        counts = Counter(self.index(pod) for pod in self.failed)
        beyond = {index for index, count in counts.items() if index is not None and count > limit}
        return (beyond | self._condemned) - self.done


def ended_at(pod: Object) -> int:
    """Return the time at which a pod ended, in seconds since the epoch, as far as it can be told."""
    status, meta = pod.get("status") or {}, pod["metadata"]
    states = [(each.get("state") or {}).get("terminated") or {} for each in status.get("containerStatuses") or ()]
    times = [each["finishedAt"] for each in states if each.get("finishedAt")]
    if not times:
        times = [each["lastTransitionTime"] for each in status.get("conditions") or () if each["type"] == "Ready"]
    return max((parse_time(each)[0] for each in times if each), default=parse_time(meta["creationTimestamp"])[0])
