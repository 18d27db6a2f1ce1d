"""Writes of claims and volumes; what is as it should be is not written."""

from __future__ import annotations

from orchtw.client.interface import Client
from orchtw.client.work_queue import Retry
from orchtw.errors import NotFound
from orchtw.simulation.informers import SharedInformer
from orchtw.simulation.volumes.matching import holder_of
from orchtw.simulation.volumes.names import Names, annotations_of
from orchtw.simulation.workloads.conditions import same
from orchtw.wire.objects import Object


class VolumeWrites:
    """Changes of claims and volumes; each returns the object as it is then, and raises Conflict (409)."""

    def __init__(self, client: Client, claims: SharedInformer, volumes: SharedInformer, names: Names) -> None:
        self._client = client
        self._claims = claims
        self._volumes = volumes
        self._names = names

    async def bind(self, volume: Object, claim: Object) -> None:
        """Bind a volume and a claim to each other, in the order that an interrupted binding can be resumed from."""
        volume = await self._hold(volume, claim)
        await self.volume_phase(volume, "Bound")
        claim = await self._use(claim, volume)
        await self._bound(claim, volume)

    async def release(self, volume: Object) -> None:
        """Let go of the claim that the controller gave a volume to; one that a user named keeps its name."""
        notes, names, holder = annotations_of(volume), self._names, volume["spec"]["claimRef"]
        if names.bound_by_controller in notes:
            changes: Object = {
                "metadata": {"annotations": {names.bound_by_controller: None}}, "spec": {"claimRef": None}
            }
        else:
            changes = {"spec": {"claimRef": {**holder, "uid": None, "resourceVersion": None}}}
        await self.volume_phase(await self._patch(self._volumes, volume, changes), "Available")

    async def reset(self, volume: Object) -> None:
        """Make a volume available to any claim again."""
        changes = {
            "metadata": {"annotations": {self._names.bound_by_controller: None}}, "spec": {"claimRef": None}
        }
        await self.volume_phase(await self._patch(self._volumes, volume, changes), "Available")

    async def volume_phase(self, volume: Object, phase: str) -> None:
        """Write the phase of a volume."""
        if (volume.get("status") or {}).get("phase") != phase:
            changes = {"status": {"phase": phase, "message": None, "reason": None}}
            await self._patch(self._volumes, volume, changes, "status")

    async def claim_phase(self, claim: Object, phase: str) -> bool:
        """Write the phase of a claim that is not bound; report whether it was another."""
        if (claim.get("status") or {}).get("phase") == phase:
            return False
        changes = {"status": {"phase": phase, "accessModes": None, "capacity": None}}
        await self._patch(self._claims, claim, changes, "status")
        return True

    async def annotate(self, claim: Object, notes: dict[str, str]) -> Object:
        """Set annotations of a claim."""
        if notes.items() <= annotations_of(claim).items():
            return claim
        return await self._patch(self._claims, claim, {"metadata": {"annotations": notes}})

    async def _hold(self, volume: Object, claim: Object) -> Object:
        """Write into a volume to which claim it is bound."""
        holder = volume["spec"].get("claimRef")
        if holder is not None and holder.get("uid") == claim["metadata"]["uid"]:
            return volume
        changes: Object = {"spec": {"claimRef": holder_of(claim)}}
        if holder is None:
            changes["metadata"] = {"annotations": {self._names.bound_by_controller: "yes"}}
        return await self._patch(self._volumes, volume, changes)

    async def _use(self, claim: Object, volume: Object) -> Object:
        """Write into a claim which volume it has."""
        notes = {self._names.bind_completed: "yes"}
        if not claim["spec"].get("volumeName"):
            notes[self._names.bound_by_controller] = "yes"
        elif notes.items() <= annotations_of(claim).items():
            return claim
        changes = {"metadata": {"annotations": notes}, "spec": {"volumeName": volume["metadata"]["name"]}}
        return await self._patch(self._claims, claim, changes)

    async def _bound(self, claim: Object, volume: Object) -> None:
        """Write into a claim's status what it has, unless it is there: later sizes are those of an expansion."""
        status, spec = claim.get("status") or {}, volume["spec"]
        if status.get("phase") == "Bound":
            return
        made = {"phase": "Bound", "accessModes": spec.get("accessModes"), "capacity": spec.get("capacity")}
        if not same({key: status.get(key) for key in made}, made):
            await self._patch(self._claims, claim, {"status": made}, "status")

    async def _patch(
        self, informer: SharedInformer, obj: Object, changes: Object, subresource: str = ""
    ) -> Object:
        """Change an object that is as it was seen. Raises Conflict (409), Retry if it has gone."""
        meta = obj["metadata"]
        expected = {"uid": meta["uid"], "resourceVersion": meta["resourceVersion"]}
        whole = {**changes, "metadata": {**(changes.get("metadata") or {}), **expected}}
        try:
            written = await self._client.patch(
                informer.resource, meta.get("namespace") or "", meta["name"], whole, subresource
            )
        except NotFound:
            raise Retry(f"{meta['name']} has gone") from None
        await informer.seen(written)
        return written
