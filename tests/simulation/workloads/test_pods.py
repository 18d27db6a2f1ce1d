"""Views of pods, and their indexes."""

from __future__ import annotations

from typing import Any

from twisted.trial.unittest import SynchronousTestCase

from orchtw.simulation.workloads.pods import PodView, view_of
from orchtw.wire.objects import Object


def pod(spec: Object | None = None, status: Object | None = None, **meta: Any) -> PodView:
    """The view of a pod."""
    identity = {"name": "p", "namespace": "a", "uid": "u", "resourceVersion": "7", "creationTimestamp": "t"}
    return view_of("a/p", {"metadata": {**identity, **meta}, "spec": spec or {}, "status": status or {}}, "cost")


def ready(value: str, **more: Any) -> Object:
    """A status with the condition Ready."""
    return {"phase": "Running", "conditions": [{"type": "Ready", "status": value, **more}]}


class PodViewTests(SynchronousTestCase):
    def test_readiness(self) -> None:
        """A pod is ready since its condition changed, and available some time later."""
        self.assertIsNone(pod().ready_since)
        self.assertIsNone(pod(status=ready("False", lastTransitionTime="1970-01-01T00:01:40Z")).ready_since)
        found = pod(status=ready("True", lastTransitionTime="1970-01-01T00:01:40Z"))
        self.assertEqual(found.ready_since, 100.0)
        self.assertTrue(found.running_and_ready)
        self.assertEqual([found.available(10, now) for now in (109.0, 110.0)], [False, True])
        self.assertTrue(found.available(0, 100.0))

    def test_activity(self) -> None:
        """A pod that has ended, or is being deleted, is not active."""
        phases = ("Pending", "Running", "Succeeded", "Failed")
        self.assertEqual([pod(status={"phase": phase}).active for phase in phases], [True, True, False, False])
        self.assertFalse(pod(deletionTimestamp="t").active)

    def test_cost(self) -> None:
        """A cost that is not a number of 32 bits counts as 0."""
        costs = {"-5": -5, "12": 12, "x": 0, "": 0, "2147483648": 0, "-": 0, "99999999999": 0}
        for text, cost in costs.items():
            self.assertEqual(pod(annotations={"cost": text}).deletion_cost, cost, text)

    def test_target(self) -> None:
        """The target is the node, or the only one that the affinity allows."""
        self.assertEqual(pod({"nodeName": "n"}).target, "n")
        field = {"key": "metadata.name", "operator": "In", "values": ["m"]}
        required = {"nodeSelectorTerms": [{"matchFields": [field]}]}
        affinity = {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": required}}
        self.assertEqual(pod({"affinity": affinity}).target, "m")
        self.assertEqual(pod().target, "")

    def test_restarts(self) -> None:
        """The restarts are those of the container that had most."""
        statuses = [{"restartCount": 1}, {"restartCount": 4}, {}]
        self.assertEqual(pod(status={"containerStatuses": statuses}).restarts, 4)

    def test_owner(self) -> None:
        """The owner is the one that is the controller."""
        owners = [
            {"kind": "X", "name": "x", "uid": "1"},
            {"kind": "ReplicaSet", "name": "web", "uid": "2", "controller": True},
        ]
        found = pod(ownerReferences=owners)
        self.assertEqual((found.owner, found.owner_kind, found.owner_name), ("2", "ReplicaSet", "web"))
