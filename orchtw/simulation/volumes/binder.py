"""Controller that binds claims and volumes, and provisions simulated volumes (reference SIM-50)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from orchtw.client.interface import Item
from orchtw.client.work_queue import Retry
from orchtw.errors import AlreadyExists, NotFound
from orchtw.simulation.volumes.controller import VolumeController
from orchtw.simulation.volumes.matching import best_match, is_for, misfit
from orchtw.simulation.volumes.names import DELAYED, PROVISIONER, annotations_of
from orchtw.simulation.volumes.provisioning import ensure_class, new_volume
from orchtw.simulation.volumes.writing import VolumeWrites
from orchtw.simulation.workloads.workload import NORMAL, WARNING
from orchtw.simulation.world import World
from orchtw.wire.objects import Object

_CLASS_KEY: Final = ""
"""Key that asks for the simulated class; claims have keys with a slash, volumes those without."""


class VolumeBinder(VolumeController):
    """persistentvolume-binder controller, keyed by claims and by volumes."""

    name = "persistentvolume-binder"
    account = "persistent-volume-binder"
    component = "persistentvolume-controller"

    def __init__(self, world: World) -> None:
        super().__init__(world)
        self._of_class = self.volumes.index("class", lambda volume: (volume["spec"].get("storageClassName") or "",))
        self._unbound = self.claims.index("unbound", self._waiting)
        self._holders = self.volumes.index("holder", _holder)
        self._writing = VolumeWrites(self.client, self.claims, self.volumes, self.names)
        self.claims.handle(self._claim_seen)
        self.volumes.handle(self._volume_seen)
        self.classes.handle(self._class_seen)
        self.queue.add(_CLASS_KEY)

    async def sync_listed(self, key: str) -> float | None:
        """Look at one claim or volume, as `SimulatedController.sync`."""
        if key == _CLASS_KEY:
            await ensure_class(self.client, self.classes, self.names)
        elif "/" in key:
            if (claim := self.claims.get(key)) is not None:
                await self._sync_claim(claim)
        elif (volume := self.volumes.get(key)) is not None:
            await self._sync_volume(volume)
        return None

    async def _sync_claim(self, claim: Object) -> None:
        if self.names.bind_completed in annotations_of(claim):
            await self._sync_bound(claim)
        elif claim["spec"].get("volumeName"):
            await self._sync_named(claim)
        elif not claim["metadata"].get("deletionTimestamp"):
            await self._sync_open(claim)

    async def _sync_open(self, claim: Object) -> None:
        """Find or make a volume for a claim."""
        name = self.names.class_of(claim)
        found = self.classes.get(name) if name else None
        waits = found is not None and found.get("volumeBindingMode") == DELAYED
        reserved_only = waits and self.names.selected_node not in annotations_of(claim)
        volume = best_match(claim, list(self.volumes.of(self._of_class.keys(name))), reserved_only=waits)
        if volume is not None:
            await self._writing.bind(volume, claim)
        elif reserved_only:
            text = "waiting for first consumer to be created before binding"
            await self._tell(claim, NORMAL, "WaitForFirstConsumer", text)
            await self._writing.claim_phase(claim, "Pending")
        elif name:
            await self._provision(claim, name, found)
        else:
            text = "no persistent volumes available for this claim and no storage class is set"
            await self._tell(claim, NORMAL, "FailedBinding", text)
            await self._writing.claim_phase(claim, "Pending")

    async def _provision(self, claim: Object, name: str, storage_class: Object | None) -> None:
        """Make a volume, or ask another provisioner for it."""
        if storage_class is None:
            text = f'storageclass.{self.classes.resource.group} "{name}" not found'
            await self._tell(claim, WARNING, "ProvisioningFailed", text)
            await self._writing.claim_phase(claim, "Pending")
            return
        provisioner: str = storage_class["provisioner"]
        if provisioner == self.names.no_provisioner:
            await self._writing.claim_phase(claim, "Pending")
            return
        claim = await self._writing.annotate(claim, {name: provisioner for name in self.names.provisioner})
        if provisioner != PROVISIONER:
            text = (
                f'waiting for a volume to be created, either by external provisioner "{provisioner}" or manually '
                "created by system administrator"
            )
            await self._tell(claim, NORMAL, "ExternalProvisioning", text)
            await self._writing.claim_phase(claim, "Pending")
            return
        volume = await self._make(claim, storage_class)
        await self._tell(
            claim, NORMAL, "ProvisioningSucceeded", f"Successfully provisioned volume {volume['metadata']['name']}"
        )
        await self._writing.bind(volume, claim)

    async def _make(self, claim: Object, storage_class: Object) -> Object:
        wanted = new_volume(claim, storage_class, self.names)
        try:
            made = await self.client.create(self.volumes.resource, "", wanted)
        except AlreadyExists:
            raise Retry(f"{wanted['metadata']['name']} is there already") from None
        await self.volumes.seen(made)
        return made

    async def _sync_named(self, claim: Object) -> None:
        """Bind a claim to the volume that it asks for by name."""
        volume = self.volumes.get(claim["spec"]["volumeName"])
        if volume is None:
            await self._writing.claim_phase(claim, "Pending")
        elif volume["spec"].get("claimRef") is not None and not is_for(volume, claim):
            text = f'volume "{volume["metadata"]["name"]}" already bound to a different claim.'
            await self._tell(claim, WARNING, "FailedBinding", text)
            await self._writing.claim_phase(claim, "Pending")
        elif volume["spec"].get("claimRef") is None and (reason := misfit(volume, claim)):
            text = f'Cannot bind to requested volume "{volume["metadata"]["name"]}": {reason}'
            await self._tell(claim, WARNING, "VolumeMismatch", text)
            await self._writing.claim_phase(claim, "Pending")
        else:
            await self._writing.bind(volume, claim)

    async def _sync_bound(self, claim: Object) -> None:
        """See to it that a bound claim still has its volume."""
        name = claim["spec"].get("volumeName")
        volume = self.volumes.get(name) if name else None
        if volume is None:
            what = "its PersistentVolume" if name else "reference to PersistentVolume"
            await self._lose(claim, "ClaimLost", f"Bound claim has lost {what}. Data on the volume is lost!")
        elif volume["spec"].get("claimRef") is None or is_for(volume, claim):
            await self._writing.bind(volume, claim)
        else:
            text = "Two claims are bound to the same volume, this one is bound incorrectly"
            await self._lose(claim, "ClaimMisbound", text)

    async def _lose(self, claim: Object, reason: str, message: str) -> None:
        if await self._writing.claim_phase(claim, "Lost"):
            await self._tell(claim, WARNING, reason, message)

    async def _sync_volume(self, volume: Object) -> None:
        """Bring the phase of a volume up to date; reclaim one whose claim has gone."""
        holder = volume["spec"].get("claimRef")
        if holder is None or not holder.get("uid"):
            await self._writing.volume_phase(volume, "Available")
            if holder is not None:
                self.queue.add(f"{holder['namespace']}/{holder['name']}")
            return
        claim = await self._claim_of(holder)
        if claim is None:
            await self._writing.volume_phase(volume, "Released")
            await self._reclaim(volume)
        elif not claim["spec"].get("volumeName"):
            self.queue.add(f"{holder['namespace']}/{holder['name']}")
        elif claim["spec"]["volumeName"] == volume["metadata"]["name"]:
            await self._writing.volume_phase(volume, "Bound")
        elif self.names.provisioned_by in annotations_of(volume):
            await self._writing.volume_phase(volume, "Released")
            await self._reclaim(volume)
        else:
            await self._writing.release(volume)

    async def _claim_of(self, holder: Object) -> Object | None:
        """Return the claim that a volume is for, None if it has gone; looked for in the store before that is said."""
        claim = self.claims.get(f"{holder['namespace']}/{holder['name']}")
        if claim is None or claim["metadata"]["uid"] != holder["uid"]:
            item = await self.client.find(self.claims.resource, holder["namespace"], holder["name"])
            claim = None if item is None else item.load()
        return claim if claim is not None and claim["metadata"]["uid"] == holder["uid"] else None

    async def _reclaim(self, volume: Object) -> None:
        """Delete or recycle a released volume, as its policy says; those of other provisioners are theirs."""
        current = self.volumes.get(volume["metadata"]["name"])
        if current is None or current["metadata"].get("deletionTimestamp"):
            return
        policy = current["spec"].get("persistentVolumeReclaimPolicy")
        if policy == "Recycle":
            await self._tell_volume(current, "VolumeRecycled", "Volume recycled")
            await self._writing.reset(current)
        elif policy == "Delete" and annotations_of(current).get(self.names.provisioned_by) in (None, PROVISIONER):
            try:
                await self.client.delete(self.volumes.resource, "", current["metadata"]["name"])
            except NotFound:
                return

    async def _tell(self, claim: Object, event_type: str, reason: str, message: str) -> None:
        await self.events.record(self.reference(claim, "v1", "PersistentVolumeClaim"), event_type, reason, message)

    async def _tell_volume(self, volume: Object, reason: str, message: str) -> None:
        await self.events.record(self.reference(volume, "v1", "PersistentVolume"), NORMAL, reason, message)

    def _waiting(self, claim: Object) -> Sequence[str]:
        """Return the class of a claim that is not bound."""
        return () if self.names.bind_completed in annotations_of(claim) else (self.names.class_of(claim),)

    def _claim_seen(self, old: Item | None, new: Item | None) -> None:
        item = new or old
        if item is None:
            return
        self.queue.add(item.key)
        for name in self._holders.keys(item.key):
            self.queue.add(name)

    def _volume_seen(self, old: Item | None, new: Item | None) -> None:
        item = new or old
        if item is None:
            return
        self.queue.add(item.key)
        volume = self.volumes.load(item)
        for key in _holder(volume):
            self.queue.add(key)
        if new is not None and (volume.get("status") or {}).get("phase") == "Available":
            for key in self._unbound.keys(volume["spec"].get("storageClassName") or ""):
                self.queue.add(key)

    def _class_seen(self, old: Item | None, new: Item | None) -> None:
        for key in () if new is None else self._unbound.keys(new.name):
            self.queue.add(key)


def _holder(volume: Object) -> Sequence[str]:
    holder = volume["spec"].get("claimRef")
    return () if holder is None else (f"{holder.get('namespace')}/{holder.get('name')}",)
