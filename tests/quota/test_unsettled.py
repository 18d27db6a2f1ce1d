"""Charges without an object (reference CTRL-48)."""

from __future__ import annotations

from twisted.trial.unittest import SynchronousTestCase

from orchtw.quota.amounts import amounts, texts
from orchtw.quota.unsettled import Unsettled

PLACE = ("a", "rq")


class UnsettledTests(SynchronousTestCase):
    def test_sums(self) -> None:
        """Charges are kept by quota until their write has ended."""
        unsettled = Unsettled()
        unsettled.add(PLACE, amounts({"pods": "1", "cpu": "500m"}))
        unsettled.add(PLACE, amounts({"pods": "1"}))
        unsettled.add(("b", "rq"), amounts({"pods": "7"}))
        self.assertEqual(texts(unsettled.of(PLACE)), {"cpu": "500m", "pods": "2"})
        unsettled.end(PLACE, amounts({"pods": "1", "cpu": "500m"}))
        self.assertEqual(texts(unsettled.of(PLACE)), {"pods": "1"})
        unsettled.end(PLACE, amounts({"pods": "1"}))
        self.assertEqual(unsettled.of(PLACE), {})
        self.assertEqual(texts(unsettled.of(("b", "rq"))), {"pods": "7"})
