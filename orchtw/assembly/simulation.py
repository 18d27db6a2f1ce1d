"""The simulated cluster of a server; its modules are imported only where a flag asks for it."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from typing import Any

from orchtw.assembly.foundation import Foundation
from orchtw.client.in_process import InProcessClient, Registry
from orchtw.client.work_queue import WorkQueue
from orchtw.controllers.embedded import service_account
from orchtw.controllers.manager import Manager
from orchtw.endpoints.paths import Endpoint
from orchtw.pki.front_proxy import FrontProxy
from orchtw.plugins import ControllerPlugin
from orchtw.proxy.node_connection import SimulatedPlaces


class Simulated:
    """The simulation, if there is one: its controllers, its endpoint, and the agent of its nodes.

    `places` lead to its nodes and pods.
    """

    def __init__(self, base: Foundation, registry: Registry, front_proxy: FrontProxy | None) -> None:
        self._simulation: Any = None  # an orchtw.simulation.simulation.Simulation
        self.places: SimulatedPlaces | None = None
        if base.config.simulation.parts:
            from orchtw.simulation.simulation import Simulation

            gates = base.config.generic.gates
            self._simulation = Simulation(base.config.simulation, base.reactor, time.time(), gates)
            if base.config.simulation.parts.nodes is not None:
                self.places = self._agent(base, registry, front_proxy)

    def _agent(self, base: Foundation, registry: Registry, front_proxy: FrontProxy | None) -> SimulatedPlaces:
        """Have the agent of the nodes start with the server; return the ways to it."""
        from orchtw.simulation.agent.means import AgentMeans

        assert self._simulation is not None
        naming = base.resources.naming
        client = InProcessClient(registry, service_account("simulated-agents", naming), naming.controller_manager)
        means = AgentMeans(
            client=client,
            naming=naming,
            turns=registry.cacher.turns,
            service_map=base.service_map,
            trusted=() if front_proxy is None else front_proxy.authorities,
        )
        agent = self._simulation.agent(means)
        base.join(agent)
        places: SimulatedPlaces = agent.places
        return places

    def controllers(self) -> Mapping[str, ControllerPlugin]:
        """Return the simulated controllers by name."""
        found: Mapping[str, ControllerPlugin] = {} if self._simulation is None else self._simulation.plugins()
        return found

    def endpoints(self, manager: Manager) -> Sequence[Endpoint]:
        """Return the endpoint of the simulated time, which waits for the controllers of the manager."""
        if self._simulation is None:
            return ()

        def queues() -> Sequence[WorkQueue[Any]]:
            return [controller.queue for controller in manager.controllers]

        return (self._simulation.endpoint(queues),)
