"""Documents of the metrics API: discovery, and the use of nodes and pods (reference SIM-26)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from orchtw.naming.naming import Naming
from orchtw.simulation.usage.usage import Usage
from orchtw.values.times import rfc3339
from orchtw.wire.objects import Object

GROUP: Final = "metrics.orch.io"
VERSION: Final = "v1beta1"
WINDOW: Final = "30s"


def api_group(naming: Naming) -> Object:
    """Return the discovery document of the group."""
    version = {"groupVersion": _group_version(naming), "version": VERSION}
    group = naming.group(GROUP)
    return {
        "kind": "APIGroup", "apiVersion": "v1", "name": group, "versions": [version], "preferredVersion": version
    }


def api_resources(naming: Naming) -> Object:
    """Return the discovery document of its version."""
    resources = [
        {"name": name, "singularName": "", "namespaced": namespaced, "kind": kind, "verbs": ["get", "list"]}
        for name, namespaced, kind in (("nodes", False, "NodeMetrics"), ("pods", True, "PodMetrics"))
    ]
    return {
        "kind": "APIResourceList", "apiVersion": "v1", "groupVersion": _group_version(naming), "resources": resources
    }


def node_metrics(naming: Naming, node: Object, usage: Usage, now: float) -> Object:
    """Return the use of a node."""
    return {**_head(naming, "NodeMetrics", node, now), "usage": usage.quantities()}


def pod_metrics(naming: Naming, pod: Object, used: dict[str, Usage], now: float) -> Object:
    """Return the use of a pod by its containers."""
    containers = [{"name": name, "usage": each.quantities()} for name, each in used.items()]
    return {**_head(naming, "PodMetrics", pod, now), "containers": containers}


def metrics_list(naming: Naming, kind: str, items: Sequence[Object]) -> Object:
    """Return a list of metrics."""
    return {"kind": f"{kind}List", "apiVersion": _group_version(naming), "metadata": {}, "items": list(items)}


def _head(naming: Naming, kind: str, obj: Object, now: float) -> Object:
    meta = obj["metadata"]
    kept = {key: meta[key] for key in ("name", "namespace", "labels") if meta.get(key)}
    return {
        "kind": kind,
        "apiVersion": _group_version(naming),
        "metadata": {**kept, "creationTimestamp": rfc3339(int(now))},
        "timestamp": rfc3339(int(now)),
        "window": WINDOW,
    }


def _group_version(naming: Naming) -> str:
    return f"{naming.group(GROUP)}/{VERSION}"
