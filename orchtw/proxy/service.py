"""Targets of proxied requests: pods, services and nodes (reference PROXY-10 to PROXY-12)."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from random import Random
from typing import Any, Final, Literal

import msgspec

from orchtw.errors import BadRequest, NotFound, ServiceUnavailable
from orchtw.outbound.addresses import is_public_unicast
from orchtw.outbound.destination import Destination, default_port
from orchtw.outbound.service_map import ServiceMap
from orchtw.outbound.services import ServiceReference, ready
from orchtw.outbound.tls import ClientTLS
from orchtw.proxy.node_connection import NodeAgents
from orchtw.registry.targets import Targets
from orchtw.values.causes import go_quote
from orchtw.verbs.call import VerbCall
from orchtw.verbs.get import find_in
from orchtw.wire.objects import Object

DIAL_S: Final = 30.0
"""Longest time to connect to a pod, a service or another port of a node."""

_NOBODY: Final = ClientTLS()
"""TLS settings towards anything but node agents: no certificate is presented, and none is verified."""


class AskedService(msgspec.Struct, frozen=True, kw_only=True):
    """A name such as `https:web:443`, parsed; scheme and port may be empty."""

    scheme: Literal["", "http", "https"]
    name: str
    port: str

    @classmethod
    def of(cls, text: str, singular: str) -> AskedService:
        """Parse `[scheme:]name[:port]`. Raises BadRequest (400) for an invalid name."""
        parts = text.split(":")
        if len(parts) < 3:
            parts = ["", *parts]
        scheme, name, port = parts if len(parts) == 3 else (*parts, "") if len(parts) == 2 else ("", "", "")
        if not name or scheme not in ("", "http", "https"):
            raise BadRequest(f"invalid {singular} request {go_quote(text)}")
        return cls(scheme=scheme, name=name, port=port)  # type: ignore[arg-type]


class Backends:
    """Finds the targets of proxied requests by the stored objects."""

    def __init__(self, agents: NodeAgents, targets: Targets, random: Random, service_map: ServiceMap) -> None:
        self._agents = agents
        self._service_map = service_map
        self._random = random
        self._pods = targets.stored_target("", "v1", "pods")
        self._services = targets.stored_target("", "v1", "services")
        self._endpoints = targets.stored_target("", "v1", "endpoints")
        self._ways: dict[str, Callable[[str, str], Any]] = {
            "pods": self.pod,
            "services": self.service,
            "nodes": self.node,
        }

    async def of(self, call: VerbCall) -> Destination:
        """Return the target of a call of the sub-resource `proxy`. Raises as the method for its resource."""
        found: Destination = await self._ways[call.target.resource.plural](call.info.namespace, call.info.name)
        return found

    async def pod(self, namespace: str, text: str) -> Destination:
        """Return the pod's address; without a port, at the first one that a container declares.

        Raises NotFound (404), BadRequest (400) for an address that no pod can have.
        """
        asked = AskedService.of(text, "pod")
        pod = await find_in(self._pods, namespace, asked.name)
        port = asked.port or next(_declared_ports(pod), "")
        if (place := await self._agents.simulated_pod(pod, port)) is not None:
            return place
        address = next(iter(_addresses(pod)), "")
        if not is_public_unicast(address):
            raise BadRequest("address not allowed")
        return _destination(asked.scheme, address, port)

    async def service(self, namespace: str, text: str) -> Destination:
        """Return the place that the administrator has given for the service, else a ready pod behind it.

        The port is given by name or number. Raises NotFound (404), BadRequest (400), ServiceUnavailable (503).
        """
        asked = AskedService.of(text, "service")
        if ports := self._service_map.ports(namespace, asked.name):
            given = ServiceReference(
                namespace=namespace, name=asked.name, port=await self._number(namespace, asked, ports)
            )
            if (place := self._service_map.place(given)) is not None:
                there = _destination(asked.scheme, place.host, str(place.port))
                return msgspec.structs.replace(there, public=place.public, server_name=given.host)
        port = asked.port
        if port.isascii() and port.isdigit():
            port = _port_name(await find_in(self._services, namespace, asked.name), port)
        endpoints = await find_in(self._endpoints, namespace, asked.name)
        if not endpoints.get("subsets"):
            raise ServiceUnavailable(f"no endpoints available for service {go_quote(asked.name)}")
        for address, found in ready(endpoints, port, self._random):
            if (pod := await self._pod_of(namespace, address)) is not None:
                number = str(found.get("port", ""))
                simulated = await self._agents.simulated_pod(pod, number)
                return simulated or _destination(asked.scheme, address["ip"], number)
        raise ServiceUnavailable(f"no endpoints available for service {go_quote(text)}")

    async def node(self, _namespace: str, text: str) -> Destination:
        """Return the node's agent, or another port of the node, which gets no client certificate.

        Raises NotFound (404), BadRequest (400).
        """
        asked = AskedService.of(text, "node")
        agent = await self._agents.of(asked.name)
        if asked.port in ("", str(agent.port)) or agent.prefix:
            return agent
        return _destination(asked.scheme, agent.host, asked.port)

    async def _number(self, namespace: str, asked: AskedService, mapped: frozenset[int]) -> int:
        """Return the number of the port that is asked for, 0 for one that there is not; no port: the only mapped one.

        Only for the name of a port the service must exist: raises NotFound (404).
        """
        if asked.port.isascii() and asked.port.isdigit():
            return int(asked.port[:6])
        if not asked.port and len(mapped) == 1:
            return next(iter(mapped))
        ports = (await find_in(self._services, namespace, asked.name))["spec"].get("ports") or ()
        return next((int(each["port"]) for each in ports if each.get("name", "") == asked.port), 0)

    async def _pod_of(self, namespace: str, address: Object) -> Object | None:
        """Return the pod in the namespace that has an address of Endpoints; their author can name any."""
        target = address.get("targetRef") or {}
        if target.get("namespace", "") != namespace or not is_public_unicast(address.get("ip", "")):
            return None
        try:
            pod = await find_in(self._pods, namespace, target.get("name", ""))
        except NotFound:
            return None
        return pod if address["ip"] in _addresses(pod) else None


def _destination(scheme: str, host: str, port: str) -> Destination:
    """Return the destination. Raises ServiceUnavailable (503) for an invalid port."""
    kind: Literal["http", "https"] = "https" if scheme == "https" else "http"
    number = int(port) if port.isascii() and port.isdigit() and len(port) < 6 else 0 if port else default_port(kind)
    if not 0 < number < 65536:
        where = f"{host}:{port[:100]}"
        raise ServiceUnavailable(f"error trying to reach service: dial tcp: address {where}: invalid port")
    return Destination(scheme=kind, host=host, port=number, tls=_NOBODY, timeout_s=DIAL_S, public=True)


def _port_name(service: Object, port: str) -> str:
    number = int(port) if len(port) < 20 else 0
    for each in service["spec"].get("ports") or ():
        if each.get("port") == number:
            return str(each.get("name", ""))
    name = go_quote(service["metadata"]["name"])
    raise ServiceUnavailable(f"no service port {number} found for service {name}")


def _declared_ports(pod: Object) -> Iterator[str]:
    for container in pod["spec"].get("containers") or ():
        for port in (container.get("ports") or ())[:1]:
            yield str(port.get("containerPort", ""))


def _addresses(pod: Object) -> Iterator[str]:
    """Yield a pod's addresses, the primary one first: older agents write only that."""
    status = pod.get("status", {})
    if status.get("podIP"):
        yield str(status["podIP"])
    for each in status.get("podIPs") or ():
        yield str(each.get("ip", ""))
