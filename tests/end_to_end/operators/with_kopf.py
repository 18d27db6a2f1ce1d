"""An operator of bakeries as a user of kopf writes it: `python -m kopf run --standalone --namespace N THIS`."""

from __future__ import annotations

import os
from typing import Any

import kopf
import kubernetes

GROUP = os.environ["BAKERY_GROUP"]
BAKERIES = (GROUP, "v1", "bakeries")

kubernetes.config.load_kube_config(os.environ["KUBECONFIG"])
apps = kubernetes.client.AppsV1Api()
core = kubernetes.client.CoreV1Api()


@kopf.on.startup()
def settle(settings: kopf.OperatorSettings, **_: Any) -> None:
    """Follow the kind to its end: kopf lets go of one that discovery shows without `patch`, as one that is ending is,
    and whether it sees that before or after the last objects is a race with any server.
    """
    settings.scanning.disabled = True


@kopf.on.create(*BAKERIES)
@kopf.on.resume(*BAKERIES)
@kopf.on.update(*BAKERIES, field="spec")
def bake(spec: Any, name: str, namespace: Any, patch: Any, meta: Any, body: Any, **_: Any) -> None:
    """A deployment with as many replicas as ovens, and a status that says so."""
    labels = {"bakery": name}
    container = {"name": "oven", "image": f"example.com/oven:{spec['flour']}"}
    deployment: Any = {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": name},
        "spec": {
            "replicas": spec["ovens"],
            "selector": {"matchLabels": labels},
            "template": {"metadata": {"labels": labels}, "spec": {"containers": [container]}},
        },
    }
    kopf.adopt(deployment, owner=body)
    try:
        apps.create_namespaced_deployment(namespace, deployment)
    except kubernetes.client.ApiException as error:
        if error.status != 409:
            raise
        apps.patch_namespaced_deployment(name, namespace, {"spec": {"replicas": spec["ovens"]}})
    patch.status["ovens"] = spec["ovens"]
    patch.status["selector"] = f"bakery={name}"
    patch.status["observedGeneration"] = meta["generation"]


@kopf.on.delete(*BAKERIES)
def close(name: str, namespace: Any, **_: Any) -> None:
    """The ledger remembers who has closed."""
    core.patch_namespaced_config_map("ledger", namespace, {"data": {name: "closed"}})
