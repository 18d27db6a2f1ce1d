"""Writes that put a pod on its node: its volumes first, then the binding (reference SIM-68)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from orchtw.client.event_recorder import EventRecorder
from orchtw.client.interface import Client
from orchtw.errors import NotFound
from orchtw.naming.naming import Naming
from orchtw.simulation.clock import SimulationClock
from orchtw.simulation.informers import SharedInformer
from orchtw.simulation.scheduling.decisions import Placement
from orchtw.simulation.scheduling.rejecting import reference
from orchtw.simulation.scheduling.volumes import is_bound
from orchtw.values.times import rfc3339
from orchtw.wire.objects import Object

BIND_TIMEOUT_S: Final = 600.0
"""Simulated seconds for which a pod waits for its volumes."""


class NotBound(Exception):
    """Error: the volumes of a pod could not be had; its text is for users."""


class Binder:
    """Writes of placements. `claims` is None where claims are not served: no pod has one."""

    def __init__(
        self,
        client: Client,
        events: EventRecorder,
        naming: Naming,
        clock: SimulationClock,
        pods: SharedInformer,
        claims: SharedInformer | None,
    ) -> None:
        self._client = client
        self._events = events
        self._naming = naming
        self._clock = clock
        self._pods = pods
        self._claims = claims
        self._selected = naming.translate("volume.orch.io/selected-node")
        self._chosen = naming.translate("pv.orch.io/bound-by-controller")

    async def volumes(self, placement: Placement) -> float | None:
        """See to the volumes of a pod; return None when all are there, else the seconds for which it may wait.

        Raises NotBound if they cannot be had, Conflict (409) and NotFound (404).
        """
        wanted = placement.volumes
        if not wanted.present and not wanted.made:
            return None
        if placement.began_s is None:
            for claim, volume in wanted.present:
                await self._claim_volume(claim, volume)
            for claim in wanted.made:
                await self._select_node(claim, placement.node)
            placement.began_s = self._clock.seconds()
        if self._all_bound(placement):
            return None
        left = placement.began_s + BIND_TIMEOUT_S - self._clock.seconds()
        if left <= 0:
            raise NotBound("binding volumes: timed out waiting for the condition")
        return left

    def _all_bound(self, placement: Placement) -> bool:
        """Report whether all claims are bound. Raises NotBound for one whose volume could not be made."""
        bound = True
        for claim in (*(each for each, _ in placement.volumes.present), *placement.volumes.made):
            meta = claim["metadata"]
            now = None if self._claims is None else self._claims.get(f"{meta['namespace']}/{meta['name']}")
            if now is None or now["metadata"]["uid"] != meta["uid"]:
                raise NotBound(f'binding volumes: persistentvolumeclaim "{meta["name"]}" not found')
            if is_bound(now, self._naming):
                continue
            bound = False
            annotations = now["metadata"].get("annotations") or {}
            if claim in placement.volumes.made and self._selected not in annotations:
                raise NotBound(f'binding volumes: provisioning failed for PVC "{meta["name"]}"')
        return bound

    async def _claim_volume(self, claim: Object, volume: Object) -> None:
        """Reserve a volume for a claim, which its controller then binds."""
        meta = claim["metadata"]
        reference = {
            "kind": "PersistentVolumeClaim", "apiVersion": "v1", "namespace": meta["namespace"],
            "name": meta["name"], "uid": meta["uid"], "resourceVersion": meta["resourceVersion"],
        }  # fmt: skip
        name, version = volume["metadata"]["name"], volume["metadata"]["resourceVersion"]
        changes = {
            "metadata": {"resourceVersion": version, "annotations": {self._chosen: "yes"}},
            "spec": {"claimRef": reference},
        }
        await self._client.patch(self._client.resource("", "v1", "persistentvolumes"), "", name, changes)

    async def _select_node(self, claim: Object, node: str) -> None:
        """Say for which node the volume of a claim is to be made."""
        meta = claim["metadata"]
        changes = {"metadata": {"uid": meta["uid"], "annotations": {self._selected: node}}}
        resource = self._client.resource("", "v1", "persistentvolumeclaims")
        await self._client.patch(resource, meta["namespace"], meta["name"], changes)

    async def bind(self, placement: Placement) -> None:
        """Bind the pod and tell so. Raises Conflict (409) if it has changed meanwhile, NotFound (404)."""
        pod = placement.pending.pod
        stored = self._pods.get(pod.key)
        if stored is None or stored["metadata"]["uid"] != pod.uid:
            raise NotFound.of("pods", "", pod.name)
        meta, status = stored["metadata"], stored.get("status") or {}
        changes: Object = {
            "metadata": {"uid": pod.uid, "resourceVersion": meta["resourceVersion"]},
            "spec": {"nodeName": placement.node},
            "status": {"conditions": self._scheduled(status.get("conditions") or ())},
        }
        await self._client.patch(self._pods.resource, pod.namespace, pod.name, changes, "binding", whole=False)
        message = f"Successfully assigned {pod.key} to {placement.node}"
        await self._events.record(reference(pod), "Normal", "Scheduled", message)

    def _scheduled(self, conditions: Sequence[Object]) -> list[Object]:
        """Return a pod's conditions with the one that a binding sets."""
        now = rfc3339(int(self._clock.now()))
        made = {"type": "PodScheduled", "status": "True", "lastProbeTime": None, "lastTransitionTime": now}
        return [*(each for each in conditions if each["type"] != "PodScheduled"), made]
