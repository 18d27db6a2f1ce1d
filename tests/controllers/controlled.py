"""Controllers in a world: started, stopped, started again over the same store."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any

from orchtw.client.fencing import Tenure
from orchtw.client.in_process import InProcessClient
from orchtw.client.interface import Client
from orchtw.controllers import CONTROLLERS, enabled
from orchtw.controllers.controller import ControllerHost
from orchtw.controllers.embedded import service_account
from orchtw.controllers.manager import Manager, ManagerSettings
from tests.client.world import World, WorldTestCase


def host(world: World) -> ControllerHost:
    """A host whose clients write into the world."""

    def new_client(account: str, tenure: Tenure | None) -> Client:
        guard = None if tenure is None else tenure.guard
        return InProcessClient(world.registry, service_account(account, world.naming), "controllers", guard)

    return ControllerHost(
        new_client=new_client, naming=world.naming, clock=world.clock, random=world.random, now=world.now,
        turns=world.cacher.turns,
    )


class ControllerTestCase(WorldTestCase):
    """Tests with running controllers."""

    names: Sequence[str] = tuple(CONTROLLERS)
    settings: Mapping[str, Any] = MappingProxyType({})

    def setUp(self) -> None:
        super().setUp()
        self.begin()
        self.addCleanup(self.end)

    def begin(self) -> None:
        """Start the controllers on the current world."""
        made = host(self.world)
        settings = ManagerSettings(enabled=frozenset(self.names), **self.settings)
        self.manager = Manager(made, lambda host: enabled(host, settings))
        self.manager.startService()

    def end(self) -> None:
        """Stop the running controllers."""
        self.world.run(self.manager.stopService())

    def restart(self) -> None:
        """Simulate a kill and a new start: only the store remains."""
        self.end()
        self.world.run(self.world.cacher.stop())
        self.world.build()
        self.begin()

    def health(self) -> dict[str, str]:
        """The reason of each check that fails."""
        found = {}
        for controller in self.manager.controllers:
            try:
                self.world.run(self.manager.check(controller.name))
            except Exception as error:
                found[controller.name] = str(error)
        return found
