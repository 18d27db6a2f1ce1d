"""Controller of Jobs (reference SIM-46)."""
# covers: orchtw.simulation.workloads.jobs.tally
# covers: orchtw.simulation.workloads.jobs.demand
# covers: orchtw.simulation.workloads.jobs.outcome

from __future__ import annotations

from typing import Any

from orchtw.simulation.workloads.jobs.controller import JobController
from orchtw.values.times import rfc3339
from orchtw.wire.objects import Object
from tests.simulation.workloads.case import GATES, SPEC, WorkloadCase

TEMPLATE: Object = {"spec": {**SPEC, "restartPolicy": "Never"}}


class JobTests(WorkloadCase):
    made = (JobController,)
    gates = {**GATES, "JobPodReplacementPolicy": True}

    def setUp(self) -> None:
        super().setUp()
        self.ended = 0

    def begin(self, **spec: Any) -> Object:
        """Create the Job `sum`."""
        return self.create("jobs", {"metadata": {"name": "sum"}, "spec": {"template": TEMPLATE, **spec}}, "batch/v1")

    @property
    def job(self) -> Object:
        """The Job as it is stored."""
        return self.get("jobs", "sum", "batch/v1")

    def change(self, **spec: Any) -> None:
        """Change the Job's spec."""
        self.merge("jobs", "sum", {"spec": spec}, "batch/v1")

    def counts(self) -> tuple[int, int, int]:
        """Active, succeeded and failed pods, by the status."""
        status = self.job.get("status") or {}
        return status.get("active", 0), status.get("succeeded", 0), status.get("failed", 0)

    def going(self) -> list[Object]:
        """The pods that have not ended."""
        return [pod for pod in self.pods if (pod.get("status") or {}).get("phase") not in ("Succeeded", "Failed")]

    def finish(self, pod: Object, code: int = 0) -> None:
        """Let a pod end with an exit code."""
        ended = {"exitCode": code, "finishedAt": rfc3339(int(self.clock.now()))}
        state = {"name": "c", "image": "i", "imageID": "", "ready": False, "restartCount": 0}
        containers = [{**state, "state": {"terminated": ended}}]
        status = {"phase": "Failed" if code else "Succeeded", "containerStatuses": containers}
        self.merge("pods", pod["metadata"]["name"], {"status": status}, "v1", "status")

    def test_restarts_in_place(self) -> None:
        """Restarts of containers, init containers included, count towards the limit when pods restart in place."""
        template = {"spec": {**SPEC, "restartPolicy": "OnFailure"}}
        self.begin(backoffLimit=2, template=template)
        (pod,) = self.going()
        state = {"name": "c", "image": "i", "imageID": "", "ready": False, "restartCount": 1, "state": {}}
        for statuses in ({"containerStatuses": [state]}, {"initContainerStatuses": [{**state, "name": "init"}]}):
            self.assertNotIn("Failed", self.job["status"].get("conditions") or ())
            self.merge("pods", pod["metadata"]["name"], {"status": {"phase": "Running", **statuses}}, "v1", "status")
        self.assertEqual(self.condition(self.job, "Failed")[1], "BackoffLimitExceeded")

    def test_completions(self) -> None:
        """As many pods as parallelism allows run until enough have succeeded."""
        self.begin(completions=5, parallelism=2)
        self.assertEqual(self.counts(), (2, 0, 0))
        while self.going():
            self.assertLessEqual(len(self.going()), 2)
            self.finish(self.going()[0])
        self.assertEqual(self.counts(), (0, 5, 0))
        self.assertEqual(self.condition(self.job, "Complete"), ("True", None, ""))
        self.assertIn("completionTime", self.job["status"])
        self.assertEqual(self.events("sum")[-1], ("Completed", "Job completed"))

    def test_work_queue(self) -> None:
        """Without completions, no pod is added after the first success, and the Job ends with the last pod."""
        self.begin(parallelism=3)
        self.finish(self.going()[0])
        self.assertEqual(self.counts(), (2, 1, 0))
        self.finish(self.going()[0])
        self.finish(self.going()[0], 1)
        self.assertEqual(self.condition(self.job, "Complete"), ("True", None, ""))

    def test_back_off(self) -> None:
        """A failed pod is replaced after ten seconds, the next after twenty; then the limit is reached."""
        self.begin(backoffLimit=2)
        self.finish(self.going()[0], 1)
        self.assertEqual(self.going(), [])
        self.settle(11)
        self.finish(self.going()[0], 1)
        self.settle(11)
        self.assertEqual(self.going(), [])
        self.settle(10)
        self.finish(self.going()[0], 1)
        expected = ("True", "BackoffLimitExceeded", "Job has reached the specified backoff limit")
        self.assertEqual(self.condition(self.job, "Failed"), expected)
        self.assertEqual(self.counts(), (0, 0, 3))

    def test_deadline(self) -> None:
        """A Job that is active for too long fails, and its pods are deleted."""
        self.begin(activeDeadlineSeconds=30, parallelism=2)
        self.settle(31)
        expected = ("True", "DeadlineExceeded", "Job was active longer than specified deadline")
        self.assertEqual(self.condition(self.job, "Failed"), expected)
        self.assertEqual((self.pods, self.counts()), ([], (0, 0, 2)))

    def test_indexed(self) -> None:
        """Each index has one pod that knows it; a failed one is replaced by one of the same index."""
        self.begin(completions=4, parallelism=3, completionMode="Indexed")
        note = self.world.naming.translate("batch.orch.io/job-completion-index")
        pods = {pod["metadata"]["annotations"][note]: pod for pod in self.going()}
        self.assertEqual(sorted(pods), ["0", "1", "2"])
        self.assertEqual(pods["1"]["spec"]["hostname"], "sum-1")
        self.assertTrue(pods["1"]["metadata"]["name"].startswith("sum-1-"))
        (variable,) = pods["1"]["spec"]["containers"][0]["env"]
        self.assertEqual(variable["name"], "JOB_COMPLETION_INDEX")
        self.finish(pods["1"], 1)
        for index in "02":
            self.finish(pods[index])
        self.settle(12)
        self.assertEqual(self.job["status"]["completedIndexes"], "0,2")
        again = {pod["metadata"]["annotations"][note]: pod for pod in self.going()}
        self.assertEqual(sorted(again), ["1", "3"])
        for pod in again.values():
            self.finish(pod)
        self.assertEqual(self.job["status"]["completedIndexes"], "0-3")
        self.assertEqual(self.condition(self.job, "Complete"), ("True", None, ""))

    def test_suspension(self) -> None:
        """A suspended Job has no pods; resumed, it starts anew."""
        self.begin(parallelism=2, suspend=True)
        self.assertEqual(self.condition(self.job, "Suspended"), ("True", "JobSuspended", "Job suspended"))
        self.assertNotIn("startTime", self.job["status"])
        self.change(suspend=False)
        self.assertEqual(self.counts(), (2, 0, 0))
        self.assertEqual(self.condition(self.job, "Suspended"), ("False", "JobResumed", "Job resumed"))
        self.change(suspend=True)
        self.assertEqual(self.pods, [])
        reasons = [reason for reason, _ in self.events("sum")]
        self.assertEqual([each for each in reasons if "S" in each and "Successful" not in each][0], "Suspended")
        self.assertIn("Resumed", reasons)

    def test_scaling(self) -> None:
        """Pods are deleted when the parallelism is lowered."""
        self.begin(parallelism=3, completions=6)
        self.change(parallelism=1)
        self.assertEqual(len(self.pods), 1)
        self.assertEqual([reason for reason, _ in self.events("sum")].count("SuccessfulDelete"), 2)

    def test_failure_policy(self) -> None:
        """Rules let failed pods not count, or fail the Job at once."""
        codes = {"onExitCodes": {"operator": "In", "values": [42]}}
        ignored = {"onPodConditions": [{"type": "DisruptionTarget"}]}
        self.begin(backoffLimit=0, parallelism=2, completions=2, podFailurePolicy={
            "rules": [{"action": "FailJob", **codes}, {"action": "Ignore", **ignored}],
        })
        condition = {"type": "DisruptionTarget", "status": "True"}
        status = {"status": {"phase": "Failed", "conditions": [condition]}}
        self.merge("pods", self.going()[0]["metadata"]["name"], status, "v1", "status")
        self.assertEqual(self.counts(), (2, 0, 0))
        pod = self.going()[0]
        self.finish(pod, 42)
        met = f"Container c for pod a/{pod['metadata']['name']} failed with exit code 42"
        why = f"{met} matching FailJob rule at index 0"
        self.assertEqual(self.condition(self.job, "Failed"), ("True", "PodFailurePolicy", why))
        self.assertEqual(self.condition(self.job, "FailureTarget"), ("True", "PodFailurePolicy", why))

    def test_limit_per_index(self) -> None:
        """An index that has failed too often is given up; the others complete, and the Job fails at the end."""
        self.begin(completions=2, parallelism=2, completionMode="Indexed", backoffLimitPerIndex=0)
        first, second = self.going()
        self.finish(first, 1)
        self.assertEqual(self.job["status"]["failedIndexes"], "0")
        self.finish(second)
        self.assertEqual(self.condition(self.job, "Failed"), ("True", "FailedIndexes", "Job has failed indexes"))

    def test_success_policy(self) -> None:
        """A Job is complete when the indexes of a rule are, and its other pods go."""
        self.begin(completions=3, parallelism=3, completionMode="Indexed", successPolicy={
            "rules": [{"succeededIndexes": "0"}],
        })
        self.finish(self.going()[0])
        expected = ("True", "SuccessPolicy", "Matched rules at index 0")
        self.assertEqual(self.condition(self.job, "Complete"), expected)
        self.assertEqual(self.condition(self.job, "SuccessCriteriaMet"), expected)
        self.assertEqual(len(self.pods), 1)

    def test_replacement_when_gone(self) -> None:
        """With podReplacementPolicy Failed, a pod that is being deleted is replaced when it has gone."""
        self.begin(podReplacementPolicy="Failed")
        (pod,) = self.pods
        name = pod["metadata"]["name"]
        self.merge("pods", name, {"metadata": {"finalizers": ["example.com/hold"]}}, "v1")
        self.delete("pods", name, "v1")
        self.assertEqual((len(self.pods), self.job["status"]["terminating"]), (1, 1))
        self.merge("pods", name, {"metadata": {"finalizers": None}}, "v1")
        self.assertEqual(len(self.going()), 1)
        self.assertNotEqual(self.going()[0]["metadata"]["name"], name)


class KubernetesJobTests(JobTests):
    vocabulary = "kubernetes"
