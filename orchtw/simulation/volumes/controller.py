"""Base of the controllers of claims and volumes."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence

from orchtw.client.work_queue import Retry
from orchtw.controllers.controller import WorkSource
from orchtw.simulation.controller import SimulatedController
from orchtw.simulation.volumes.names import Names
from orchtw.simulation.world import World


class VolumeController(SimulatedController):
    """Controller that knows all claims, volumes and classes."""

    def __init__(self, world: World) -> None:
        super().__init__(world)
        self.names = Names.of(self.naming)
        self.claims = world.informer("", "persistentvolumeclaims")
        self.volumes = world.informer("", "persistentvolumes")
        self.classes = world.informer("storage.orch.io", "storageclasses")

    @property
    def sources(self) -> Sequence[WorkSource]:
        """Return the informers of claims, volumes and classes."""
        return (self.classes, self.volumes, self.claims)

    async def sync(self, key: str) -> float | None:
        """Look at one key once all is listed, as `SimulatedController.sync`."""
        if not self.synced:
            raise Retry("not all informers have listed")
        return await self.sync_listed(key)

    @abstractmethod
    async def sync_listed(self, key: str) -> float | None:
        """Look at one key, as `SimulatedController.sync`."""
