"""Base of the simulated controllers, whose delays run on the simulated clock (reference SIM-2)."""

from __future__ import annotations

from abc import abstractmethod
from typing import Final

from twisted.internet.defer import Deferred
from twisted.internet.task import deferLater

from orchtw.controllers.controller import Controller
from orchtw.simulation.clock import Timer
from orchtw.simulation.correlation import CorrelatingRecorder
from orchtw.simulation.event_budget import EventBudget
from orchtw.simulation.world import World
from orchtw.wire.objects import Object

LISTING_S: Final = 0.02
"""Real seconds between two looks for the end of the first lists."""

FEW: Final = 10
WAIT_PER_POD_S: Final = 0.02
LONGEST_WAIT_S: Final = 1.0
"""Simulated seconds in which changes of pods that concern one key come together, if these are more than FEW: each
look at them ends in a write that has a cost of its own.
"""


class SimulatedController(Controller):
    """Controller of the simulated cluster: `sync` looks at one key, which returns after a simulated delay.

    Failures are repeated with real delays. `component` is the source of its events; empty: the controller's name.
    """

    component: str = ""

    def __init__(self, world: World, concurrency: int = 10) -> None:
        super().__init__(world.host, concurrency)
        self.world = world
        self.clock = world.clock
        self.naming = world.naming
        takes = world.shared(EventBudget).take
        self.events = CorrelatingRecorder(self.client, self.component or self.name, world.clock.now, takes)
        self._timers: dict[str, Timer] = {}

    @abstractmethod
    async def sync(self, key: str) -> float | None:
        """Look at one key and do what is due.

        Returns the simulated seconds after which to look again, None when all is well; raises to be called again.
        """

    async def listed(self) -> None:
        """Return once every source has delivered its initial list."""
        while not self.synced:
            await deferLater(self.host.clock, LISTING_S, lambda: None)

    async def reconcile(self, key: str) -> None:
        """Look at one key, and again when that is due by the simulated clock."""
        await self.world.continued()
        # This look is also the one that was due later; the key of an object that is gone is forgotten.
        if (timer := self._timers.pop(key, None)) is not None:
            timer.cancel()
        delay_s = await self.sync(key)
        if delay_s is not None:
            self.later(key, delay_s)

    def later(self, key: str, delay_s: float) -> None:
        """Add a key to the queue after that many simulated seconds; of several delays the shortest counts."""
        due = self.clock.seconds() + delay_s
        timer = self._timers.get(key)
        if timer is not None:
            if timer.due <= due:
                return
            timer.cancel()
        self._timers[key] = self.clock.call_later(delay_s, self._due, key)

    def gather(self, key: str, pods: int) -> None:
        """Add a key of which one of so many pods has changed: of many, several changes are looked at together."""
        if pods <= FEW or not self.clock.speed:
            self.queue.add(key)
        else:
            self.later(key, min(pods * WAIT_PER_POD_S, LONGEST_WAIT_S))

    def reference(self, obj: Object, api_version: str, kind: str) -> Object:
        """Return an object as the events about it name it."""
        meta = obj["metadata"]
        made = {"apiVersion": api_version, "kind": kind, "name": meta["name"], "uid": meta["uid"]}
        return {**made, "namespace": meta["namespace"]} if meta.get("namespace") else made

    def stopService(self) -> Deferred[None]:
        """Stop, and forget what was to be looked at again."""
        for timer in self._timers.values():
            timer.cancel()
        self._timers.clear()
        return super().stopService()

    def _due(self, key: str) -> None:
        del self._timers[key]
        self.queue.add(key)
