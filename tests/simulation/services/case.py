"""Services and pods over a registry in memory."""

from __future__ import annotations

from typing import Any

from orchtw.wire.objects import Object
from tests.simulation.workloads.case import LABELS, SPEC, WorkloadCase


class ServiceCase(WorkloadCase):
    """Tests with controllers of Services, in namespace `a`."""

    def service(self, name: str = "web", **spec: Any) -> Object:
        """Create a Service, by default of the pods with LABELS and their port 8080."""
        given = {"selector": LABELS, "clusterIP": "10.0.0.7", "ports": [{"port": 80, "targetPort": 8080}], **spec}
        return self.create("services", {"metadata": {"name": name, "labels": {"team": "x"}}, "spec": given}, "v1")

    def backend(self, name: str, ip: str, *, ready: bool = True, node: str = "node-0", **spec: Any) -> None:
        """Create a pod that has an address, ready or not."""
        container = {**SPEC["containers"][0], "ports": [{"name": "http", "containerPort": 8081}]}
        meta = {"name": name, "labels": LABELS}
        pod = {"metadata": meta, "spec": {**SPEC, "containers": [container], "nodeName": node, **spec}}
        self.create("pods", pod, "v1")
        self.mark(name, "Running", ready=ready)
        self.merge("pods", name, {"status": {"podIP": ip, "podIPs": [{"ip": ip}]}}, "v1", "status")
