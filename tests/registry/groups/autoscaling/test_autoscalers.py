"""Defaults of HorizontalPodAutoscalers (reference VER-12)."""

from __future__ import annotations

from twisted.trial.unittest import SynchronousTestCase

from orchtw.naming.naming import Naming
from orchtw.registry.groups.autoscaling.autoscalers import set_autoscaler_defaults
from orchtw.wire.objects import Object


def completed(version: str, **spec: object) -> Object:
    autoscaler: Object = {"apiVersion": f"autoscaling/{version}", "metadata": {"name": "a"}, "spec": dict(spec)}
    set_autoscaler_defaults(autoscaler, Naming.orch())
    completed: Object = autoscaler["spec"]
    return completed


class AutoscalerDefaultTests(SynchronousTestCase):
    """Defaults in each version."""

    def test_metric(self) -> None:
        """Without a metric the target is 80 % of CPU, as each version writes it."""
        self.assertEqual(completed("v1")["targetCPUUtilizationPercentage"], 80)
        [metric] = completed("v2beta1")["metrics"]
        self.assertEqual(metric["resource"], {"name": "cpu", "targetAverageUtilization": 80})
        [metric] = completed("v2")["metrics"]
        self.assertEqual(metric["resource"]["target"], {"type": "Utilization", "averageUtilization": 80})

    def test_behavior(self) -> None:
        """Partly given rules are completed; without any there are none."""
        self.assertNotIn("behavior", completed("v2"))
        behavior = completed("v2", behavior={"scaleUp": {"selectPolicy": "Min"}})["behavior"]
        self.assertEqual((behavior["scaleUp"]["selectPolicy"], behavior["scaleDown"]["selectPolicy"]), ("Min", "Max"))
