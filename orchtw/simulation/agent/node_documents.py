"""Documents about a node: the resources that it and its pods use."""

from __future__ import annotations

from collections.abc import Mapping

from orchtw.simulation.usage.usage import SYSTEM, Usage, total
from orchtw.values.times import rfc3339
from orchtw.wire.objects import Object

PodUsage = Mapping[tuple[str, str], Mapping[str, Usage]]


def summary(node: str, pods: PodUsage, now: float) -> Object:
    """Return the document of `/stats/summary`."""
    time = rfc3339(int(now))
    of_node = SYSTEM.plus(total(total(each.values()) for each in pods.values()))
    return {
        "node": {"nodeName": node, **_stats(of_node, time)},
        "pods": [
            {
                "podRef": {"namespace": namespace, "name": name},
                "containers": [{"name": each, **_stats(used, time)} for each, used in containers.items()],
                **_stats(total(containers.values()), time),
            }
            for (namespace, name), containers in pods.items()
        ],
    }


def resource_metrics(pods: PodUsage) -> str:
    """Return the text of `/metrics/resource`."""
    of_node = SYSTEM.plus(total(total(each.values()) for each in pods.values()))
    lines = [
        "# TYPE node_cpu_usage_seconds gauge",
        f"node_cpu_usage_seconds {of_node.cpu / 1e9}",
        "# TYPE node_memory_working_set_bytes gauge",
        f"node_memory_working_set_bytes {of_node.memory}",
        "# TYPE container_memory_working_set_bytes gauge",
    ]
    for (namespace, name), containers in pods.items():
        for each, used in containers.items():
            labels = f'container="{each}",namespace="{namespace}",pod="{name}"'
            lines.append(f"container_memory_working_set_bytes{{{labels}}} {used.memory}")
    return "\n".join(lines) + "\n"


def _stats(used: Usage, time: str) -> Object:
    return {
        "cpu": {"time": time, "usageNanoCores": used.cpu},
        "memory": {"time": time, "workingSetBytes": used.memory},
    }
