"""Controller of HorizontalPodAutoscalers (reference SIM-53)."""
# covers: orchtw.simulation.workloads.autoscaling.samples
# covers: orchtw.simulation.workloads.autoscaling.metrics

from __future__ import annotations

from typing import Any

from msgspec import structs

from orchtw.config.simulation import Parts
from orchtw.registry.groups.autoscaling.validation import as_hub
from orchtw.schema.conversion.autoscaling import autoscaler_v2_to_v1
from orchtw.simulation.workloads.autoscaling.controller import AutoscalerController
from orchtw.simulation.workloads.deployments.controller import DeploymentController
from orchtw.simulation.workloads.replicas import ReplicaSetController
from orchtw.values.times import rfc3339
from orchtw.wire.objects import Object
from tests.simulation.workloads.case import LABELS, WorkloadCase

HPA = "autoscaling/v2"
CONTAINER = {"name": "c", "image": "i", "resources": {"requests": {"cpu": "100m"}}}
CPU: Object = {"type": "Resource", "resource": {
    "name": "cpu", "target": {"type": "Utilization", "averageUtilization": 50},
}}


class AutoscalerTests(WorkloadCase):
    made = (ReplicaSetController, DeploymentController, AutoscalerController)

    def setUp(self) -> None:
        super().setUp()
        self.simulated.setting = structs.replace(self.simulated.setting, parts=Parts(1, workloads=True))

    def deploy(self, replicas: int, container: Object = CONTAINER) -> None:
        """Create the Deployment `web`."""
        template = {"metadata": {"labels": LABELS}, "spec": {"containers": [container]}}
        spec = {"replicas": replicas, "selector": {"matchLabels": LABELS}, "template": template}
        self.create("deployments", {"metadata": {"name": "web"}, "spec": spec})

    def scale(self, *metrics: Object, notes: Object | None = None, **spec: Any) -> None:
        """Create the autoscaler `web`."""
        target = {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"}
        whole = {"scaleTargetRef": target, "maxReplicas": 10, "metrics": list(metrics), **spec}
        meta = {"name": "web", "annotations": notes or {}}
        obj = autoscaler_v2_to_v1({"metadata": meta, "spec": whole}, self.world.naming)
        self.create("horizontalpodautoscalers", obj, HPA)

    def use(self, cpu: str) -> None:
        """Let all pods run since long ago, and use so much CPU."""
        long_ago = rfc3339(int(self.clock.now()) - 3600)
        state = {"name": "c", "image": "i", "imageID": "", "ready": True, "restartCount": 0}
        status = {
            "phase": "Running", "startTime": long_ago,
            "conditions": [{"type": "Ready", "status": "True", "lastTransitionTime": long_ago}],
            "containerStatuses": [{**state, "state": {"running": {"startedAt": long_ago}}}],
        }
        for pod in self.pods:
            name = pod["metadata"]["name"]
            self.merge("pods", name, {"metadata": {"annotations": {"simulate.orch.io/cpu": cpu}}}, "v1")
            self.merge("pods", name, {"status": status}, "v1", "status")

    @property
    def stored(self) -> Object:
        """The autoscaler in version v2."""
        return as_hub(self.get("horizontalpodautoscalers", "web", HPA), self.world.naming)

    @property
    def replicas(self) -> int:
        """Replicas of the Deployment."""
        return int(self.get("deployments", "web")["spec"]["replicas"])

    def test_cpu(self) -> None:
        """Replicas follow the use of CPU: up at once, down after five minutes."""
        self.deploy(2)
        self.use("100m")
        self.scale(CPU)
        self.assertEqual(self.replicas, 4)
        self.assertEqual(self.condition(self.stored, "ScalingActive")[:2], ("True", "ValidMetricFound"))
        self.assertEqual(self.condition(self.stored, "ScalingLimited")[:2], ("False", "DesiredWithinRange"))
        self.assertEqual(self.condition(self.stored, "AbleToScale")[:2], ("True", "SucceededRescale"))
        size = "New size: 4; reason: cpu resource utilization (percentage of request) above target"
        self.assertIn(("SuccessfulRescale", size), self.events("web"))
        status = self.stored["status"]
        self.assertEqual((status["currentReplicas"], status["desiredReplicas"]), (2, 4))
        current = status["currentMetrics"][0]["resource"]["current"]
        self.assertEqual((current["averageUtilization"], current["averageValue"]), (100, "100m"))
        self.use("10m")
        self.settle(60)
        self.assertEqual(self.replicas, 4)
        self.assertEqual(self.condition(self.stored, "AbleToScale")[1], "ScaleDownStabilized")
        self.settle(300)
        self.assertEqual(self.replicas, 1)
        self.assertIn("New size: 1; reason: All metrics below target", [text for _, text in self.events("web")])

    def test_no_request(self) -> None:
        """Without a request there is no utilization."""
        self.deploy(1, {"name": "c", "image": "i"})
        self.use("100m")
        self.scale(CPU)
        text = "failed to get cpu utilization: missing request for cpu"
        expected = ("False", "FailedGetResourceMetric", f"the HPA was unable to compute the replica count: {text}")
        self.assertEqual(self.condition(self.stored, "ScalingActive"), expected)
        reasons = [reason for reason, _ in self.events("web")]
        self.assertIn("FailedGetResourceMetric", reasons)
        self.assertIn("FailedComputeMetricsReplicas", reasons)

    def test_noted_metrics(self) -> None:
        """Metrics that no pod uses have the values that annotations give them."""
        self.deploy(2)
        self.use("1m")
        pods = {"type": "Pods", "pods": {
            "metric": {"name": "hits"}, "target": {"type": "AverageValue", "averageValue": "10"},
        }}
        queue = {"type": "External", "external": {
            "metric": {"name": "queue"}, "target": {"type": "AverageValue", "averageValue": "5"},
        }}
        notes = {"simulate.orch.io/metric.hits": "20", "simulate.orch.io/metric.queue": "30"}
        self.scale(pods, queue, notes=notes)
        self.assertEqual(self.replicas, 4)
        self.use("1m")
        self.settle(16)
        self.assertEqual(self.replicas, 8)

    def test_bounds(self) -> None:
        """The bounds hold whatever the metrics say; a target of no replicas is left alone."""
        self.deploy(1)
        self.scale(CPU, minReplicas=3)
        self.assertEqual(self.replicas, 3)
        self.merge("deployments", "web", {"spec": {"replicas": 0}})
        self.settle(16)
        self.assertEqual(self.replicas, 0)
        self.assertEqual(self.condition(self.stored, "ScalingActive")[:2], ("False", "ScalingDisabled"))

    def test_no_target(self) -> None:
        """A target that is not there is told of."""
        self.scale(CPU)
        self.assertEqual(self.condition(self.stored, "AbleToScale")[:2], ("False", "FailedGetScale"))
        self.assertEqual(self.events("web")[0][0], "FailedGetScale")


class KubernetesAutoscalerTests(AutoscalerTests):
    vocabulary = "kubernetes"
