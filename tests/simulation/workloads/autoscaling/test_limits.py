"""Limits of autoscaling (`orchtw.simulation.workloads.autoscaling.limits`, reference SIM-53)."""

from __future__ import annotations

from twisted.trial.unittest import SynchronousTestCase

from orchtw.simulation.workloads.autoscaling.limits import History, limited
from orchtw.wire.objects import Object


def behavior(**rules: Object) -> Object:
    """A spec with rules for scaling up and down."""
    return {"minReplicas": 1, "maxReplicas": 100, "behavior": rules}


UP: Object = {"selectPolicy": "Max", "policies": [{"type": "Pods", "value": 4, "periodSeconds": 60}]}
DOWN: Object = {
    "selectPolicy": "Max", "stabilizationWindowSeconds": 0,
    "policies": [{"type": "Percent", "value": 50, "periodSeconds": 60}],
}


class LimitTests(SynchronousTestCase):
    def test_without_behavior(self) -> None:
        """Replicas double at most, from four on."""
        spec = {"minReplicas": 1, "maxReplicas": 50}
        found = limited(spec, History(1, 0), 1, 30, 15)
        self.assertEqual((found.replicas, found.limit[0]), (4, "ScaleUpLimit"))
        self.assertEqual(limited(spec, History(10, 0), 10, 30, 15).replicas, 20)
        found = limited(spec, History(40, 0), 40, 70, 15)
        self.assertEqual((found.replicas, found.limit[0]), (50, "TooManyReplicas"))

    def test_least(self) -> None:
        """There are never fewer than the least."""
        found = limited({"minReplicas": 3, "maxReplicas": 5}, History(4, -400), 4, 1, 0)
        self.assertEqual((found.replicas, found.limit[0], found.able[0]), (3, "TooFewReplicas", "ReadyForNewScale"))

    def test_stabilization(self) -> None:
        """For five minutes the highest recommendation counts."""
        spec, history = {"minReplicas": 1, "maxReplicas": 50}, History(10, 0)
        found = limited(spec, history, 10, 2, 15)
        self.assertEqual((found.replicas, found.able[0]), (10, "ScaleDownStabilized"))
        self.assertEqual(limited(spec, history, 10, 2, 299).replicas, 10)
        self.assertEqual(limited(spec, history, 10, 2, 301).replicas, 2)

    def test_rates(self) -> None:
        """Policies limit the change in a period, which later changes are counted into."""
        spec, history = behavior(scaleUp=UP, scaleDown=DOWN), History(10, -400)
        found = limited(spec, history, 10, 40, 0)
        self.assertEqual((found.replicas, found.limit[0]), (14, "ScaleUpLimit"))
        history.changed(4, 0)
        self.assertEqual(limited(spec, history, 14, 40, 30).replicas, 14)
        self.assertEqual(limited(spec, history, 14, 40, 61).replicas, 18)
        found = limited(spec, history, 18, 1, 200)
        self.assertEqual((found.replicas, found.limit[0]), (9, "ScaleDownLimit"))

    def test_disabled(self) -> None:
        """A disabled direction is not taken."""
        spec = behavior(scaleUp=UP, scaleDown={**DOWN, "selectPolicy": "Disabled"})
        self.assertEqual(limited(spec, History(10, -400), 10, 1, 0).replicas, 10)

    def test_window_up(self) -> None:
        """With a window for scaling up, the lowest recommendation in it counts."""
        spec, history = behavior(scaleUp={**UP, "stabilizationWindowSeconds": 60}, scaleDown=DOWN), History(10, 0)
        found = limited(spec, history, 10, 12, 15)
        self.assertEqual((found.replicas, found.able[0]), (10, "ScaleUpStabilized"))
        self.assertEqual(limited(spec, history, 10, 12, 61).replicas, 12)
