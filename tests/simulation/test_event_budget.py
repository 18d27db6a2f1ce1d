"""Bound on the events of all simulated controllers together."""

from __future__ import annotations

from twisted.internet.task import Clock
from twisted.trial.unittest import SynchronousTestCase

from orchtw.simulation.event_budget import BURST, RATE, Bucket, EventBudget
from tests.simulation.cluster_case import ClusterCase


class BucketTests(SynchronousTestCase):
    def test_refill(self) -> None:
        """A burst can be taken at once, then as much as comes back, which is never more than a burst."""
        clock = Clock()
        bucket = Bucket(clock.seconds, 2.0, 4.0)
        self.assertEqual([bucket.take() for _ in range(3)], [True, True, False])
        clock.advance(0.25)
        self.assertEqual([bucket.take() for _ in range(2)], [True, False])
        clock.advance(60)
        self.assertEqual([bucket.take() for _ in range(3)], [True, True, False])


class EventBudgetTests(ClusterCase):
    def test_shared(self) -> None:
        """All controllers take from one budget, in which warnings have their own part."""
        budget = self.simulated.shared(EventBudget)
        self.assertIs(self.simulated.shared(EventBudget), budget)
        self.assertEqual(sum(budget.take("Normal") for _ in range(int(BURST) + 5)), BURST)
        self.assertTrue(budget.take("Warning"))
        self.world.clock.advance(1)
        self.assertEqual(sum(budget.take("Normal") for _ in range(int(BURST))), RATE)
