"""Controller of CronJobs (reference SIM-47)."""

from __future__ import annotations

from collections.abc import Sequence
from email.utils import formatdate
from typing import Final

import orjson

from orchtw.client.interface import BACKGROUND, Item
from orchtw.client.namespace_end import ends_with_namespace
from orchtw.client.work_queue import Retry
from orchtw.controllers.controller import WorkSource
from orchtw.errors import AlreadyExists, NotFound, StatusError
from orchtw.rules.cron import parse_schedule, zone_error
from orchtw.simulation.controller import SimulatedController
from orchtw.simulation.workloads.conditions import same
from orchtw.simulation.workloads.cron.history import expired, last_success
from orchtw.simulation.workloads.cron.times import MANY, Times
from orchtw.simulation.workloads.jobs.status import ending_of
from orchtw.simulation.workloads.owners import by_controller, controller_of, controller_reference
from orchtw.simulation.workloads.workload import NORMAL, WARNING
from orchtw.simulation.world import World
from orchtw.values.times import parse_time, rfc3339
from orchtw.wire.objects import Object

KIND: Final = "CronJob"


class CronJobController(SimulatedController):
    """cronjob controller, keyed by CronJob."""

    name = "cronjob"
    account = "cronjob-controller"
    component = "cronjob-controller"

    def __init__(self, world: World) -> None:
        super().__init__(world)
        self._cron_jobs = world.informer("batch", "cronjobs")
        self._jobs = world.informer("batch", "jobs")
        self._children = self._jobs.index("controller", by_controller)
        self._created: dict[str, float] = {}
        """Simulated times of the CronJobs made since the start, by uid: their own timestamps are of real time."""
        self._cron_jobs.handle(self._cron_job_seen)
        self._jobs.handle(self._job_seen)

    @property
    def sources(self) -> Sequence[WorkSource]:
        """Return the informers of Jobs and CronJobs."""
        return (self._jobs, self._cron_jobs)

    async def sync(self, key: str) -> float | None:
        """Start the Job that is due, and tidy up, as `SimulatedController.sync`."""
        if not self.synced:
            raise Retry("not all informers have listed")
        cron_job = self._cron_jobs.get(key)
        if cron_job is None:
            return None
        cron_job = await self._follow(cron_job)
        await self._tidy(cron_job)
        if cron_job["metadata"].get("deletionTimestamp") or cron_job["spec"].get("suspend"):
            return None
        times = await self._times(cron_job)
        if times is None:
            return None
        await self._start_due(cron_job, times)
        following = times.after(self.clock.now())
        return None if following is None else following - self.clock.now()

    def _jobs_of(self, cron_job: Object) -> list[Object]:
        return list(self._jobs.of(self._children.keys(cron_job["metadata"]["uid"])))

    async def _follow(self, cron_job: Object) -> Object:
        """Bring the list of active Jobs up to date; return the CronJob as it is then."""
        status = cron_job.get("status") or {}
        active = {each["uid"]: each for each in status.get("active") or ()}
        jobs = {job["metadata"]["uid"]: job for job in self._jobs_of(cron_job)}
        for uid, job in jobs.items():
            end, name = ending_of(job), job["metadata"]["name"]
            if end is None and uid not in active:
                text = f"Saw a job that the controller did not create or forgot: {name}"
                await self._tell(cron_job, WARNING, "UnexpectedJob", text)
            elif end is not None and active.pop(uid, None) is not None:
                text = f"Saw completed job: {name}, status: {end['type']}"
                await self._tell(cron_job, NORMAL, "SawCompletedJob", text)
        for uid in [uid for uid in active if uid not in jobs]:
            await self._tell(cron_job, NORMAL, "MissingJob", f"Active job went missing: {active.pop(uid)['name']}")
        made = {**status, "active": list(active.values())}
        success = last_success(jobs.values(), status.get("lastSuccessfulTime"))
        if success is not None:
            made["lastSuccessfulTime"] = success
        return await self._write(cron_job, made)

    async def _tidy(self, cron_job: Object) -> None:
        """Delete ended Jobs beyond the limits of the history."""
        for job in expired(cron_job, self._jobs_of(cron_job)):
            await self._delete(cron_job, job["metadata"]["name"])

    async def _times(self, cron_job: Object) -> Times | None:
        """Parse the schedule and time zone of a CronJob; None, after an event, if either is invalid."""
        spec = cron_job["spec"]
        schedule, zone = spec["schedule"], spec.get("timeZone") or ""
        try:
            parsed = parse_schedule(schedule)
        except ValueError as error:
            text = f"unparseable schedule: {schedule} : {error}"
            await self._tell(cron_job, WARNING, "UnparseableCronJobSchedule", text)
            return None
        if error_text := zone_error(zone):
            await self._tell(cron_job, WARNING, "UnknownTimeZone", f'invalid timeZone: "{zone}": {error_text}')
            return None
        if parsed.zone:
            text = f'CRON_TZ or TZ used in schedule "{schedule}" is not officially supported'
            await self._tell(cron_job, WARNING, "UnsupportedSchedule", text)
        return Times(parsed, zone)

    async def _start_due(self, cron_job: Object, times: Times) -> None:
        """Start the Job of the last time that was missed, if it may start."""
        due = await self._due_time(cron_job, times)
        if due is None:
            return
        deadline, policy = cron_job["spec"].get("startingDeadlineSeconds"), cron_job["spec"].get("concurrencyPolicy")
        if deadline is not None and due + deadline < self.clock.now():
            when = formatdate(due, usegmt=True).replace("GMT", "+0000")
            await self._tell(cron_job, WARNING, "MissSchedule", f"Missed scheduled time to start a job: {when}")
            return
        active = (cron_job.get("status") or {}).get("active") or []
        if any(each["name"] == _job_name(cron_job, due) for each in active):
            return
        if active and policy == "Forbid":
            text = "Not starting job because prior execution is running and concurrency policy is Forbid"
            await self._tell(cron_job, NORMAL, "JobAlreadyActive", text)
            return
        if policy == "Replace":
            cron_job = await self._replace(cron_job, active)
        await self._start(cron_job, due)

    async def _due_time(self, cron_job: Object, times: Times) -> int | None:
        """Return the time for which a Job is due; None if none is."""
        status, now, meta = cron_job.get("status") or {}, self.clock.now(), cron_job["metadata"]
        since = parse_time(status.get("lastScheduleTime") or meta["creationTimestamp"])[0]
        if not status.get("lastScheduleTime"):
            since = max(since, int(self._created.get(meta["uid"], 0)))
        deadline = cron_job["spec"].get("startingDeadlineSeconds")
        if deadline is not None:
            since = max(since, int(now) - deadline)
        due = times.latest(since, now)
        if due is not None and (missed := times.missed(since, now)) > MANY:
            text = (
                f"too many missed start times: {missed}. Set or decrease .spec.startingDeadlineSeconds or check "
                "clock skew"
            )
            await self._tell(cron_job, WARNING, "TooManyMissedTimes", text)
        return due

    async def _replace(self, cron_job: Object, active: Sequence[Object]) -> Object:
        """Delete the active Jobs; return the CronJob without them."""
        for each in active:
            await self._delete(cron_job, each["name"])
        return await self._write(cron_job, {**(cron_job.get("status") or {}), "active": []})

    async def _start(self, cron_job: Object, due: int) -> None:
        namespace = cron_job["metadata"]["namespace"]
        try:
            job = await self.client.create(self._jobs.resource, namespace, self._new_job(cron_job, due))
        except AlreadyExists:
            return
        except StatusError as error:
            if not ends_with_namespace(error):
                await self._tell(cron_job, WARNING, "FailedCreate", f"Error creating job: {error}")
            raise
        await self._jobs.seen(job)
        status = cron_job.get("status") or {}
        active = [*(status.get("active") or ()), self._active(job)]
        await self._write(cron_job, {**status, "active": active, "lastScheduleTime": rfc3339(due)})
        await self._tell(cron_job, NORMAL, "SuccessfulCreate", f"Created job {job['metadata']['name']}")

    def _new_job(self, cron_job: Object, due: int) -> Object:
        template = orjson.loads(orjson.dumps(cron_job["spec"]["jobTemplate"]))
        meta = template.get("metadata") or {}
        kept = {key: meta[key] for key in ("labels", "annotations") if meta.get(key)}
        owner = controller_reference(cron_job, self._cron_jobs.resource.api_version, KIND)
        name = _job_name(cron_job, due)
        return {"metadata": {"name": name, **kept, "ownerReferences": [owner]}, "spec": template["spec"]}

    def _active(self, job: Object) -> Object:
        """Return a Job as the list of active ones shows it."""
        meta = job["metadata"]
        return {
            "kind": "Job", "apiVersion": self._jobs.resource.api_version, "namespace": meta["namespace"],
            "name": meta["name"], "uid": meta["uid"], "resourceVersion": meta["resourceVersion"],
        }  # fmt: skip

    async def _delete(self, cron_job: Object, name: str) -> None:
        namespace = cron_job["metadata"]["namespace"]
        try:
            await self.client.delete(self._jobs.resource, namespace, name, BACKGROUND)
        except NotFound:
            return
        await self._tell(cron_job, NORMAL, "SuccessfulDelete", f"Deleted job {name}")

    async def _write(self, cron_job: Object, status: Object) -> Object:
        """Write a CronJob's status unless it is the same; return it as it is then. Raises Conflict (409), Retry."""
        if same(cron_job.get("status") or {}, status):
            return cron_job
        meta = cron_job["metadata"]
        changed = {**cron_job, "status": status}
        try:
            written = await self.client.update(
                self._cron_jobs.resource, meta["namespace"], meta["name"], changed, "status"
            )
        except NotFound:
            raise Retry(f"{meta['name']} has gone") from None
        await self._cron_jobs.seen(written)
        return written

    async def _tell(self, cron_job: Object, event_type: str, reason: str, message: str) -> None:
        about = self.reference(cron_job, self._cron_jobs.resource.api_version, KIND)
        await self.events.record(about, event_type, reason, message)

    def _cron_job_seen(self, old: Item | None, new: Item | None) -> None:
        if new is None:
            if old is not None:
                self._created.pop(self._cron_jobs.load(old)["metadata"]["uid"], None)
            return
        if old is None and self._cron_jobs.synced:
            self._created[self._cron_jobs.load(new)["metadata"]["uid"]] = self.clock.now()
        self.queue.add(new.key)

    def _job_seen(self, old: Item | None, new: Item | None) -> None:
        item = new or old
        owner = None if item is None else controller_of(self._jobs.load(item))
        if item is not None and owner is not None and owner["kind"] == KIND:
            self.queue.add(f"{item.namespace}/{owner['name']}")


def _job_name(cron_job: Object, due: int) -> str:
    """Return the name of the Job of a time: that of the CronJob and the time in minutes."""
    return f"{cron_job['metadata']['name']}-{due // 60}"
