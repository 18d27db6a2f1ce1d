"""The simulation as a part of a server: its controllers as plugins, and its endpoint."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from twisted.internet.interfaces import IReactorTime

from orchtw.client.work_queue import WorkQueue
from orchtw.config.simulation import SimulationOptions
from orchtw.controllers.controller import Controller, ControllerHost
from orchtw.plugins import ControllerPlugin
from orchtw.simulation.agent.means import AgentMeans, agent_service
from orchtw.simulation.agent.service import NodeAgentService
from orchtw.simulation.clock import SimulationClock
from orchtw.simulation.controllers import CONTROLLERS
from orchtw.simulation.endpoint import SimulationEndpoint
from orchtw.simulation.settling import Settling
from orchtw.simulation.world import World, WorldSetting


class Simulation:
    """The simulated cluster of one server.

    `now` is the time in seconds since the epoch, `gates` are the feature gates.
    """

    def __init__(
        self, options: SimulationOptions, clock: IReactorTime, now: float, gates: Mapping[str, bool]
    ) -> None:
        self._setting = WorldSetting(
            parts=options.parts, clock=SimulationClock(clock, now, options.speed), gates=gates
        )
        self._world: World | None = None
        self._reactor = clock

    def plugins(self) -> Mapping[str, ControllerPlugin]:
        """Return the controllers by name."""
        return {name: ControllerPlugin(make=self._maker(name)) for name in self._setting.parts.controllers}

    def endpoint(self, queues: Callable[[], Sequence[WorkQueue[Any]]]) -> SimulationEndpoint:
        """Return the endpoint of the simulated time; `queues` are those of all controllers."""
        settle = Settling(self._reactor, queues).settle
        return SimulationEndpoint(self._setting.clock, settle, lambda: any(queue.active for queue in queues()))

    def agent(self, means: AgentMeans) -> NodeAgentService:
        """Return the agent of the simulated nodes, a service."""
        return agent_service(means, self._reactor, self._setting.clock)

    def stop(self) -> None:
        """Make no further calls."""
        self._setting.clock.stop()

    def _maker(self, name: str) -> Callable[[ControllerHost, Mapping[str, Any]], Controller]:
        def make(host: ControllerHost, values: Mapping[str, Any]) -> Controller:
            # A new host is a new tenure, whose controllers start anew.
            if self._world is None or self._world.host is not host:
                self._world = World(host, self._setting)
            return CONTROLLERS[name](self._world)

        return make
