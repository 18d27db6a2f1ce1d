"""Clock, informers and settings of the simulated cluster, which all of its controllers share."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeVar

import msgspec
from twisted.internet.defer import DeferredLock

from orchtw.config.simulation import Parts
from orchtw.controllers.controller import ControllerHost
from orchtw.naming.naming import Naming
from orchtw.responses.slices import Steps, in_turns
from orchtw.simulation.clock import SimulationClock
from orchtw.simulation.informers import Decoded, SharedInformer
from orchtw.values.times import parse_time

INFORMERS_ACCOUNT = "simulation"

T = TypeVar("T")


class WorldSetting(msgspec.Struct, frozen=True, kw_only=True, eq=False):
    """Settings of the simulated cluster, and the parts of the process that it needs; `gates`: the feature gates."""

    parts: Parts
    clock: SimulationClock
    gates: Mapping[str, bool] = msgspec.field(default_factory=dict)
    agent_port: int = 0
    """Port of the simulated node agent, which the status of nodes shows; 0 without an agent."""


class World:
    """One tenure of the simulated controllers: all that they share."""

    def __init__(self, host: ControllerHost, setting: WorldSetting) -> None:
        self.host = host
        self.setting = setting
        self._client = host.client_for(INFORMERS_ACCOUNT)
        self._decoded = Decoded()
        self._informers: dict[tuple[str, str], SharedInformer] = {}
        self._shared: dict[Callable[[World], Any], Any] = {}
        self._continuing = DeferredLock()
        self._continues = setting.parts.nodes is None
        self.beats: dict[str, float] = {}
        """Simulated seconds at which the nodes that this process runs last gave a sign of life, by name.

        A Lease reaches the store a little later than it is due: an advance of the time does not wait for it.
        """

    @property
    def naming(self) -> Naming:
        """Names of the vocabulary that is served."""
        return self.host.naming

    @property
    def clock(self) -> SimulationClock:
        """Clock of the simulated cluster."""
        return self.setting.clock

    async def continued(self) -> None:
        """Return once the time continues that of an earlier process, or of another server, if that was ahead.

        The Leases of nodes tell it: at other speeds than 1 it is not the machine's.
        """
        if self._continues:
            return
        await self._continuing.acquire()
        try:
            if not self._continues:
                await self._continue()
                self._continues = True
        finally:
            self._continuing.release()

    async def _continue(self) -> None:
        resource = self._client.resource(self.naming.group("coordination.orch.io"), "v1", "leases")
        leases = await self._client.list(resource, self.naming.node_lease_namespace)

        def steps() -> Steps[None]:
            for item in leases.items:
                if renewed := item.load()["spec"].get("renewTime"):
                    self.clock.not_before(float(parse_time(renewed)[0]))
                yield

        await in_turns(self.host.turns, steps())

    def enabled(self, gate: str) -> bool:
        """Report whether a feature gate is on."""
        return self.setting.gates.get(gate, False)

    def shared(self, make: Callable[[World], T]) -> T:
        """Return what `make` makes of this world, which is made once and shared by all who ask for it."""
        if make not in self._shared:
            self._shared[make] = make(self)
        found: T = self._shared[make]
        return found

    def informer(self, group: str, plural: str, version: str = "v1") -> SharedInformer:
        """Return the shared informer of a resource; `group` is the neutral name. Raises KeyError if it is not
        served.
        """
        found = self._informers.get((group, plural))
        if found is None:
            resource = self._client.resource(self.naming.group(group), version, plural)
            found = SharedInformer(self.host, INFORMERS_ACCOUNT, resource, self._decoded)
            self._informers[group, plural] = found
        return found
