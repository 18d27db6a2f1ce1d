"""The node agent of all simulated nodes as a service: it listens on loopback (reference SIM-24)."""

# mypy: allow-untyped-calls
# Twisted's Service is not annotated.

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from twisted.application.service import Service
from twisted.internet.defer import Deferred, maybeDeferred
from twisted.internet.protocol import Factory

from orchtw.simulation.agent.backend import Backend
from orchtw.simulation.agent.connection import AgentConnection
from orchtw.simulation.agent.identity import LOOPBACK, AgentIdentity
from orchtw.simulation.agent.places import SimulatedPlaces
from orchtw.simulation.agent.routes import Routes


class SimulatedNodeAgent(Factory):
    """Factory of the agent's connections; its name is logged."""

    noisy = False


class NodeAgentService(Service):
    """Listener of the agent; `port` is 0 while it does not listen, and `places` lead to it.

    `listens` is called with the port at each start.
    """

    def __init__(
        self, reactor: Any, identity: AgentIdentity, backend: Backend, listens: Callable[[int], None]
    ) -> None:
        self._listens = listens
        self._reactor = reactor
        self._identity = identity
        self._routes = Routes(backend)
        self._connections: set[AgentConnection] = set()
        self._listening: Any = None
        self.port = 0
        self.places = SimulatedPlaces(identity.client, lambda: self.port)

    def startService(self) -> None:
        """Listen on a free port."""
        super().startService()
        factory = SimulatedNodeAgent.forProtocol(self._connection)
        self._listening = self._reactor.listenSSL(0, factory, self._identity.server, interface=LOOPBACK)
        self.port = self._listening.getHost().port
        self._listens(self.port)

    def stopService(self) -> Deferred[None]:
        """Stop listening, and close all connections."""
        super().stopService()
        self.port = 0
        for each in tuple(self._connections):
            each.transport.abortConnection()
        return maybeDeferred(self._listening.stopListening)

    def _connection(self) -> AgentConnection:
        return AgentConnection(self._routes.serve, self._connections)
