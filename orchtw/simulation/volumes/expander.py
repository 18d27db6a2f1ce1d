"""Controller that lets claims grow (reference SIM-51)."""

from __future__ import annotations

from orchtw.client.interface import Item
from orchtw.simulation.scheduling.static_volumes import size_of
from orchtw.simulation.volumes.controller import VolumeController
from orchtw.simulation.volumes.names import PROVISIONER
from orchtw.simulation.workloads.workload import NORMAL
from orchtw.simulation.world import World
from orchtw.values.quantity import quantity
from orchtw.wire.objects import Object


class VolumeExpander(VolumeController):
    """persistentvolume-expander controller: sizes of simulated volumes, and of their claims, follow the requests."""

    name = "persistentvolume-expander"
    account = "expand-controller"
    component = "volume_expand"

    def __init__(self, world: World) -> None:
        super().__init__(world)
        self.claims.handle(self._seen)

    async def sync_listed(self, key: str) -> float | None:
        """Let one claim grow, as `SimulatedController.sync`."""
        claim = self.claims.get(key)
        if claim is None or not _is_too_small(claim):
            return None
        storage_class = self.classes.get(self.names.class_of(claim))
        volume = self.volumes.get(claim["spec"]["volumeName"])
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
            await self.volumes.seen(await self.client.patch(self.volumes.resource, "", name, changes))
        status = {"status": {"capacity": {"storage": size}}}
        written = await self.client.patch(self.claims.resource, meta["namespace"], meta["name"], status, "status")
        await self.claims.seen(written)
        await self._tell(claim, "VolumeResizeSuccessful", f"ExpandVolume succeeded for volume {name}")

    async def _tell(self, claim: Object, reason: str, message: str) -> None:
        await self.events.record(self.reference(claim, "v1", "PersistentVolumeClaim"), NORMAL, reason, message)

    def _seen(self, old: Item | None, new: Item | None) -> None:
        if new is not None and _is_too_small(self.claims.load(new)):
            self.queue.add(new.key)


def _is_too_small(claim: Object) -> bool:
    """Report whether a bound claim requests more than it has."""
    status = claim.get("status") or {}
    held = (status.get("capacity") or {}).get("storage")
    if status.get("phase") != "Bound" or held is None or not claim["spec"].get("volumeName"):
        return False
    return size_of(claim) > size_of({"spec": {"resources": {"requests": {"storage": held}}}})
