"""Statuses of simulated pods (reference SIM-20)."""

from __future__ import annotations

from twisted.trial.unittest import SynchronousTestCase

from orchtw.simulation.pods.status import is_covered
from tests.simulation.pods.cases import Life, container, pod


class StatusTests(SynchronousTestCase):
    def test_running(self) -> None:
        """A running pod has addresses, identities of its containers by name, and true conditions."""
        life = Life(pod(container("b"), container("a")))
        life.pass_s(1)
        status = life.status
        self.assertEqual((status["podIPs"], status["hostIP"]), ([{"ip": status["podIP"]}], "10.128.0.1"))
        self.assertEqual([each["name"] for each in status["containerStatuses"]], ["a", "b"])
        for each in status["containerStatuses"]:
            self.assertTrue(each["containerID"].startswith("simulated://"))
            self.assertTrue(each["imageID"].startswith("app@sha256:"))
        kinds = [each["type"] for each in status["conditions"] if each["status"] == "True"]
        self.assertEqual(kinds, ["Initialized", "Ready", "ContainersReady", "PodScheduled"])

    def test_transition_times(self) -> None:
        """A condition keeps its time while its status stays."""
        life = Life(pod())
        life.pass_s(5)
        before = life.condition("Initialized"), life.condition("Ready")
        life.pass_s(5)
        self.assertEqual((life.condition("Initialized"), life.condition("Ready")), before)
        self.assertNotEqual(before[0]["lastTransitionTime"], before[1]["lastTransitionTime"])

    def test_readiness_gates(self) -> None:
        """Ready waits for the conditions of others, which stay as they are."""
        life = Life(pod(readinessGates=[{"conditionType": "x/y"}]))
        life.pass_s(1)
        ready = life.condition("Ready")
        text = 'corresponding condition of pod readiness gate "x/y" does not exist.'
        self.assertEqual((ready["reason"], ready["message"]), ("ReadinessGatesNotReady", text))
        foreign = {"type": "x/y", "status": "True"}
        life.status["conditions"].append(foreign)
        life.pass_s(0)
        self.assertEqual((life.condition("Ready")["status"], life.condition("x/y")), ("True", foreign))


class CoveredTests(SynchronousTestCase):
    def test_covered(self) -> None:
        """A stored value may have more, and lack fields without a value; any other difference counts."""
        self.assertTrue(is_covered({"a": 1, "b": 2}, {"a": 1, "c": False, "d": {}, "e": None}))
        self.assertTrue(is_covered({"a": [{"b": 1, "x": 2}]}, {"a": [{"b": 1}]}))
        for wanted in ({"a": 2}, {"c": True}, {"b": {"c": 1}}):
            self.assertFalse(is_covered({"a": 1}, wanted), wanted)
        self.assertFalse(is_covered({"a": [1, 2]}, {"a": [1]}))
