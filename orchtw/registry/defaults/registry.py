"""Which function completes which kind."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from orchtw.registry.defaults import (
    apiextensions,
    apps,
    batch,
    claims,
    core,
    networking,
    node,
    pod,
    rbac,
    service,
)

Fill = Callable[[dict[str, Any]], None]

FILLS: dict[tuple[str, str], Fill] = {
    ("", "LimitRange"): core.fill_limit_range,
    ("", "Node"): core.fill_node,
    ("", "PersistentVolume"): claims.fill_volume,
    ("", "PersistentVolumeClaim"): claims.fill_claim,
    ("", "Pod"): pod.fill_pod,
    ("", "PodTemplate"): pod.fill_pod_template,
    ("", "ReplicationController"): core.fill_replication_controller,
    ("", "ResourceQuota"): core.fill_quota,
    ("", "Service"): service.fill_service,
    ("apiextensions", "CustomResourceDefinition"): apiextensions.fill_definition,
    ("apps", "DaemonSet"): apps.fill_daemon_set,
    ("apps", "Deployment"): apps.fill_deployment,
    ("apps", "ReplicaSet"): apps.fill_replica_set,
    ("apps", "StatefulSet"): apps.fill_stateful_set,
    ("batch", "CronJob"): batch.fill_cron_job,
    ("batch", "Job"): batch.fill_job,
    ("networking", "NetworkPolicy"): networking.fill_network_policy,
    ("node", "RuntimeClass"): node.fill_runtime_class,
    ("rbac", "ClusterRoleBinding"): rbac.fill_role_binding,
    ("rbac", "RoleBinding"): rbac.fill_role_binding,
}
"""By first word of the group and kind. Objects come in the version that they were sent in: see their apiVersion."""
