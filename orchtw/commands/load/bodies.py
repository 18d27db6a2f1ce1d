"""Objects that are sent, encoded once: only names, numbers and times are put in."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import orjson

from orchtw.naming.naming import Naming

LABEL: Final = "orch-load"
"""Label of every object of this program; its value is the prefix of the run's names."""

SCHEDULER: Final = f"{LABEL}-scheduler"
"""Scheduler of the pods that this program binds itself."""

_CONTAINER: Final[Mapping[str, Any]] = {
    "name": "web",
    "image": "registry.example/web/frontend:1",
    "command": ["/bin/server"],
    "args": ["--listen=:8080", "--log-level=info", "--cache-dir=/var/cache/web"],
    "ports": [{"name": "http", "containerPort": 8080}, {"name": "metrics", "containerPort": 9090}],
    "env": [{"name": "ENVIRONMENT", "value": "production"}, {"name": "REGION", "value": "north-1"}],
    "resources": {"requests": {"cpu": "10m", "memory": "16Mi"}, "limits": {"cpu": "500m", "memory": "256Mi"}},
    "livenessProbe": {"httpGet": {"path": "/healthz", "port": 8080}, "periodSeconds": 10},
    "readinessProbe": {"httpGet": {"path": "/ready", "port": 8080}, "periodSeconds": 5},
    "volumeMounts": [{"name": "cache", "mountPath": "/var/cache/web"}],
}
_POD: Final[Mapping[str, Any]] = {
    "automountServiceAccountToken": False,
    "terminationGracePeriodSeconds": 30,
    "containers": [_CONTAINER],
    "volumes": [{"name": "cache", "emptyDir": {}}],
}
_CAPACITY: Final = {"cpu": "32", "memory": "128Gi", "pods": "250", "ephemeral-storage": "100Gi"}
_NODE_CONDITIONS: Final = (
    ("MemoryPressure", "False"), ("DiskPressure", "False"), ("PIDPressure", "False"), ("Ready", "True"),
)  # fmt: skip


class Template:
    """JSON with places for texts, which are named `@LIKE_THIS@` in it and stand inside of strings."""

    def __init__(self, value: object, *places: str) -> None:
        text = orjson.dumps(value).decode().replace("%", "%%")
        for place in places:
            text = text.replace(f"@{place}@", f"%({place})s")
        self._format = text

    def render(self, **values: str) -> bytes:
        """Return the JSON with the values in their places."""
        return (self._format % values).encode()


class Bodies:
    """Templates of all objects, in the names of the server's vocabulary and with the run's label."""

    def __init__(self, naming: Naming, prefix: str) -> None:
        self._naming = naming
        self.labels = {LABEL: prefix}
        self.pod = Template(self._pod(), "NAME", "APP")
        self.bound_pod = Template(self._pod(nodeName="@NODE@"), "NAME", "APP", "NODE")
        self.binding = Template(
            {"apiVersion": "v1", "kind": "Binding", "metadata": {"name": "@NAME@"},
             "target": {"apiVersion": "v1", "kind": "Node", "name": "@NODE@"}},
            "NAME", "NODE",
        )  # fmt: skip
        self.running = Template(self._pod_status(running=True), "TIME", "IP")
        self.terminated = Template(self._pod_status(running=False), "TIME", "IP")
        self.node = Template(self._node(), "NAME", "TIME")
        self.node_status = Template({"status": {"conditions": _node_conditions()}}, "TIME")
        self.lease = Template(self._lease(), "NAME", "UID", "TIME", "VERSION")
        self.event = Template(
            self._event(), "NAME", "NAMESPACE", "POD", "UID", "REASON", "MESSAGE", "COMPONENT", "NODE", "TIME"
        )

    def namespace(self, name: str) -> bytes:
        """Return a namespace with the run's label."""
        return orjson.dumps({"apiVersion": "v1", "kind": "Namespace", "metadata": self._metadata(name)})

    def deployment(self, name: str, replicas: int, *, scheduled: bool) -> bytes:
        """Return a Deployment; its pods are left to the server's own scheduler if they are to be `scheduled`."""
        spec = {**_POD, **({} if scheduled else {"schedulerName": SCHEDULER})}
        labels = {"app": name, **self.labels}
        value = {
            "apiVersion": "apps/v1",
            "kind": "Deployment",
            "metadata": self._metadata(name),
            "spec": {
                "replicas": replicas,
                "selector": {"matchLabels": {"app": name}},
                "template": {"metadata": {"labels": labels}, "spec": spec},
            },
        }
        return orjson.dumps(value)

    def image(self, revision: int) -> bytes:
        """Return the patch of a Deployment to another image."""
        container = {"name": _CONTAINER["name"], "image": f"registry.example/web/frontend:{revision}"}
        return orjson.dumps({"spec": {"template": {"spec": {"containers": [container]}}}})

    def service(self, name: str, *, selecting: bool) -> bytes:
        """Return a Service; without a selector its endpoints are this program's."""
        spec: dict[str, Any] = {"ports": [{"name": "http", "port": 80, "targetPort": 8080}]}
        if selecting:
            spec["selector"] = {"app": name}
        return orjson.dumps({"apiVersion": "v1", "kind": "Service", "metadata": self._metadata(name), "spec": spec})

    def slice(self, name: str) -> bytes:
        """Return an EndpointSlice of the Service of its name, without endpoints."""
        owner = self._naming.translate("orch.io/service-name")
        by = self._naming.translate("endpointslice.orch.io/managed-by")
        value = {
            "apiVersion": self._naming.api_version("discovery.orch.io/v1"),
            "kind": "EndpointSlice",
            "metadata": self._metadata(name, {owner: name, by: LABEL}),
            "addressType": "IPv4",
            "ports": [{"name": "http", "port": 8080, "protocol": "TCP"}],
            "endpoints": [],
        }
        return orjson.dumps(value)

    def _metadata(self, name: str, labels: Mapping[str, str] | None = None) -> dict[str, Any]:
        return {"name": name, "labels": {**self.labels, **(labels or {})}}

    def _pod(self, **spec: str) -> dict[str, Any]:
        metadata = self._metadata("@NAME@", {"app": "@APP@", "tier": "frontend"})
        return {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": metadata,
            "spec": {**_POD, "schedulerName": SCHEDULER, **spec},
        }

    def _pod_status(self, *, running: bool) -> dict[str, Any]:
        ready = "True" if running else "False"
        conditions = [
            {"type": kind, "status": ready, "lastTransitionTime": "@TIME@", "lastProbeTime": None}
            for kind in ("Ready", "ContainersReady", *(("Initialized", "PodScheduled") if running else ()))
        ]
        ended = {"exitCode": 0, "reason": "Completed", "finishedAt": "@TIME@", "containerID": "containerd://1"}
        container = {
            "name": _CONTAINER["name"],
            "image": _CONTAINER["image"],
            "imageID": "registry.example/web/frontend@sha256:" + "0" * 64,
            "containerID": "containerd://1",
            "ready": running,
            "started": running,
            "restartCount": 0,
            "state": {"running": {"startedAt": "@TIME@"}} if running else {"terminated": ended},
        }
        status: dict[str, Any] = {"conditions": conditions, "containerStatuses": [container]}
        if running:
            status |= {"phase": "Running", "podIP": "@IP@", "podIPs": [{"ip": "@IP@"}], "startTime": "@TIME@"}
        return {"status": status}

    def _node(self) -> dict[str, Any]:
        host, zone = (self._naming.translate(each) for each in ("orch.io/hostname", "topology.orch.io/zone"))
        return {
            "apiVersion": "v1",
            "kind": "Node",
            "metadata": self._metadata("@NAME@", {host: "@NAME@", zone: "zone-1"}),
            "spec": {},
            "status": {
                "capacity": _CAPACITY,
                "allocatable": _CAPACITY,
                "conditions": _node_conditions(),
                "addresses": [{"type": "Hostname", "address": "@NAME@"}],
                "nodeInfo": dict.fromkeys(
                    ("machineID", "systemUUID", "bootID", "kernelVersion", "osImage", "containerRuntimeVersion",
                     "kubeletVersion", "kubeProxyVersion", "operatingSystem", "architecture"),
                    LABEL,
                ),
            },
        }  # fmt: skip

    def _lease(self) -> dict[str, Any]:
        owner = {"apiVersion": "v1", "kind": "Node", "name": "@NAME@", "uid": "@UID@"}
        return {
            "apiVersion": self._naming.api_version("coordination.orch.io/v1"),
            "kind": "Lease",
            "metadata": {**self._metadata("@NAME@"), "resourceVersion": "@VERSION@", "ownerReferences": [owner]},
            "spec": {"holderIdentity": "@NAME@", "leaseDurationSeconds": 40, "renewTime": "@TIME@"},
        }

    def _event(self) -> dict[str, Any]:
        pod = {"apiVersion": "v1", "kind": "Pod", "name": "@POD@", "namespace": "@NAMESPACE@", "uid": "@UID@"}
        return {
            "apiVersion": "v1",
            "kind": "Event",
            "metadata": self._metadata("@NAME@"),
            "involvedObject": pod,
            "type": "Normal",
            "reason": "@REASON@",
            "message": "@MESSAGE@",
            "source": {"component": "@COMPONENT@", "host": "@NODE@"},
            "firstTimestamp": "@TIME@",
            "lastTimestamp": "@TIME@",
            "count": 1,
        }


def endpoints(addresses: Mapping[str, str]) -> bytes:
    """Return the merge patch of an EndpointSlice to the addresses of pods, whose names are the keys."""
    found = [
        {"addresses": [address], "conditions": {"ready": True}, "targetRef": {"kind": "Pod", "name": name}}
        for name, address in addresses.items()
    ]
    return orjson.dumps({"endpoints": found})


def _node_conditions() -> list[dict[str, str]]:
    return [
        {"type": kind, "status": status, "lastHeartbeatTime": "@TIME@", "lastTransitionTime": "@TIME@",
         "reason": "OrchLoad", "message": "reported by orch-load"}
        for kind, status in _NODE_CONDITIONS
    ]  # fmt: skip
