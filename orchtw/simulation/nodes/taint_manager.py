"""Taint manager: deletes the pods that do not tolerate their node's taints, or no longer (reference SIM-13)."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from math import inf

import msgspec

from orchtw.client.event_recorder import EventRecorder
from orchtw.client.interface import PLAIN_DELETE, Client
from orchtw.errors import NotFound
from orchtw.simulation.clock import SimulationClock
from orchtw.simulation.informers import SharedInformer
from orchtw.simulation.nodes.evictions import stay_s
from orchtw.wire.objects import Object

_REASON = "TaintManagerEviction"


class TaintManager:
    """Pods that have to go, by the simulated seconds at which their nodes were tainted."""

    def __init__(
        self, client: Client, pods: SharedInformer, events: EventRecorder, clock: SimulationClock
    ) -> None:
        self._client = client
        self._pods = pods
        self._events = events
        self._clock = clock
        self._since: dict[str, float] = {}

    def __contains__(self, key: str) -> bool:
        return key in self._since

    async def sync(self, key: str, pod: Object | None, taints: Sequence[Object]) -> float | None:
        """Delete a pod that may not stay under these taints; return the seconds for which it still may."""
        if pod is None or pod["metadata"].get("deletionTimestamp"):
            self._since.pop(key, None)
            return None
        now = self._clock.seconds()
        longest = stay_s(pod["spec"].get("tolerations") or (), taints)
        if longest == inf:
            if self._since.pop(key, None) is not None:
                await self._record(pod, f"Cancelling deletion of Pod {key}")
            return None
        left = self._since.setdefault(key, now) + longest - now
        if left > 0:
            return left
        self._since.pop(key, None)
        await self._record(pod, f"Marking for deletion Pod {key}")
        meta = pod["metadata"]
        with suppress(NotFound):
            options = msgspec.structs.replace(PLAIN_DELETE, precondition_uid=meta["uid"])
            await self._client.delete(self._pods.resource, meta["namespace"], meta["name"], options)
        return None

    async def _record(self, pod: Object, message: str) -> None:
        meta = pod["metadata"]
        reference = {"apiVersion": "v1", "kind": "Pod", "namespace": meta["namespace"], "name": meta["name"]}
        await self._events.record({**reference, "uid": meta["uid"]}, "Normal", _REASON, message)
