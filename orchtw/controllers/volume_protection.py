"""pv-protection controller: a volume is removed once no claim is bound to it any more (reference CTRL-28)."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress

from orchtw.client.informer import Informer
from orchtw.client.interface import Item
from orchtw.controllers.controller import Controller, ControllerHost, Published
from orchtw.errors import NotFound
from orchtw.rules.storage_protection import VOLUME_FINALIZER


class VolumeProtection(Controller):
    """Controller keyed by names of volumes."""

    name = "pv-protection"
    account = "pv-protection-controller"

    def __init__(self, host: ControllerHost) -> None:
        super().__init__(host, 1)
        self._volumes = self.client.resource("", "v1", "persistentvolumes")
        self._finalizer = host.naming.translate(VOLUME_FINALIZER)
        self._informer = Informer(self.client, self._volumes, host.clock, host.random, host.turns)
        self._informer.handle(self._seen)

    @property
    def sources(self) -> Sequence[Informer]:
        """Return the informer of PersistentVolumes."""
        return (self._informer,)

    def _seen(self, old: Item | None, new: Item | None) -> None:
        if new is not None:
            owners = new.owner_metadata()
            if owners.terminating is (self._finalizer in owners.finalizers):
                self.queue.add(new.key)

    async def reconcile(self, key: str) -> float | None:
        """Let go of a volume that ends and is not bound; hold on to one that was made without the finalizer."""
        item = await self.client.find(self._volumes, "", key)
        if item is None:
            return None
        owners = item.owner_metadata()
        if owners.terminating is not (self._finalizer in owners.finalizers):
            return None
        volume = item.load()
        if owners.terminating and (volume.get("status") or {}).get("phase") == "Bound":
            return None
        others, meta = [each for each in owners.finalizers if each != self._finalizer], volume["metadata"]
        meta["finalizers"] = others if owners.terminating else [*others, self._finalizer]
        with suppress(NotFound):
            wanted = Published("", key, [meta["uid"], meta["finalizers"]])
            return await self.publish(
                self._volumes, wanted, item.load(), lambda: self.client.update(self._volumes, "", key, volume)
            )
        return None
