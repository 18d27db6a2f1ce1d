"""Controllers of CronJobs and of ended Jobs (reference SIM-47, SIM-49)."""
# covers: orchtw.simulation.workloads.cron.history
# covers: orchtw.simulation.workloads.jobs.ttl_after_finished

from __future__ import annotations

from typing import Any

from orchtw.simulation.workloads.cron.controller import CronJobController
from orchtw.simulation.workloads.jobs.ttl_after_finished import TTLAfterFinished
from orchtw.values.times import rfc3339
from orchtw.wire.objects import Object
from tests.simulation.workloads.case import WorkloadCase
from tests.simulation.workloads.jobs.test_controller import TEMPLATE

BATCH = "batch/v1"


class CronJobTests(WorkloadCase):
    made = (CronJobController, TTLAfterFinished)

    def begin(self, schedule: str = "* * * * *", **spec: Any) -> None:
        """Create the CronJob `tick`."""
        template = {"metadata": {"labels": {"a": "b"}}, "spec": {"template": TEMPLATE}}
        whole = {"schedule": schedule, "jobTemplate": template, **spec}
        self.create("cronjobs", {"metadata": {"name": "tick"}, "spec": whole}, BATCH)

    @property
    def jobs(self) -> list[Object]:
        """The Jobs, by name."""
        return self.all("jobs", BATCH)

    @property
    def status(self) -> Object:
        """The status of the CronJob."""
        return self.get("cronjobs", "tick", BATCH).get("status") or {}

    def wait(self, seconds: int) -> None:
        """Let time pass in steps of the schedule's grain."""
        for _ in range(seconds // 30):
            self.settle(30)

    def end(self, job: str, kind: str = "Complete") -> None:
        """End a Job with a condition."""
        now = rfc3339(int(self.clock.now()))
        condition = {"type": kind, "status": "True", "lastTransitionTime": now, "lastProbeTime": now}
        status: Object = {"conditions": [condition], "startTime": now}
        if kind == "Complete":
            status["completionTime"] = now
        self.merge("jobs", job, {"status": status}, BATCH, "status")

    def reasons(self) -> list[str]:
        """Reasons of the events about the CronJob."""
        return [reason for reason, _ in self.events("tick")]

    def test_created_later(self) -> None:
        """A new CronJob has missed no start, however far the simulated time is ahead of its timestamp."""
        self.settle(3600)
        self.begin(schedule="*/10 * * * *")
        self.assertEqual(self.jobs, [])

    def test_job(self) -> None:
        """Each minute a Job is made, named by the minute, and listed while it is active."""
        self.begin()
        self.wait(60)
        (job,) = self.jobs
        name = job["metadata"]["name"]
        self.assertTrue(name.removeprefix("tick-").isdecimal())
        self.assertEqual(job["metadata"]["labels"]["a"], "b")
        self.assertEqual(job["metadata"]["ownerReferences"][0]["kind"], "CronJob")
        self.assertEqual([each["name"] for each in self.status["active"]], [name])
        self.assertIn("lastScheduleTime", self.status)
        self.end(name)
        self.assertEqual(self.status.get("active", []), [])
        self.assertIn("lastSuccessfulTime", self.status)
        self.assertEqual(self.events("tick"), [
            ("SuccessfulCreate", f"Created job {name}"),
            ("SawCompletedJob", f"Saw completed job: {name}, status: Complete"),
        ])

    def test_forbid(self) -> None:
        """Forbid starts no Job beside another."""
        self.begin(concurrencyPolicy="Forbid")
        self.wait(120)
        self.assertEqual(len(self.jobs), 1)
        self.assertIn("JobAlreadyActive", self.reasons())
        self.end(self.jobs[0]["metadata"]["name"])
        self.assertEqual(len(self.jobs), 2)

    def test_replace(self) -> None:
        """Replace deletes the Job that runs."""
        self.begin(concurrencyPolicy="Replace")
        self.wait(60)
        first = self.jobs[0]["metadata"]["name"]
        self.wait(60)
        self.assertEqual([job["metadata"]["name"] for job in self.jobs], [f"tick-{int(first[5:]) + 1}"])
        self.assertEqual(len(self.status["active"]), 1)
        self.assertIn("SuccessfulDelete", self.reasons())

    def test_allow_and_suspend(self) -> None:
        """Allow lets Jobs run side by side; a suspended CronJob starts none."""
        self.begin(concurrencyPolicy="Allow")
        self.wait(120)
        self.assertEqual(len(self.status["active"]), 2)
        self.merge("cronjobs", "tick", {"spec": {"suspend": True}}, BATCH)
        self.wait(60)
        self.assertEqual(len(self.jobs), 2)

    def test_history(self) -> None:
        """As many ended Jobs stay as the limits say, by their end."""
        self.begin(successfulJobsHistoryLimit=1, failedJobsHistoryLimit=0)
        for kind in ("Complete", "Failed", "Complete"):
            self.wait(60)
            for job in self.jobs:
                if not (job.get("status") or {}).get("conditions"):
                    self.end(job["metadata"]["name"], kind)
        self.assertEqual(len(self.jobs), 1)

    def test_deadline(self) -> None:
        """A start that is too late is not made up for."""
        self.begin("@hourly", startingDeadlineSeconds=600, suspend=True)
        self.world.settle(3600 - self.clock.now() % 3600 + 1800, 600)
        self.merge("cronjobs", "tick", {"spec": {"suspend": False}}, BATCH)
        self.assertEqual(self.jobs, [])
        self.merge("cronjobs", "tick", {"spec": {"startingDeadlineSeconds": 2400}}, BATCH)
        self.assertEqual(len(self.jobs), 1)

    def test_many_missed(self) -> None:
        """After more than a hundred missed starts, one Job is started, with a warning."""
        self.begin(suspend=True)
        self.world.settle(7200, 600)
        self.merge("cronjobs", "tick", {"spec": {"suspend": False}}, BATCH)
        self.assertEqual(len(self.jobs), 1)
        self.assertIn("TooManyMissedTimes", self.reasons())

    def test_ended_jobs(self) -> None:
        """A Job is deleted some time after its end."""
        spec = {"template": TEMPLATE, "ttlSecondsAfterFinished": 30}
        self.create("jobs", {"metadata": {"name": "once"}, "spec": spec}, BATCH)
        self.end("once")
        self.settle(29)
        self.assertEqual(len(self.jobs), 1)
        self.settle(2)
        (job,) = self.jobs
        self.assertIn("foregroundDeletion", job["metadata"]["finalizers"])


class KubernetesCronJobTests(CronJobTests):
    vocabulary = "kubernetes"
