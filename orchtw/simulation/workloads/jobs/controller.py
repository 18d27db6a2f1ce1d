"""Controller of Jobs (reference SIM-46)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from orchtw.client.concurrency import each
from orchtw.client.namespace_end import ends_with_namespace
from orchtw.errors import StatusError
from orchtw.simulation.workloads.batches import AT_A_TIME, slow_start
from orchtw.simulation.workloads.jobs.demand import Demand, demand
from orchtw.simulation.workloads.jobs.outcome import COMPLETE, JobEnding, deadline_left_s, outcome
from orchtw.simulation.workloads.jobs.pod_making import PodMaking
from orchtw.simulation.workloads.jobs.status import counts, ended, ending_of, suspension
from orchtw.simulation.workloads.jobs.tally import JobPods
from orchtw.simulation.workloads.pods import PodView
from orchtw.simulation.workloads.workload import NORMAL, WARNING, Workload
from orchtw.simulation.world import World
from orchtw.values.times import rfc3339
from orchtw.wire.objects import Object

MANAGER: Final = "orch.io/job-controller"
"""Name of this controller in managedBy."""
REPLACEMENT_GATE: Final = "JobPodReplacementPolicy"


class JobController(Workload):
    """job controller.

    Pods are counted as long as they exist, without finalizers: the release leaves its gate for these off.
    """

    name = "job"
    account = "job-controller"
    component = "job-controller"
    group = "batch"
    plural = "jobs"
    kind = "Job"

    def __init__(self, world: World) -> None:
        super().__init__(world)
        self._making = PodMaking(self.naming, world)
        self._manager = self.naming.translate(MANAGER)
        self._counts_terminating = world.enabled(REPLACEMENT_GATE)

    async def sync_owner(self, key: str, owner: Object) -> float | None:
        """Create or delete pods of a Job, or end it; then write its status."""
        if ending_of(owner) is not None or owner["spec"].get("managedBy") not in (None, "", self._manager):
            return None
        pods, now = await self.claimed(owner), self.clock.now()
        status = owner.get("status") or {}
        if not status.get("startTime") and not owner["spec"].get("suspend"):
            status = {**status, "startTime": rfc3339(int(now))}
            owner = {**owner, "status": status}
        tally = self._tally(owner, pods)
        end = outcome(tally, now)
        if end is not None:
            await self._finish(owner, tally, end)
            return None
        return await self._go_on(owner, tally)

    def _tally(self, job: Object, pods: Sequence[PodView]) -> JobPods:
        return JobPods(job, self.pods.objects(pods), self._making.annotation)

    def _counted(self, job: Object) -> JobPods:
        """Return the tally of the pods as they are now."""
        selector = self.selector(job)
        owned = self.pods.owned(job["metadata"]["uid"])
        return self._tally(job, [pod for pod in owned if selector.matches(pod.labels)])

    async def _finish(self, job: Object, tally: JobPods, end: JobEnding) -> None:
        """Delete the pods that are left, and write how the Job ended."""
        cut_off = len(tally.active)
        await self._delete(job, tally.active)
        left = self._counted(job)
        status = {**job["status"], **counts(left, terminating=self._counts_terminating)}
        if end.kind != COMPLETE:
            status["failed"] = len(tally.failed) + cut_off
        status = ended(status, end, self.clock.now())
        if not await self.write_status(job, status):
            return
        if end.kind == COMPLETE:
            await self.tell(job, NORMAL, "Completed", "Job completed")
        else:
            await self.tell(job, WARNING, end.reason, end.message)

    async def _go_on(self, job: Object, tally: JobPods) -> float | None:
        """Bring the pods to what is asked for, and write the status. Raises the first refusal of a pod."""
        asked, failure = demand(tally, self.clock.now()), None
        if not job["metadata"].get("deletionTimestamp"):
            try:
                await self._meet(job, asked)
            except StatusError as error:
                failure = error
        now, suspend = self.clock.now(), bool(job["spec"].get("suspend"))
        after = self._counted(job)
        status = {**(job.get("status") or {}), **counts(after, terminating=self._counts_terminating)}
        status, changed = suspension(status, suspend, now)
        await self.write_status(job, status)
        if changed:
            words = ("Suspended", "Job suspended") if suspend else ("Resumed", "Job resumed")
            await self.tell(job, NORMAL, *words)
        if failure is not None:
            raise failure
        waits = (asked.wait_s, deadline_left_s({**job, "status": status}, now))
        return min((each for each in waits if each is not None), default=None)

    async def _meet(self, job: Object, asked: Demand) -> None:
        if asked.surplus:
            await self._delete(job, asked.surplus)
        if asked.missing:
            await self._create(job, asked.missing)

    async def _create(self, job: Object, indexes: Sequence[int | None]) -> None:
        """Create a pod for each index. Raises the first refusal, but none of a namespace that is being deleted."""
        make = self._making.maker(job, self.claimer.reference(job))

        async def create(number: int) -> None:
            await self.create_told(job, make(indexes[number]))

        try:
            await slow_start(len(indexes), create)
        except StatusError as error:
            if not ends_with_namespace(error):
                raise

    async def _delete(self, job: Object, pods: Sequence[Object]) -> None:
        async def delete(pod: PodView) -> None:
            await self.delete_told(job, pod)

        keys = (f"{pod['metadata']['namespace']}/{pod['metadata']['name']}" for pod in pods)
        views = [view for key in keys if (view := self.pods.get(key)) is not None]
        await each(views, delete, AT_A_TIME)
