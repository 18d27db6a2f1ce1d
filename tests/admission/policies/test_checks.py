"""Checks of one evaluation, without a server (reference POLICY-10, POLICY-15)."""

from __future__ import annotations

from twisted.trial.unittest import SynchronousTestCase

from orchtw.admission.policies import checks
from orchtw.admission.policies.definitions import policy_of
from orchtw.schema.cel.evaluation import Meter
from tests.admission.policies.case import validating


class CheckTests(SynchronousTestCase):
    def test_seconds(self) -> None:
        """Each failed validation has its own duration, and so has one with an error."""
        readings = iter(range(100))
        self.patch(checks, "perf_counter", lambda: float(next(readings)))
        policy = policy_of(validating("false", "true", "object.x == 1", "false"))
        found = checks.outcome(policy, {"object": {}}, Meter()).verdicts
        self.assertEqual([(each.index, each.seconds) for each in found], [(0, 1.0), (2, 1.0), (3, 1.0)])
