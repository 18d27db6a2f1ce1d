"""Imitated nodes: they renew their leases, run what is bound to them at once, and end what is deleted."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from itertools import count

from twisted.internet.defer import Deferred
from twisted.internet.task import LoopingCall

from orchtw.wire.objects import Object
from tests.end_to_end.client import Client

LOOK_S = 0.3
NODES = "/api/v1/nodes"
LEASES = "/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases"


def now(*, micro: bool = False) -> str:
    """The time as the API writes it."""
    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ" if micro else "%Y-%m-%dT%H:%M:%SZ")


class NodeAgents:
    """The agents of all nodes, under Kubernetes' names. Pods that do not start anew succeed in their second look."""

    def __init__(self, client: Client, names: Sequence[str]) -> None:
        self.names = names
        self.failures: list[str] = []
        self._client = client
        self._addresses = count(1)
        self._looking = LoopingCall(lambda: Deferred.fromCoroutine(self._look()))

    async def start(self) -> None:
        """Register the nodes and begin to look."""
        for name in self.names:
            labels = {"kubernetes.io/hostname": name, "kubernetes.io/os": "linux", "kubernetes.io/arch": "amd64"}
            await self._client.post(NODES, {"metadata": {"name": name, "labels": labels}})
            await self._client.post(LEASES, {"metadata": {"name": name}, "spec": {"holderIdentity": name}})
            room = {"cpu": "8", "memory": "32Gi", "pods": "110", "ephemeral-storage": "100Gi"}
            ready = {
                "type": "Ready",
                "status": "True",
                "reason": "NodeIsReady",
                "lastHeartbeatTime": now(),
                "lastTransitionTime": now(),
            }
            status = {"capacity": room, "allocatable": room, "conditions": [ready]}
            await self._client.merge(f"{NODES}/{name}/status", {"status": status})
        self._looking.start(LOOK_S).addErrback(lambda failure: self.failures.append(str(failure)))

    def stop(self) -> None:
        """Stop looking for changes."""
        if self._looking.running:
            self._looking.stop()

    async def _look(self) -> None:
        for name in self.names:
            await self._client.merge(f"{LEASES}/{name}", {"spec": {"renewTime": now(micro=True)}})
        for pod in (await self._client.get("/api/v1/pods")).json["items"]:
            if pod["spec"].get("nodeName") in self.names:
                await self._tend(pod)

    async def _tend(self, pod: Object) -> None:
        meta = pod["metadata"]
        path = f"/api/v1/namespaces/{meta['namespace']}/pods/{meta['name']}"
        if "deletionTimestamp" in meta:
            options = {"gracePeriodSeconds": 0, "preconditions": {"uid": meta["uid"]}}
            answer = await self._client.delete(path, options)
        elif pod["status"]["phase"] == "Pending":
            answer = await self._client.merge(f"{path}/status", {"status": self._running(pod)})
        elif pod["status"]["phase"] == "Running" and pod["spec"]["restartPolicy"] != "Always":
            answer = await self._client.merge(f"{path}/status", {"status": _succeeded(pod)})
        else:
            return
        if answer.code not in (200, 404, 409):
            self.failures.append(str(answer))

    def _running(self, pod: Object) -> Object:
        number = next(self._addresses)
        address = f"10.200.{number // 250}.{number % 250 + 1}"
        conditions = [
            {"type": kind, "status": "True", "lastTransitionTime": now()}
            for kind in ("Initialized", "Ready", "ContainersReady", "PodScheduled")
        ]
        return {
            "phase": "Running",
            "startTime": now(),
            "podIP": address,
            "podIPs": [{"ip": address}],
            "hostIP": "10.1.0.1",
            "conditions": conditions,
            "containerStatuses": _containers(pod, {"running": {"startedAt": now()}}, ready=True),
        }


def _succeeded(pod: Object) -> Object:
    ended = {"terminated": {"exitCode": 0, "reason": "Completed", "startedAt": now(), "finishedAt": now()}}
    return {"phase": "Succeeded", "containerStatuses": _containers(pod, ended, ready=False)}


def _containers(pod: Object, state: Object, *, ready: bool) -> list[Object]:
    return [
        {
            "name": each["name"],
            "image": each["image"],
            "imageID": "sha256:0",
            "containerID": "imitated://0",
            "ready": ready,
            "started": ready,
            "restartCount": 0,
            "state": state,
        }
        for each in pod["spec"]["containers"]
    ]
