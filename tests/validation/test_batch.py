"""Jobs and cron jobs (reference KIND-28, KIND-62, KIND-63)."""
# covers: orchtw.registry.groups.batch.cron_jobs, orchtw.registry.groups.batch.job_validation

from __future__ import annotations

from orchtw.wire.objects import Object
from tests.validation import case, workloads
from tests.validation.examples import GONE, Accepted, Base, Refused, Shown, Stored, Warned
from tests.validation.workloads import NO_SUCH, TEMPLATE, generation, negative

BATCH = "/apis/batch/v1/namespaces/default"
POD = {**TEMPLATE["spec"], "restartPolicy": "Never"}
JOB_TEMPLATE = {"spec": POD}
JOB: Object = {"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "a"}, "spec": {"template": JOB_TEMPLATE}}
CRON_JOB: Object = {
    "apiVersion": "batch/v1",
    "kind": "CronJob",
    "metadata": {"name": "a"},
    "spec": {"schedule": "*/5 * * * *", "jobTemplate": {"spec": {"template": JOB_TEMPLATE}}},
}
JOB_SPEC = "spec.jobTemplate.spec"
MANUAL = {
    "spec.manualSelector": True,
    "spec.selector": {"matchLabels": {"app": "a"}},
    "spec.template.metadata": {"labels": {"app": "a"}},
}
INDEXED = {"spec.completionMode": "Indexed", "spec.completions": 3}
UNCOUNTED = "status.uncountedTerminatedPods"
AFFINITY = {
    "nodeAffinity": {
        "requiredDuringSchedulingIgnoredDuringExecution": {
            "nodeSelectorTerms": [{"matchExpressions": [{"key": "a", "operator": "Exists"}]}]
        }
    }
}
BETA_OS = {"beta.orch.io/os": "linux"}


class BatchTests(case.EntryCase):
    file = "batch.json"
    bases = {
        "Job": Base(path=f"{BATCH}/jobs", obj=JOB),
        "CronJob": Base(path=f"{BATCH}/cronjobs", obj=CRON_JOB),
    }
    examples = {
        0: negative("spec.parallelism"),
        1: negative("spec.completions"),
        2: negative("spec.activeDeadlineSeconds"),
        3: negative("spec.backoffLimit"),
        4: negative("spec.ttlSecondsAfterFinished"),
        5: Refused(change={"spec.completionMode": "Random"}),
        6: Refused(
            change={"spec.completionMode": "Indexed", "spec.parallelism": 2},
            accepts={"spec.completionMode": "Indexed", "spec.completions": 2},
        ),
        7: Refused(change={**INDEXED, "spec.parallelism": 100_001}, accepts={**INDEXED, "spec.parallelism": 100_000}),
        8: workloads.POD_RULES,
        9: [
            Refused(change={"spec.template.spec.restartPolicy": "Always"}),
            Refused(change={"spec.template.spec.restartPolicy": GONE}),
        ],
        10: Refused(
            change={"spec.template.spec.restartPolicy": "Sometimes"},
            accepts={"spec.template.spec.restartPolicy": "OnFailure"},
        ),
        11: [
            Refused(change={"spec.manualSelector": True}),
            Refused(on="update", change={"spec.selector": GONE}),
            Accepted(change=MANUAL),
        ],
        12: Refused(
            change={**MANUAL, "spec.selector": NO_SUCH},
            accepts=MANUAL,
            field="spec.selector.matchExpressions[0].operator",
        ),
        13: Refused(change={**MANUAL, "spec.template.metadata": {"labels": {"app": "b"}}}, accepts=MANUAL),
        14: Shown("tests.registry.groups.batch.test_jobs.JobTests.test_uid"),
        15: Refused(
            on="update",
            before={"spec.suspend": True},
            change={"spec.template.metadata.labels[controller-uid]": GONE},
            detail="must be '[-0-9a-f]{36}'",
        ),
        16: Refused(
            change={"spec.template.metadata": {"labels": {"controller-uid": "b"}}}, detail="must be '[-0-9a-f]{36}'"
        ),
        17: Refused(
            on="update",
            before={"spec.suspend": True},
            change={"spec.template.metadata.labels[job-name]": GONE},
            detail="must be 'a-[0-9]+'",
        ),
        18: Refused(
            change={"spec.template.metadata": {"labels": {"job-name": "b"}}},
            detail="must be 'a-[0-9]+'",
            accepts={"metadata.name": "b", "spec.template.metadata": {"labels": {"job-name": "b"}}},
        ),
        19: Refused(change={"spec.selector": {"matchLabels": {"app": "a"}}}),
        20: [
            Accepted(on="create", change={"spec.suspend": True}),
            Accepted(on="update", change={"spec.suspend": True}),
            Accepted(on="update", before={"spec.suspend": True}, change={"spec.suspend": False}),
        ],
        21: Refused(change={"spec.completions": 2}),
        22: [
            Refused(change={"spec.selector.matchLabels": {"a": "b"}}),
            Refused(
                before=MANUAL, change={"spec.selector": {"matchExpressions": [{"key": "app", "operator": "Exists"}]}}
            ),
        ],
        23: [
            Refused(change={"spec.template.spec.hostNetwork": True}),
            Refused(change={"spec.template.spec.nodeSelector": {"a": "b"}}),
            Refused(before={"spec.suspend": True}, change={"spec.template.spec.hostNetwork": True}),
        ],
        24: [
            Accepted(
                before={"spec.suspend": True},
                change={
                    "spec.template.spec.affinity": AFFINITY,
                    "spec.template.spec.nodeSelector": {"a": "b"},
                    "spec.template.spec.tolerations": [{"operator": "Exists"}],
                    "spec.template.metadata.labels[a]": "b",
                    "spec.template.metadata.annotations": {"a": "b"},
                },
            ),
            Accepted(
                before={"spec.suspend": True, "spec.template.spec.affinity": AFFINITY},
                change={"spec.template.spec.affinity": GONE},
            ),
            Shown(f"{__name__}.BatchTests.test_a_job_that_has_started"),
        ],
        25: Refused(before={"spec.completions": 2}, change={"spec.completionMode": "Indexed"}),
        26: Accepted(
            change={
                "spec.parallelism": 3,
                "spec.activeDeadlineSeconds": 3,
                "spec.backoffLimit": 3,
                "spec.suspend": True,
                "spec.ttlSecondsAfterFinished": 3,
                "spec.manualSelector": False,
            }
        ),
        27: negative("status.active", "status.succeeded", "status.failed"),
        28: negative("status.ready"),
        29: [
            Refused(
                change={UNCOUNTED: {"succeeded": ["a", ""]}},
                accepts={UNCOUNTED: {"succeeded": ["a", "b"]}},
                field=f"{UNCOUNTED}.succeeded[1]",
            ),
            Refused(change={UNCOUNTED: {"failed": ["", "b"]}}, field=f"{UNCOUNTED}.failed[0]"),
        ],
        30: [
            Refused(change={UNCOUNTED: {"succeeded": ["a"], "failed": ["a"]}}, field=f"{UNCOUNTED}.failed[0]"),
            Refused(change={UNCOUNTED: {"succeeded": ["a", "a"]}}, field=f"{UNCOUNTED}.succeeded[1]"),
        ],
        31: Stored(change={"status.active": 5}, expected={"status": {}}),
        32: [
            Shown(f"{__name__}.BatchTests.test_generated_selector"),
            Stored(change=MANUAL, expected={"spec.selector": {"matchLabels": {"app": "a"}}}),
        ],
        33: [
            Shown(f"{__name__}.BatchTests.test_generated_selector"),
            Stored(change=MANUAL, expected={"spec.template.metadata.labels": {"app": "a"}}),
        ],
        34: [
            Stored(
                change={"spec.template.metadata": {"labels": {"app": "a"}}},
                expected={"metadata.labels": {"app": "a"}},
            ),
            Shown(f"{__name__}.BatchTests.test_generated_selector"),
        ],
        35: [
            Stored(
                change={"metadata.annotations": {"batch.orch.io/job-tracking": ""}},
                expected={"metadata.annotations": GONE},
            ),
            Stored(
                on="update",
                change={"metadata.annotations": {"a": "b", "batch.orch.io/job-tracking": ""}},
                expected={"metadata.annotations": {"a": "b"}},
            ),
        ],
        36: [Stored(expected={"metadata.generation": 1}), *generation({"spec.parallelism": 3})],
        37: Stored(change={"status.active": 5}, expected={"status": {}}),
        38: Stored(
            change={"spec.parallelism": 5, "status.active": 5}, expected={"spec.parallelism": 1, "status.active": 5}
        ),
        39: Shown("tests.writes.test_delete.PropagationTests.test_kinds_that_orphan"),
        40: workloads.warned(),
        41: Shown(f"{__name__}.BatchTests.test_deletion_warns"),
        42: Refused(change={"metadata.name": "a" * 53}, accepts={"metadata.name": "a" * 52}),
        43: Refused(change={"spec.schedule": ""}),
        44: [
            Refused(
                change={"spec.schedule": "x"},
                accepts={"spec.schedule": "@every 1h30m"},
                detail="expected exactly 5 fields, found 1: \\[x\\]",
            ),
            Accepted(change={"spec.schedule": "CRON_TZ=UTC 0-30/10,45 ? 1 JAN-MAR mon"}),
            Shown("tests.rules.test_cron.ScheduleTests.test_refusals"),
        ],
        45: Shown("tests.registry.groups.batch.test_jobs.CronJobTests.test_zone_twice"),
        46: Shown("tests.registry.groups.batch.test_jobs.CronJobTests.test_zone"),
        47: Shown("tests.registry.groups.batch.test_jobs.CronJobTests.test_zone"),
        48: negative("spec.startingDeadlineSeconds"),
        49: [
            Stored(expected={"spec.concurrencyPolicy": "Allow"}),
            Stored(change={"spec.concurrencyPolicy": ""}, expected={"spec.concurrencyPolicy": "Allow"}),
        ],
        50: Refused(change={"spec.concurrencyPolicy": "Queue"}, accepts={"spec.concurrencyPolicy": "Replace"}),
        51: negative("spec.successfulJobsHistoryLimit"),
        52: negative("spec.failedJobsHistoryLimit"),
        53: [
            *negative(f"{JOB_SPEC}.parallelism", f"{JOB_SPEC}.backoffLimit"),
            Refused(
                change={
                    f"{JOB_SPEC}.completionMode": "Indexed",
                    f"{JOB_SPEC}.completions": 1,
                    f"{JOB_SPEC}.parallelism": 100_001,
                },
                field=f"{JOB_SPEC}.parallelism",
            ),
        ],
        54: Refused(change={f"{JOB_SPEC}.selector": {"matchLabels": {"a": "b"}}}),
        55: Refused(change={f"{JOB_SPEC}.manualSelector": True}, accepts={f"{JOB_SPEC}.manualSelector": False}),
        56: Accepted(
            change={
                "spec": {**CRON_JOB["spec"], "schedule": "@daily", "concurrencyPolicy": "Forbid", "suspend": True},
                f"{JOB_SPEC}.completions": 3,
                f"{JOB_SPEC}.template.spec.hostNetwork": True,
            }
        ),
        57: Accepted(change={"status.active": [{"kind": "no kind!"}]}),
        58: Stored(change={"status.lastScheduleTime": "2026-01-02T03:04:05Z"}, expected={"status": {}}),
        59: [Stored(expected={"metadata.generation": 1}), *generation({"spec.suspend": True})],
        60: Stored(change={"status.lastScheduleTime": "2026-01-02T03:04:05Z"}, expected={"status": {}}),
        61: Stored(
            change={"spec.suspend": True, "status.active": [{"name": "b"}]},
            expected={"spec.suspend": False, "status.active": [{"name": "b"}]},
        ),
        62: [
            Stored(change={"spec.timeZone": "Europe/Berlin"}, expected={"spec.timeZone": GONE}),
            Stored(on="update", change={"spec.timeZone": "Europe/Berlin"}, expected={"spec.timeZone": GONE}),
            Shown("tests.registry.groups.batch.test_jobs.CronJobTests.test_stored_zone"),
        ],
        63: Shown("tests.writes.test_delete.PropagationTests.test_kinds_that_orphan"),
        64: Warned(
            change={f"{JOB_SPEC}.template.spec.nodeSelector": BETA_OS},
            text=f"{JOB_SPEC}.template.spec.nodeSelector[beta.orch.io/os]",
        ),
        65: Shown(f"{__name__}.BatchTests.test_older_version_warns"),
    }

    def test_generated_selector(self) -> None:
        """A job selects its pods by its uid; they bear it, and its name; it has labels if it names none."""
        job = self.done("POST", f"{BATCH}/jobs", {**JOB, "metadata": {"generateName": "g-"}})
        meta, spec = job["metadata"], job["spec"]
        self.assertEqual(spec["selector"], {"matchLabels": {"controller-uid": meta["uid"]}})
        labels = {"controller-uid": meta["uid"], "job-name": meta["name"]}
        self.assertEqual((spec["template"]["metadata"]["labels"], meta["labels"]), (labels, labels))
        self.assertEqual(self.done("GET", f"{BATCH}/jobs/{meta['name']}"), job)

    def test_a_job_that_has_started(self) -> None:
        """Its template stays, suspended or not."""
        job = self.done(
            "POST", f"{BATCH}/jobs", {**JOB, "metadata": {"name": "s"}, "spec": {**JOB["spec"], "suspend": True}}
        )
        job["status"]["startTime"] = "2026-01-02T03:04:05Z"
        job = self.done("PUT", f"{BATCH}/jobs/s/status", job)
        job["spec"]["template"]["spec"]["nodeSelector"] = {"a": "b"}
        answer = self.send("PUT", f"{BATCH}/jobs/s", job)
        self.assertEqual([cause["field"] for cause in answer.json["details"]["causes"]], ["spec.template"])

    def test_deletion_warns(self) -> None:
        """Deleting Jobs without a policy warns that their pods stay, for a collection too."""
        queries = (("", True), ("?propagationPolicy=Background", False), ("?orphanDependents=false", False))
        for path in ("/jobs/d", "/jobs"):
            for query, warned in queries:
                self.send("POST", f"{BATCH}/jobs", {**JOB, "metadata": {"name": "d"}})
                answer = self.send("DELETE", f"{BATCH}{path}{query}")
                self.assertEqual(answer.code, 200)
                found = "child pods are preserved" in answer.headers.get("warning", "")
                self.assertEqual(found, warned, (path, query))
        cron = f"{BATCH}/cronjobs"
        self.done("POST", cron, {**CRON_JOB, "metadata": {"name": "d"}})
        self.assertNotIn("warning", self.send("DELETE", f"{cron}/d").headers)

    def test_older_version_warns(self) -> None:
        """Each request in batch/v1beta1."""
        obj = {**CRON_JOB, "apiVersion": "batch/v1beta1", "metadata": {"name": "o"}}
        answer = self.send("POST", "/apis/batch/v1beta1/namespaces/default/cronjobs", obj)
        text = "batch/v1beta1 CronJob is deprecated in v1.21+, unavailable in v1.25+; use batch/v1 CronJob"
        self.assertEqual(answer.code, 201)
        self.assertIn(text, answer.headers["warning"])
