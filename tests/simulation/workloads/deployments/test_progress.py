"""Conditions of Deployments: progress and failures."""

from __future__ import annotations

from typing import Any

from twisted.trial.unittest import SynchronousTestCase

from orchtw.simulation.workloads.conditions import find
from orchtw.simulation.workloads.deployments.progress import (
    PROGRESSING,
    stuck_in_s,
    with_condition,
    with_failures,
    with_progress,
)
from orchtw.wire.objects import Object
from tests.simulation.workloads.deployments.objects import deployment, replica_set


def status(replicas: int, updated: int, available: int, *conditions: Object) -> Object:
    """A status with these counts."""
    return {
        "observedGeneration": 1, "replicas": replicas, "updatedReplicas": updated, "readyReplicas": available,
        "availableReplicas": available, "conditions": list(conditions),
    }  # fmt: skip


class ConditionTests(SynchronousTestCase):
    def test_transition(self) -> None:
        """A condition of the same value and reason stays; one of another reason keeps the time of the transition."""
        first = with_condition({}, "Progressing", "True", "One", "m", 100.0)
        self.assertIs(with_condition(first, "Progressing", "True", "One", "other", 200.0), first)
        second = find(with_condition(first, "Progressing", "True", "Two", "m", 200.0), "Progressing") or {}
        self.assertEqual(second["lastTransitionTime"], "1970-01-01T00:01:40Z")
        self.assertEqual(second["lastUpdateTime"], "1970-01-01T00:03:20Z")

    def test_failures(self) -> None:
        """The condition shows a failure of the new ReplicaSet before others, and goes with the last failure."""
        failure = {
            "type": "ReplicaFailure", "status": "True", "reason": "FailedCreate", "message": "full",
            "lastTransitionTime": "1970-01-01T00:01:40Z",
        }  # fmt: skip
        failing = replica_set("r1", 1, conditions=[failure])
        found = with_failures(status(1, 1, 0), [failing], None)
        self.assertEqual((find(found, "ReplicaFailure") or {})["message"], "full")
        self.assertIsNone(find(with_failures(found, [], None), "ReplicaFailure"))


class ProgressTests(SynchronousTestCase):
    def step(self, old: Object, new: Object, now: float, **spec: Any) -> Any:
        """Reason and times of the condition after a step from one status to another."""
        owner = deployment(2, status=old, **{"progressDeadlineSeconds": 10, **spec})
        return find(with_progress(owner, replica_set("r1", 2), new, now), PROGRESSING)

    def begun(self, at: float) -> Object:
        """The condition of a ReplicaSet that was made at that time."""
        made = with_condition({}, PROGRESSING, "True", "NewReplicaSetCreated", "m", at)
        found: Object = made["conditions"][0]
        return found

    def test_steps(self) -> None:
        """More pods are progress, which the time of the update shows."""
        before = status(1, 1, 0, self.begun(100))
        found = self.step(before, status(2, 2, 0, self.begun(100)), 105)
        self.assertEqual(found["reason"], "ReplicaSetUpdated")
        self.assertEqual(found["lastUpdateTime"], "1970-01-01T00:01:45Z")
        self.assertEqual(found["lastTransitionTime"], "1970-01-01T00:01:40Z")

    def test_end(self) -> None:
        """All new pods available are the end, after which nothing counts as failed."""
        before = status(2, 2, 1, self.begun(100))
        found = self.step(before, status(2, 2, 2, self.begun(100)), 105)
        self.assertEqual(found["reason"], "NewReplicaSetAvailable")
        done = status(2, 2, 2, found)
        self.assertEqual(self.step(done, status(2, 2, 1, found), 500)["reason"], "NewReplicaSetAvailable")

    def test_deadline(self) -> None:
        """Without progress an update fails after its deadline, if it has one."""
        waiting = status(2, 2, 0, self.begun(100))
        self.assertEqual(self.step(waiting, waiting, 110)["reason"], "NewReplicaSetCreated")
        self.assertEqual(self.step(waiting, waiting, 111)["reason"], "ProgressDeadlineExceeded")
        self.assertIsNone(self.step(waiting, waiting, 111, progressDeadlineSeconds=(1 << 31) - 1))

    def test_next_look(self) -> None:
        """The next look is due a second after the deadline."""
        waiting = status(2, 2, 0, self.begun(100))
        owner = deployment(2, progressDeadlineSeconds=10)
        self.assertEqual(stuck_in_s(owner, waiting, 104.0), 7.0)
        self.assertIsNone(stuck_in_s(owner, status(2, 2, 2, self.begun(100)), 104.0))
