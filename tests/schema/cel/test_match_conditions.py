"""Match conditions of policies, admission webhooks and authorization webhooks (reference POLICY-8, AUTHZ-41)."""

from __future__ import annotations

from twisted.trial.unittest import SynchronousTestCase

from orchtw.schema.cel.admission import CONDITION, checked
from orchtw.schema.cel.evaluation import Evaluation, Meter
from orchtw.schema.cel.match_conditions import MATCH_STEPS, Matched, matched
from orchtw.schema.cel.types import DYN

BROKEN = "object.x == 1"
NO_KEY = f"expression '{BROKEN}' resulted in error: no such key: x"
SLOW = "object.all(a, object.all(b, object.all(c, a + b + c > 0)))"


class MatchedTests(SynchronousTestCase):
    def match(self, *sources: str, steps: int = MATCH_STEPS) -> Matched:
        """Return the result of conditions about an object."""
        conditions = [checked(source, {"object": DYN}, CONDITION) for source in sources]
        values = {"object": {str(number): number for number in range(50)}}
        return matched(conditions, Evaluation(values, {}, steps, Meter()))

    def test_all(self) -> None:
        """A list of conditions is met if all of them are true, and so is an empty list."""
        self.assertEqual(self.match("true", "object['1'] == 1"), Matched(True))
        self.assertEqual(self.match(), Matched(True))

    def test_false(self) -> None:
        """A false condition decides after one with an error, and ends the evaluation."""
        self.assertEqual(self.match(BROKEN, "false", "object.y == 1"), Matched(False, (NO_KEY,)))

    def test_errors(self) -> None:
        """Without a false condition errors leave the result open; equal ones are told once."""
        found = self.match("true", BROKEN, BROKEN)
        self.assertEqual((found.met, found.error), (None, NO_KEY))
        self.assertEqual(self.match(BROKEN, "object.y").error, f"[{NO_KEY}, compilation error: {self.fault}]")

    @property
    def fault(self) -> str:
        return checked("object.y", {"object": DYN}, CONDITION).fault

    def test_budget(self) -> None:
        """Conditions that take too many steps together are not evaluated further."""
        found = self.match(SLOW, BROKEN, steps=100)
        self.assertEqual((found.met, len(found.errors)), (None, 1))
        self.assertIn("running out of cost budget", found.error)
