"""Defaults of the groups that run pods: apps, batch and autoscaling (reference KIND-18, KIND-20)."""

from __future__ import annotations

from tests.registry.groups.test_defaults import ABSENT, LABELS, TEMPLATE, DefaultsCase


class AppsTests(DefaultsCase):
    """Defaults of group apps/v1."""

    def test_deployment(self) -> None:
        """strategy.rollingUpdate has 25% twice when the type is RollingUpdate."""
        quarter = {"maxUnavailable": "25%", "maxSurge": "25%"}
        self.check_spec("apps/v1", "Deployment", [
            ({}, {"strategy": {"type": "RollingUpdate", "rollingUpdate": quarter}, "revisionHistoryLimit": 10}),
            ({"strategy": {"rollingUpdate": {"maxSurge": 0}}},
             {"strategy.rollingUpdate": {"maxUnavailable": "25%", "maxSurge": 0}}),
            ({"strategy": {"type": "Recreate"}}, {"strategy": {"type": "Recreate"}}),
        ])  # fmt: skip

    def test_daemon_set(self) -> None:
        """updateStrategy.rollingUpdate has maxUnavailable 1 and maxSurge 0 when the type is RollingUpdate."""
        self.check_spec("apps/v1", "DaemonSet", [
            ({}, {"updateStrategy.rollingUpdate": {"maxUnavailable": 1, "maxSurge": 0}}),
            ({"updateStrategy": {"rollingUpdate": {"maxSurge": 2}}},
             {"updateStrategy.rollingUpdate": {"maxUnavailable": 1, "maxSurge": 2}}),
            ({"updateStrategy": {"type": "OnDelete"}}, {"updateStrategy": {"type": "OnDelete"}}),
        ])  # fmt: skip

    def test_stateful_set(self) -> None:
        """rollingUpdate appears when the type was absent; partition is 0 wherever it is there."""
        rolling = {"type": "RollingUpdate", "rollingUpdate": {"partition": 0}}
        self.check_spec("apps/v1", "StatefulSet", [
            ({}, {"updateStrategy": rolling}),
            ({"updateStrategy": {"type": "RollingUpdate"}}, {"updateStrategy": {"type": "RollingUpdate"}}),
            ({"updateStrategy": {"type": "RollingUpdate", "rollingUpdate": {}}}, {"updateStrategy": rolling}),
            ({"updateStrategy": {"rollingUpdate": {"maxUnavailable": 2}}},
             {"updateStrategy.rollingUpdate": {"partition": 0, "maxUnavailable": 2},
              "updateStrategy.type": "RollingUpdate"}),
            ({"updateStrategy": {"type": "OnDelete"}}, {"updateStrategy": {"type": "OnDelete"}}),
            ({"volumeClaimTemplates": [{"spec": {"resources": {"requests": {"storage": "1n"}}}}]},
             {"volumeClaimTemplates.0.spec.volumeMode": "Filesystem",
              "volumeClaimTemplates.0.spec.resources.requests.storage": "1m",
              "volumeClaimTemplates.0.status.phase": "Pending"}),
        ])  # fmt: skip


class BatchTests(DefaultsCase):
    """Defaults of batch/v1 and batch/v1beta1."""

    def test_job(self) -> None:
        """completions is 1 when parallelism is absent too; the rest has fixed values."""
        fixed = {"backoffLimit": 6, "completionMode": "NonIndexed", "suspend": False}
        self.check_spec("batch/v1", "Job", [
            ({"ttlSecondsAfterFinished": 5}, {"completions": 1, "parallelism": 1, **fixed}),
            ({"parallelism": 3}, {"completions": ABSENT, "parallelism": 3}),
            ({"completions": 3}, {"completions": 3, "parallelism": 1}),
            ({"backoffLimit": 0, "completionMode": "Indexed", "suspend": True},
             {"backoffLimit": 0, "completionMode": "Indexed", "suspend": True}),
        ])  # fmt: skip

    def test_job_labels(self) -> None:
        """metadata.labels are the template's when they are empty."""
        self.check("batch/v1", "Job", [
            ({"metadata": {"annotations": {"a": "b"}}, "spec": {"template": TEMPLATE}}, {"metadata.labels": LABELS}),
            ({"metadata": {"labels": {"x": "y"}}, "spec": {"template": TEMPLATE}}, {"metadata.labels": {"x": "y"}}),
        ])  # fmt: skip

    def test_cron_job(self) -> None:
        """The job in a cron job is completed when it is made, not before."""
        for api_version in ("batch/v1", "batch/v1beta1"):
            self.check_spec(api_version, "CronJob", [({}, {
                "concurrencyPolicy": "Allow", "suspend": False, "jobTemplate.spec.backoffLimit": ABSENT,
            })])  # fmt: skip


class AutoscalerTests(DefaultsCase):
    """Defaults of HorizontalPodAutoscalers in every version."""

    def test_metrics(self) -> None:
        """spec.metrics is 80 % of CPU when empty, in the words of the version."""
        target = {"type": "Utilization", "averageUtilization": 80}
        nested = [{"type": "Resource", "resource": {"name": "cpu", "target": target}}]
        flat = [{"type": "Resource", "resource": {"name": "cpu", "targetAverageUtilization": 80}}]
        for version, expected in [("v2", nested), ("v2beta2", nested), ("v2beta1", flat)]:
            self.check_spec(f"autoscaling/{version}", "HorizontalPodAutoscaler", [
                ({}, {"metrics": expected, "minReplicas": 1}),
                ({"metrics": []}, {"metrics": expected}),
                ({"metrics": [{"type": "Pods"}]}, {"metrics.0.type": "Pods"}),
            ])  # fmt: skip

    def test_percentage(self) -> None:
        """In v1 the percentage is 80 when there is no metric, annotations included (reference VER-12)."""
        annotation = "autoscaling.alpha.orch.io/metrics"
        metrics = '[{"type":"Resource","resource":{"name":"memory","targetAverageUtilization":3}}]'
        percentage = "spec.targetCPUUtilizationPercentage"
        self.check("autoscaling/v1", "HorizontalPodAutoscaler", [
            ({}, {percentage: 80}),
            ({"spec": {"targetCPUUtilizationPercentage": 5}}, {percentage: 5}),
            ({"metadata": {"annotations": {annotation: metrics}}}, {percentage: ABSENT}),
            ({"metadata": {"annotations": {annotation: "unreadable"}}}, {percentage: 80}),
        ])  # fmt: skip

    def test_behavior(self) -> None:
        """Both directions are completed when behavior is present; only up has a window."""
        percent = {"type": "Percent", "value": 100, "periodSeconds": 15}
        up = {"stabilizationWindowSeconds": 0, "selectPolicy": "Max",
              "policies": [{"type": "Pods", "value": 4, "periodSeconds": 15}, percent]}  # fmt: skip
        down = {"selectPolicy": "Max", "policies": [percent]}
        for version in ("v2", "v2beta2"):
            self.check_spec(f"autoscaling/{version}", "HorizontalPodAutoscaler", [
                ({}, {"behavior": ABSENT}),
                ({"behavior": {}}, {"behavior": {"scaleUp": up, "scaleDown": down}}),
                ({"behavior": {"scaleDown": {"stabilizationWindowSeconds": 9, "selectPolicy": "Disabled"}}},
                 {"behavior.scaleDown": {
                     "stabilizationWindowSeconds": 9, "selectPolicy": "Disabled", "policies": [percent]}}),
                ({"behavior": {"scaleUp": {"policies": [percent]}}},
                 {"behavior.scaleUp": {**up, "policies": [percent]}}),
            ])  # fmt: skip
