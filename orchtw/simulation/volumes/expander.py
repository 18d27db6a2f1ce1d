"""Controller that lets claims grow (reference SIM-51)."""

from __future__ import annotations

from collections.abc import Sequence

from orchtw.client.interface import Item
from orchtw.client.work_queue import Retry
from orchtw.controllers.controller import WorkSource
from orchtw.simulation.controller import SimulatedController
from orchtw.simulation.scheduling.static_volumes import size_of
from orchtw.simulation.volumes.names import PROVISIONER, Names
from orchtw.simulation.workloads.workload import NORMAL
from orchtw.simulation.world import World
from orchtw.values.quantity import quantity
from orchtw.wire.objects import Object


class VolumeExpander(SimulatedController):
    """persistentvolume-expander controller: sizes of simulated volumes, and of their claims, follow the requests."""

    name = "persistentvolume-expander"
    account = "expand-controller"
    component = "volume_expand"

    def __init__(self, world: World) -> None:
        super().__init__(world)
        self._names = Names.of(self.naming)
        self._claims = world.informer("", "persistentvolumeclaims")
        self._volumes = world.informer("", "persistentvolumes")
        self._classes = world.informer("storage.orch.io", "storageclasses")
        self._claims.handle(self._seen)

    @property
    def sources(self) -> Sequence[WorkSource]:
        """Return the informers of claims, volumes and classes."""
        return (self._classes, self._volumes, self._claims)

    async def sync(self, key: str) -> float | None:
        """Let one claim grow, as `SimulatedController.sync`."""
        if not self.synced:
            raise Retry("not all informers have listed")
        claim = self._claims.get(key)
        if claim is None or not _is_too_small(claim):
            return None
        storage_class = self._classes.get(self._names.class_of(claim))
        volume = self._volumes.get(claim["spec"]["volumeName"])
        if storage_class is None or volume is None or not storage_class.get("allowVolumeExpansion"):
            return None
        if storage_class["provisioner"] != PROVISIONER:
            text = "waiting for an external controller to expand this PVC"
            await self._tell(claim, "ExternalExpanding", text)
            return None
        await self._expand(claim, volume)
        return None

    async def _expand(self, claim: Object, volume: Object) -> None:
        meta, name = claim["metadata"], volume["metadata"]["name"]
        size = claim["spec"]["resources"]["requests"]["storage"]
        capacity = volume["spec"].get("capacity") or {}
        if quantity(capacity.get("storage", "0")).compare(quantity(size)) < 0:
            changes = {"spec": {"capacity": {**capacity, "storage": size}}}
            await self._volumes.seen(await self.client.patch(self._volumes.resource, "", name, changes))
        status = {"status": {"capacity": {"storage": size}}}
        written = await self.client.patch(self._claims.resource, meta["namespace"], meta["name"], status, "status")
        await self._claims.seen(written)
        await self._tell(claim, "VolumeResizeSuccessful", f"ExpandVolume succeeded for volume {name}")

    async def _tell(self, claim: Object, reason: str, message: str) -> None:
        await self.events.record(self.reference(claim, "v1", "PersistentVolumeClaim"), NORMAL, reason, message)

    def _seen(self, old: Item | None, new: Item | None) -> None:
        if new is not None and _is_too_small(self._claims.load(new)):
            self.queue.add(new.key)


def _is_too_small(claim: Object) -> bool:
    """Report whether a bound claim requests more than it has."""
    status = claim.get("status") or {}
    held = (status.get("capacity") or {}).get("storage")
    if status.get("phase") != "Bound" or held is None or not claim["spec"].get("volumeName"):
        return False
    return size_of(claim) > size_of({"spec": {"resources": {"requests": {"storage": held}}}})
