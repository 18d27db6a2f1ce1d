"""The node agent put together from what the server gives it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec
from cryptography import x509

from orchtw.client.interface import Client
from orchtw.config.service_map import ServiceMapping
from orchtw.naming.naming import Naming
from orchtw.outbound.service_map import ServiceMap
from orchtw.simulation.agent.backend import Backend
from orchtw.simulation.agent.identity import LOOPBACK, new_identity
from orchtw.simulation.agent.service import NodeAgentService
from orchtw.simulation.clock import SimulationClock
from orchtw.simulation.usage.metrics_api import MetricsApi
from orchtw.simulation.usage.registration import PORT, SERVICE
from orchtw.watch.turns import ReactorTurns


class AgentMeans(msgspec.Struct, frozen=True, kw_only=True, eq=False):
    """Means that the server gives to the agent: a client of its registry, and authorities of other clients."""

    client: Client
    naming: Naming
    turns: ReactorTurns
    service_map: ServiceMap
    trusted: Sequence[x509.Certificate]


def agent_service(means: AgentMeans, reactor: Any, clock: SimulationClock) -> NodeAgentService:
    """Return the agent, which also answers for the Service of the metrics API."""
    naming = means.naming

    def listens(port: int) -> None:
        mapping = ServiceMapping(
            namespace=naming.system_namespace, name=SERVICE, port=PORT, to_host=LOOPBACK, to_port=port
        )
        means.service_map.give(mapping)

    metrics = MetricsApi(means.client, naming, means.turns, clock.now)
    backend = Backend(means.client, metrics, reactor, clock)
    return NodeAgentService(reactor, new_identity(means.trusted, naming.api_server), backend, listens)
