"""Runs of evaluations, and match conditions that need several (reference POLICY-7, POLICY-8)."""
# covers: orchtw.admission.policies.conditions

from __future__ import annotations

from math import inf

from twisted.internet.defer import Deferred
from twisted.trial.unittest import SynchronousTestCase

from orchtw.admission.metrics import ConditionMetrics
from orchtw.admission.policies.conditions import Conditions, NotMet
from orchtw.admission.policies.definitions import conditions_of
from orchtw.admission.policies.rights import Rights
from orchtw.admission.policies.runs import INLINE_STEPS, Runs
from orchtw.authz.fixed import AlwaysDeny
from orchtw.registry.offload import INLINE_BYTES
from orchtw.schema.cel.evaluation import Meter, TooLong
from tests.admission.asked import attributes

BROKEN = {"name": "b", "expression": "object.x == 1"}
ASKING = {"name": "a", "expression": "!authorizer.requestResource.check('get').allowed()"}


class RunsTests(SynchronousTestCase):
    def setUp(self) -> None:
        write = attributes("CREATE", "configmaps", obj={})
        self.runs = Runs(Rights(AlwaysDeny(), write), write)
        self.seen: list[float] = []

    def work(self, meter: Meter) -> None:
        """Take three quarters of the steps that a write may take on the reactor."""
        self.seen.append(meter.left)
        meter.left -= INLINE_STEPS * 3 // 4
        if meter.left <= 0:
            raise TooLong

    def run_once(self, size_bytes: int = 0) -> None:
        self.successResultOf(Deferred.fromCoroutine(self.runs.run(self.work, size_bytes)))

    def test_shared(self) -> None:
        """The evaluations of one write share the steps on the reactor, however many there are."""
        self.run_once()
        self.run_once()
        self.assertEqual(self.seen, [INLINE_STEPS, INLINE_STEPS // 4, inf])

    def test_large(self) -> None:
        """A large object is never copied on the reactor."""
        self.run_once(INLINE_BYTES + 1)
        self.assertEqual(self.seen, [inf])


class ConditionTests(SynchronousTestCase):
    def setUp(self) -> None:
        self.metrics = ConditionMetrics()

    def met(self, *conditions: dict[str, str], patient: bool = False) -> Deferred[bool]:
        """Report whether conditions about a ConfigMap hold."""
        write = attributes("CREATE", "configmaps", obj={})
        rights = Rights(AlwaysDeny(), write)
        values = {"object": {}, "authorizer.requestResource": rights.own(write)}
        found = Conditions(self.metrics, "policy", "validating").met(
            "p", conditions_of(conditions), values, Runs(rights, write), patient=patient
        )
        return Deferred.fromCoroutine(found)

    def test_counted_once(self) -> None:
        """An error and an evaluation are counted once, even if a question to the authorizer repeats the run."""
        self.failureResultOf(self.met(BROKEN, ASKING), NotMet)
        labels = "p", "policy", "validating", "CREATE"
        self.assertEqual(self.metrics.errors.of(*labels).value, 1)
        self.assertEqual(self.metrics.durations.of(*labels).count, 1)

    def test_patient(self) -> None:
        """With failurePolicy Ignore, conditions with an error are not met."""
        self.assertFalse(self.successResultOf(self.met(BROKEN, patient=True)))
        self.assertTrue(self.successResultOf(self.met(ASKING)))
