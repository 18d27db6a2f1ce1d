"""Writes about a pod that fits nowhere: its condition, its event, and the end of others (reference SIM-68)."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress

import msgspec

from orchtw.client.concurrency import each
from orchtw.client.event_recorder import EventRecorder
from orchtw.client.interface import PLAIN_DELETE, Client
from orchtw.errors import Conflict, NotFound
from orchtw.simulation.clock import SimulationClock
from orchtw.simulation.informers import SharedInformer
from orchtw.simulation.scheduling.decisions import Rejection
from orchtw.simulation.scheduling.pod_info import PodInfo
from orchtw.values.times import rfc3339
from orchtw.wire.objects import Object

_AT_A_TIME = 8


class Rejecter:
    """Writer of rejections to pods, events and victims."""

    def __init__(
        self, client: Client, events: EventRecorder, clock: SimulationClock, pods: SharedInformer
    ) -> None:
        self._client = client
        self._events = events
        self._clock = clock
        self._pods = pods

    async def write(self, rejection: Rejection) -> None:
        """End the victims, and tell what became of the pod. Raises Conflict (409) if it has changed meanwhile."""

        async def end(victim: PodInfo) -> None:
            await self._end(victim, rejection)

        await each(rejection.victims, end, _AT_A_TIME)
        for other in rejection.displaced:
            await self._patch_status(other, {"nominatedNodeName": None})
        pod = rejection.pod
        stored = self._pods.get(pod.key)
        if stored is None or stored["metadata"]["uid"] != pod.uid:
            return
        conditions = self._unscheduled((stored.get("status") or {}).get("conditions") or (), rejection.message)
        changes: Object = {}
        if conditions is not None:
            changes["conditions"] = conditions
            await self._events.record(reference(pod), "Warning", "FailedScheduling", rejection.message)
        if rejection.node != (stored["status"].get("nominatedNodeName") or ""):
            changes["nominatedNodeName"] = rejection.node or None
        if changes:
            await self._patch_status(pod, changes, stored["metadata"]["resourceVersion"])

    async def _end(self, victim: PodInfo, rejection: Rejection) -> None:
        options = msgspec.structs.replace(PLAIN_DELETE, precondition_uid=victim.uid)
        with suppress(NotFound, Conflict):
            if not victim.terminating:
                await self._client.delete(self._pods.resource, victim.namespace, victim.name, options)
                message = f"Preempted by {rejection.pod.key} on node {rejection.node}"
                await self._events.record(reference(victim), "Normal", "Preempted", message)

    async def _patch_status(self, pod: PodInfo, changes: Object, version: str = "") -> None:
        meta = {"uid": pod.uid, **({"resourceVersion": version} if version else {})}
        with suppress(NotFound):
            resource = self._pods.resource
            await self._client.patch(
                resource, pod.namespace, pod.name, {"metadata": meta, "status": changes}, "status"
            )

    def _unscheduled(self, conditions: Sequence[Object], message: str) -> list[Object] | None:
        """Return a pod's conditions with the one that says why it has no node; None if it has that already."""
        old = next((each for each in conditions if each["type"] == "PodScheduled"), None)
        if old is not None and old["status"] == "False" and old.get("message") == message:
            return None
        kept = old is not None and old["status"] == "False"
        made = {
            "type": "PodScheduled",
            "status": "False",
            "lastProbeTime": None,
            "lastTransitionTime": old["lastTransitionTime"] if old and kept else rfc3339(int(self._clock.now())),
            "reason": "Unschedulable",
            "message": message,
        }
        return [*(each for each in conditions if each["type"] != "PodScheduled"), made]


def reference(pod: PodInfo) -> Object:
    """Return a pod as events name it."""
    return {"apiVersion": "v1", "kind": "Pod", "namespace": pod.namespace, "name": pod.name, "uid": pod.uid}
