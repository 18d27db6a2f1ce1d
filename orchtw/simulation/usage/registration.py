"""simulated-metrics controller: the APIService of the metrics API (reference SIM-26)."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from typing import Final

from orchtw.client.interface import Item
from orchtw.client.work_queue import Retry
from orchtw.controllers.controller import WorkSource
from orchtw.errors import AlreadyExists
from orchtw.simulation.controller import SimulatedController
from orchtw.simulation.usage.documents import GROUP, VERSION
from orchtw.simulation.world import World

SERVICE: Final = "metrics-server"
"""Name of the Service that the APIService names; it need not exist: this process knows where it is."""
PORT: Final = 443
_REGISTRATION: Final = "apiregistration.orch.io"


class SimulatedMetrics(SimulatedController):
    """Controller keyed by the name of the APIService, which it creates if it is missing and never changes."""

    name = "simulated-metrics"
    account = "simulated-metrics"

    def __init__(self, world: World) -> None:
        super().__init__(world, 1)
        self._services = world.informer(_REGISTRATION, "apiservices")
        self._services.handle(self._seen)
        self._group = world.naming.group(GROUP)
        self._name = f"{VERSION}.{self._group}"
        self.queue.add(self._name)

    @property
    def sources(self) -> Sequence[WorkSource]:
        """Return the informer of APIServices."""
        return (self._services,)

    async def sync(self, key: str) -> float | None:
        """Make the APIService if it is not there. Raises Retry until the present ones are known."""
        if not self._services.synced:
            raise Retry("the APIServices are not known yet")
        if self._services.get(key) is not None:
            return None
        obj = {
            "metadata": {"name": key},
            "spec": {
                "group": self._group,
                "version": VERSION,
                "groupPriorityMinimum": 100,
                "versionPriority": 100,
                "insecureSkipTLSVerify": True,
                "service": {"namespace": self.naming.system_namespace, "name": SERVICE, "port": PORT},
            },
        }
        with suppress(AlreadyExists):
            await self.client.create(self._services.resource, "", obj)
        return None

    def _seen(self, old: Item | None, new: Item | None) -> None:
        if new is None and old is not None and old.key == self._name:
            self.queue.add(self._name)
