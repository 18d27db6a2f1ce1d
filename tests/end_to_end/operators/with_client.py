"""An operator of bakeries on the public Python client alone: list, watch, reconcile, over and over."""

from __future__ import annotations

import os
import time
from typing import Any

import kubernetes
import urllib3
from kubernetes import watch

GROUP, NAMESPACE = os.environ["BAKERY_GROUP"], os.environ["BAKERY_NAMESPACE"]
BAKERIES = (GROUP, "v1", NAMESPACE, "bakeries")
FINALIZER = f"{GROUP}/close"
PAUSE_S = 0.2
WATCH_S = 5

kubernetes.config.load_kube_config(os.environ["KUBECONFIG"])
apps = kubernetes.client.AppsV1Api()
core = kubernetes.client.CoreV1Api()
custom = kubernetes.client.CustomObjectsApi()


def reconcile(bakery: Any) -> None:
    """Bring about what the bakery says."""
    meta, spec = bakery["metadata"], bakery["spec"]
    finalizers = meta.get("finalizers") or []
    if "deletionTimestamp" in meta:
        if FINALIZER in finalizers:
            core.patch_namespaced_config_map("ledger", NAMESPACE, {"data": {meta["name"]: "closed"}})
            meta["finalizers"] = [each for each in finalizers if each != FINALIZER]
            custom.replace_namespaced_custom_object(*BAKERIES, meta["name"], bakery)
        return
    if FINALIZER not in finalizers:
        meta["finalizers"] = [*finalizers, FINALIZER]
        bakery = custom.replace_namespaced_custom_object(*BAKERIES, meta["name"], bakery)
    deploy(bakery)
    status = bakery.get("status") or {}
    wanted = {"ovens": spec["ovens"], "selector": f"bakery={meta['name']}", "observedGeneration": meta["generation"]}
    if any(status.get(key) != value for key, value in wanted.items()):
        custom.patch_namespaced_custom_object_status(*BAKERIES, meta["name"], {"status": wanted})


def deploy(bakery: Any) -> None:
    """A deployment with as many replicas as ovens."""
    meta, spec = bakery["metadata"], bakery["spec"]
    owner = {
        "apiVersion": bakery["apiVersion"], "kind": bakery["kind"], "name": meta["name"], "uid": meta["uid"],
        "controller": True, "blockOwnerDeletion": True,
    }  # fmt: skip
    labels = {"bakery": meta["name"]}
    container = {"name": "oven", "image": f"example.com/oven:{spec['flour']}"}
    template = {"metadata": {"labels": labels}, "spec": {"containers": [container]}}
    wanted = {"replicas": spec["ovens"], "selector": {"matchLabels": labels}, "template": template}
    body: Any = {"metadata": {"name": meta["name"], "ownerReferences": [owner]}, "spec": wanted}
    try:
        apps.create_namespaced_deployment(NAMESPACE, body)
    except kubernetes.client.ApiException as error:
        if error.status != 409:
            raise
        apps.patch_namespaced_deployment(meta["name"], NAMESPACE, {"spec": {"replicas": spec["ovens"]}})


def follow() -> None:
    """All bakeries, then what happens to them."""
    listing: Any = custom.list_namespaced_custom_object(*BAKERIES)
    for item in listing["items"]:
        reconcile(item)
    events = watch.Watch().stream(
        custom.list_namespaced_custom_object,
        *BAKERIES,
        resource_version=listing["metadata"]["resourceVersion"],
        timeout_seconds=WATCH_S,
    )
    for event in events:
        if event["type"] != "DELETED":
            reconcile(event["object"])


while True:
    try:
        follow()
    except (kubernetes.client.ApiException, urllib3.exceptions.HTTPError):
        time.sleep(PAUSE_S)
