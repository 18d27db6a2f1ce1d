"""Base of the controllers of workloads, and what they have in common."""

# covers: orchtw.simulation.controller

from __future__ import annotations

from typing import Any

from twisted.internet.defer import Deferred
from twisted.trial.unittest import SynchronousTestCase

from orchtw.simulation.controller import FEW, LONGEST_WAIT_S
from orchtw.simulation.workloads.batches import slow_start
from orchtw.simulation.workloads.conditions import same
from orchtw.simulation.workloads.hashes import hash_of, same_template
from orchtw.simulation.workloads.replicas import ReplicaSetController
from orchtw.simulation.workloads.shares import share
from orchtw.simulation.workloads.waiting import until_available
from tests.simulation.workloads.case import LABELS, SPEC, TEMPLATE, WorkloadCase
from tests.simulation.workloads.views import view


class WorkloadTests(WorkloadCase):
    made = (ReplicaSetController,)

    def test_quiet(self) -> None:
        """Changes of a pod that matter to no controller bring nobody back."""
        spec = {"replicas": 1, "selector": {"matchLabels": LABELS}, "template": TEMPLATE}
        self.create("replicasets", {"metadata": {"name": "web"}, "spec": spec})
        (controller,) = self.controllers
        begun: list[str] = []
        self.patch(controller.queue, "add", begun.append)
        name = self.pods[0]["metadata"]["name"]
        self.merge("pods", name, {"metadata": {"annotations": {"a": "b"}}}, "v1")
        self.assertEqual(begun, [])
        self.mark(name, "Running")
        self.assertEqual(set(begun), {"a/web"})

    def test_views(self) -> None:
        """Controllers are told of a pod that comes, changes its state, or goes, and of nothing else."""
        told: list[tuple[str, str]] = []
        pods = self.controllers[0].pods  # type: ignore[attr-defined]
        pods.handle(lambda old, new: told.append((old.phase if old else "-", new.phase if new else "-")))
        self.create("pods", {"metadata": {"name": "p"}, "spec": SPEC}, "v1")
        self.merge("pods", "p", {"metadata": {"annotations": {"a": "b"}}}, "v1")
        self.assertEqual(pods.get("a/p").version, self.pods[0]["metadata"]["resourceVersion"])
        self.mark("p", "Running")
        self.delete("pods", "p", "v1")
        self.assertEqual((told[0][0], told[-1][1]), ("-", "-"))
        self.assertEqual(told.count(("Pending", "Pending")), 0)
        self.assertIn(("Pending", "Running"), told)

    def test_many(self) -> None:
        """Changes of one of many pods are looked at together, but the end of one at once."""
        spec = {"replicas": FEW + 1, "selector": {"matchLabels": LABELS}, "template": TEMPLATE}
        self.create("replicasets", {"metadata": {"name": "web"}, "spec": spec})
        self.settle(LONGEST_WAIT_S)
        (controller,) = self.controllers
        begun: list[str] = []
        self.patch(controller.queue, "add", begun.append)
        first, second, third, *_ = [pod["metadata"]["name"] for pod in self.pods]
        self.mark(first, "Running")
        self.mark(second, "Running")
        self.assertEqual(begun, [])
        self.settle(LONGEST_WAIT_S)
        self.assertEqual(begun, ["a/web"])
        begun.clear()
        self.mark(third, "Failed")
        self.assertEqual(set(begun), {"a/web"})

    def test_orphans(self) -> None:
        """A new orphan brings back the owners that select it, in its namespace."""
        for name, labels in (("one", LABELS), ("two", {"app": "other"})):
            template = {**TEMPLATE, "metadata": {"labels": labels}}
            spec = {"replicas": 0, "selector": {"matchLabels": labels}, "template": template}
            self.create("replicasets", {"metadata": {"name": name}, "spec": spec})
        (controller,) = self.controllers
        begun: list[str] = []
        self.patch(controller.queue, "add", begun.append)
        self.create("pods", {"metadata": {"name": "p", "labels": LABELS}, "spec": SPEC}, "v1")
        self.assertEqual(begun, ["a/one"])


class BatchTests(SynchronousTestCase):
    def test_growth(self) -> None:
        """Batches double as long as every write of a batch succeeds; a failure ends them (reference SIM-40)."""
        calls: list[int] = []

        async def create(number: int) -> None:
            calls.append(number)
            if number == 4:
                raise ValueError("full")

        self.failureResultOf(Deferred.fromCoroutine(slow_start(20, create)), ValueError)
        self.assertEqual(calls, list(range(7)))
        calls.clear()
        self.successResultOf(Deferred.fromCoroutine(slow_start(3, create)))
        self.assertEqual(calls, [0, 1, 2])


class HashTests(SynchronousTestCase):
    def test_stability(self) -> None:
        """A hash depends on the content, not on the order of its keys, and on the collisions (reference SIM-43)."""
        one = hash_of({"a": 1, "b": [2]}, None)
        self.assertEqual(one, hash_of({"b": [2], "a": 1}, None))
        self.assertNotEqual(one, hash_of({"a": 1, "b": [2]}, 1))
        self.assertRegex(one, "^[bcdfghjklmnpqrstvwxz2456789]{1,10}$")

    def test_templates(self) -> None:
        """Templates are the same but for the label of the hash, and for what is empty."""
        one: Any = {"metadata": {"labels": {"a": "b", "pod-template-hash": "x"}, "annotations": {}}, "spec": SPEC}
        self.assertTrue(same_template(one, {"metadata": {"labels": {"a": "b"}}, "spec": {**SPEC, "volumes": []}}))
        self.assertFalse(same_template(one, {"metadata": {"labels": {"a": "c"}}, "spec": SPEC}))


class ComputationTests(SynchronousTestCase):
    def test_same(self) -> None:
        """Empty, zero and false values equal absent ones, at any depth."""
        self.assertTrue(same({"a": 0, "b": [{"c": ""}]}, {"b": [{}], "d": None}))
        self.assertFalse(same({"a": [1]}, {"a": [1, 2]}))
        self.assertFalse(same({"a": 1}, {}))

    def test_shares(self) -> None:
        """Percentages are rounded up or down, numbers are themselves."""
        self.assertEqual([share("25%", 10, up=True), share("25%", 10, up=False), share(3, 10, up=True)], [3, 2, 3])
        self.assertEqual(share(None, 10, up=True), 0)

    def test_waiting(self) -> None:
        """The next look is due when the next pod becomes available."""
        pods = [view("a", ready_since=10.0), view("b", ready_since=15.0), view("c", ready_since=None)]
        self.assertEqual([until_available(pods, 10, now) for now in (16.0, 21.0, 26.0)], [4.0, 4.0, None])
        self.assertIsNone(until_available(pods, 0, 16.0))
