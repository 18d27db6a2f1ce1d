"""Deployments and ReplicaSets as tests of computations need them."""

from __future__ import annotations

from typing import Any

from orchtw.wire.objects import Object


def deployment(replicas: int, surge: int | str = "25%", unavailable: int | str = "25%", **more: Any) -> Object:
    """A Deployment of that size, which is updated step by step."""
    rolling = {"maxSurge": surge, "maxUnavailable": unavailable}
    strategy = {"type": "RollingUpdate", "rollingUpdate": rolling}
    meta = {"name": "web", "uid": "d", "generation": 1, "annotations": more.pop("annotations", {})}
    status = more.pop("status", {})
    spec = {"replicas": replicas, "strategy": strategy, "template": template(1), **more}
    return {"metadata": meta, "spec": spec, "status": status}


def template(version: int) -> Object:
    """A template of that version."""
    return {"metadata": {"labels": {"app": "web"}}, "spec": {"containers": [{"image": f"web:{version}"}]}}


def replica_set(name: str, size: int, available: int | None = None, **more: Any) -> Object:
    """A ReplicaSet of that size, with all or some pods available; a later name is a younger one."""
    annotations, version = more.pop("annotations", {}), more.pop("version", 1)
    created = f"2026-01-01T00:00:0{name[-1]}Z"
    meta = {"name": name, "uid": name, "creationTimestamp": created, "annotations": annotations}
    count = size if available is None else available
    status = {"replicas": size, "readyReplicas": count, "availableReplicas": count, **more}
    return {"metadata": meta, "spec": {"replicas": size, "template": template(version)}, "status": status}
