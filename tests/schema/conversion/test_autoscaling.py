"""Conversion of HorizontalPodAutoscalers (reference VER-12)."""

from __future__ import annotations

from twisted.trial.unittest import SynchronousTestCase

from orchtw.naming.naming import Naming
from orchtw.schema.conversion.autoscaling import (
    METRICS,
    autoscaler_v1_to_v2,
    autoscaler_v2_to_v1,
    autoscaler_v2_to_v2beta1,
    autoscaler_v2beta1_to_v2,
)
from orchtw.wire.objects import Object

NAMING = Naming.orch()
MEMORY = {
    "type": "Resource",
    "resource": {"name": "memory", "target": {"type": "Utilization", "averageUtilization": 60}},
}


class AutoscalerTests(SynchronousTestCase):
    """Objects that go to another version and come back."""

    def test_percentage(self) -> None:
        """The percentage of v1 is a CPU metric in v2."""
        old: Object = {"metadata": {"name": "a"}, "spec": {"maxReplicas": 3, "targetCPUUtilizationPercentage": 50}}
        new = autoscaler_v1_to_v2(old, NAMING)
        target = {"type": "Utilization", "averageUtilization": 50}
        [metric] = new["spec"]["metrics"]
        self.assertEqual(metric, {"type": "Resource", "resource": {"name": "cpu", "target": target}})
        self.assertEqual(autoscaler_v2_to_v1(new, NAMING)["spec"], old["spec"])

    def test_other_metrics(self) -> None:
        """Metrics that v1 has no field for are kept in an annotation, and come back."""
        new: Object = {"metadata": {"name": "a"}, "spec": {"maxReplicas": 3, "metrics": [MEMORY]}}
        old = autoscaler_v2_to_v1(new, NAMING)
        self.assertEqual(list(old["metadata"]["annotations"]), [NAMING.translate(METRICS)])
        self.assertEqual(autoscaler_v1_to_v2(old, NAMING)["spec"]["metrics"], [MEMORY])

    def test_beta(self) -> None:
        """v2beta1 says the same in other fields."""
        new: Object = {"metadata": {"name": "a"}, "spec": {"maxReplicas": 3, "metrics": [MEMORY]}}
        beta = autoscaler_v2_to_v2beta1(new, NAMING)
        self.assertEqual(beta["spec"]["metrics"][0]["resource"], {"name": "memory", "targetAverageUtilization": 60})
        self.assertEqual(autoscaler_v2beta1_to_v2(beta, NAMING)["spec"]["metrics"], [MEMORY])
