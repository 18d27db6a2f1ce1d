"""Order in which a controller deletes its pods."""

from __future__ import annotations

from typing import Any

from twisted.trial.unittest import SynchronousTestCase

from orchtw.simulation.workloads.ranking import first_to_go
from tests.simulation.workloads.views import view

NOW = 1_767_225_600.0 + 1000  # a little after the pods' creation


class RankingTests(SynchronousTestCase):
    def assertBefore(self, first: dict[str, Any], second: dict[str, Any], *related: Any) -> None:
        """The first pod goes before the second, in whichever order they are given."""
        pods = [view("z", **first), view("a", **second)]
        for order in (pods, pods[::-1]):
            (going,) = first_to_go(order, [*pods, *related], 1, NOW)
            self.assertEqual(going.name, "z")

    def test_state(self) -> None:
        """Pods without a node, pending ones and those that are not ready go first."""
        self.assertBefore({"node": ""}, {"phase": "Pending"})
        self.assertBefore({"phase": "Pending"}, {"phase": "Running"})
        self.assertBefore({"phase": "Unknown", "ready_since": None}, {"ready_since": None})
        self.assertBefore({"ready_since": None, "deletion_cost": 5}, {})

    def test_cost(self) -> None:
        """Of ready pods those go first of which the deletion costs less."""
        self.assertBefore({"deletion_cost": -1}, {})

    def test_doubled_up(self) -> None:
        """Pods go from nodes with more of the related ones."""
        self.assertBefore({"node": "m"}, {"node": "n"}, view("b", node="m"))

    def test_age(self) -> None:
        """Pods go that have been ready for a much shorter time, then those with more restarts, then newer ones."""
        self.assertBefore({"ready_since": NOW - 1}, {"ready_since": NOW - 900})
        self.assertBefore({"restarts": 3}, {"restarts": 1})
        self.assertBefore({"created": "2026-01-01T00:16:30Z"}, {})

    def test_all(self) -> None:
        """If all are to go, the order does not matter."""
        pods = [view("a"), view("b")]
        self.assertEqual(first_to_go(pods, pods, 2, NOW), pods)
