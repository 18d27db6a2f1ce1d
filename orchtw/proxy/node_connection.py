"""Destinations of node agents (reference PROXY-1)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final, Literal, Protocol

import msgspec

from orchtw.errors import NotFound, StatusError
from orchtw.naming.naming import Naming
from orchtw.outbound.destination import Destination
from orchtw.outbound.tls import ClientTLS
from orchtw.registry.targets import Targets
from orchtw.verbs.get import find_in
from orchtw.wire.objects import Object

_HOST_NAME: Final = "Hostname"


class AgentSettings(msgspec.Struct, frozen=True, kw_only=True):
    """Flags of connections to node agents; `tls` returns the certificates as they were last read."""

    scheme: Literal["http", "https"]
    port: int
    timeout_s: float
    address_types: Sequence[str]
    tls: Callable[[], ClientTLS]


class SimulatedPlaces(Protocol):
    """A simulation's word on where its nodes and pods are reached, whose addresses nobody has."""

    def agent(self, node: Object) -> Destination | None:
        """Return the agent of a node, None for a node that is not simulated."""

    def pod(self, node: Object, pod: Object, port: str) -> Destination | None:
        """Return a port of a pod on a node, None if the node is not simulated."""


class NodeAgents:
    """Finds the agents of nodes; those of simulated ones are where the simulation says."""

    def __init__(
        self, settings: AgentSettings, naming: Naming, targets: Targets, simulated: SimulatedPlaces | None = None
    ) -> None:
        self._simulated = simulated
        self._settings = settings
        self._host_name_label = naming.translate("orch.io/hostname")
        self._endpoint = naming.translate("orchletEndpoint")
        self._nodes = targets.stored_target("", "v1", "nodes")

    async def of(self, node: str, *, verified: bool = True) -> Destination:
        """Return the agent of the named node; without `verified`, any certificate is accepted.

        Raises NotFound (404), and 500 for a node without an address of a wanted type.
        """
        found = await find_in(self._nodes, "", node)
        if self._simulated is not None and (place := self._simulated.agent(found)) is not None:
            return place
        settings = self._settings
        tls = settings.tls()
        return Destination(
            scheme=settings.scheme,
            host=self._host(found),
            port=self._port(found),
            tls=tls if verified else tls.unverified,
            timeout_s=settings.timeout_s,
        )

    async def simulated_pod(self, pod: Object, port: str) -> Destination | None:
        """Return where a port of a simulated pod is reached, None for any other pod."""
        node = pod["spec"].get("nodeName")
        if self._simulated is None or not node:
            return None
        try:
            return self._simulated.pod(await find_in(self._nodes, "", node), pod, port)
        except NotFound:
            return None

    def _port(self, node: Object) -> int:
        endpoint = node.get("status", {}).get("daemonEndpoints", {}).get(self._endpoint, {})
        port = endpoint.get("Port", 0)
        return port if 0 < port < 65536 else self._settings.port

    def _host(self, node: Object) -> str:
        addresses = node.get("status", {}).get("addresses") or []
        for wanted in self._settings.address_types:
            for each in addresses:
                if each.get("type") == wanted and each.get("address"):
                    return str(each["address"])
            if wanted == _HOST_NAME:
                label = node["metadata"].get("labels", {}).get(self._host_name_label)
                if label:
                    return str(label)
        known = " ".join(f"{{{each.get('type', '')} {each.get('address', '')}}}" for each in addresses[:20])
        raise StatusError(f"no preferred addresses found; known addresses: [{known}]")
