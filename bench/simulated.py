"""CPU of a simulated cluster that comes up: `python -m bench.simulated 1000 200 50`.

The arguments are the numbers of nodes, of Deployments, and of the pods of each. One JSON line has the time from the
first Deployment to the last available pod, and what the server used in it; nodes were ready before.
"""

from __future__ import annotations

import json
import sys
import time
from typing import Any

from bench.machine import cpu_s, rss_mib
from orchtw.testing import ApiServer

LOOK_S = 2.0
"""Seconds between two looks: a list of a thousand nodes costs the server as much as some pods."""
LIMIT_S = 1800.0


def deployment(name: str, replicas: int) -> dict[str, Any]:
    """Return a Deployment of small pods."""
    requests = {"cpu": "10m"}
    container = {"name": "c", "image": "i", "resources": {"requests": requests}}
    template = {"metadata": {"labels": {"app": name}}, "spec": {"containers": [container]}}
    spec = {"replicas": replicas, "selector": {"matchLabels": {"app": name}}, "template": template}
    return {"metadata": {"name": name}, "spec": spec}


def ready_nodes(server: ApiServer) -> int:
    """Return the number of ready nodes."""
    nodes = server.request("GET", "/api/v1/nodes").json["items"]
    found = (each for node in nodes for each in node.get("status", {}).get("conditions", ()))
    return sum(each["type"] == "Ready" and each["status"] == "True" for each in found)


def available_pods(server: ApiServer) -> int:
    """Return the number of available pods."""
    found = server.request("GET", "/apis/apps/v1/deployments").json["items"]
    return sum(each.get("status", {}).get("availableReplicas", 0) for each in found)


def measured(nodes: int, deployments: int, replicas: int) -> dict[str, Any]:
    """Bring a cluster up; return what it took. Raises TimeoutError after half an hour."""
    end, pods = time.monotonic() + LIMIT_S, deployments * replicas
    with ApiServer(flags=(f"--simulate=nodes={nodes},workloads,services",)) as server:
        while ready_nodes(server) < nodes:
            time.sleep(LOOK_S)
        began, used_s = time.monotonic(), cpu_s(server.pid)
        for number in range(deployments):
            body = deployment(f"d{number}", replicas)
            server.request("POST", "/apis/apps/v1/namespaces/default/deployments", body).checked("a Deployment")
        while available_pods(server) < pods:
            if time.monotonic() > end:
                raise TimeoutError(f"{available_pods(server)} of {pods} pods were available after {LIMIT_S:.0f} s")
            time.sleep(LOOK_S)
        used_s = cpu_s(server.pid) - used_s
        cost = {"cpu_s": round(used_s, 1), "cpu_ms_per_pod": round(used_s * 1000 / pods, 2)}
        secs, size = round(time.monotonic() - began, 1), round(rss_mib(server.pid))
        return {"nodes": nodes, "pods": pods, "secs": secs, **cost, "rss_mib": size}


if __name__ == "__main__":
    print(json.dumps(measured(*map(int, sys.argv[1:4]))))
