"""Endpoints: the addresses that serve a service."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from typing import Any, Final

from orchtw.errors import MAX_CAUSES, Cause
from orchtw.naming.naming import Naming
from orchtw.registry.kind import KindRecord
from orchtw.schema.tables import cells_core
from orchtw.values.addresses import endpoint_ip
from orchtw.values.causes import invalid, not_supported, required
from orchtw.values.names import dns_label, dns_subdomain, qualified_name
from orchtw.values.ports import port_number
from orchtw.wire.objects import Object

PROTOCOLS: Final = ("SCTP", "TCP", "UDP")


def validate_endpoints(new: Object, old: Object | None, naming: Naming) -> list[Cause]:
    """Validate addresses and ports of each subset, unless an update leaves the subsets as they are."""
    subsets = new.get("subsets") or []
    if old is not None and subsets == (old.get("subsets") or []):
        return []
    found = (cause for index, subset in enumerate(subsets) for cause in _subset(subset, f"subsets[{index}]"))
    return list(islice(found, MAX_CAUSES + 1))


def _subset(subset: dict[str, Any], at: str) -> Iterator[Cause]:
    if not subset.get("addresses") and not subset.get("notReadyAddresses"):
        yield required(at, "must specify `addresses` or `notReadyAddresses`")
    for key in ("addresses", "notReadyAddresses"):
        for index, address in enumerate(subset.get(key) or ()):
            yield from _address(address, f"{at}.{key}[{index}]")
    ports = subset.get("ports") or []
    for index, port in enumerate(ports):
        yield from _port(port, f"{at}.ports[{index}]", len(ports) > 1)


def _address(address: dict[str, Any], at: str) -> Iterator[Cause]:
    place = address.get("ip", "")
    yield from (invalid(f"{at}.ip", place, text) for text in endpoint_ip(place))
    if host := address.get("hostname"):
        yield from (invalid(f"{at}.hostname", host, text) for text in dns_label(host))
    node = address.get("nodeName")
    if node is not None:
        yield from (invalid(f"{at}.nodeName", node, text) for text in dns_subdomain(node))


def _port(port: dict[str, Any], at: str, named: bool) -> Iterator[Cause]:
    name, number, protocol = port.get("name"), port.get("port", 0), port.get("protocol")
    if name:
        yield from (invalid(f"{at}.name", name, text) for text in dns_label(name))
    elif named:
        yield required(f"{at}.name")
    yield from (invalid(f"{at}.port", number, text) for text in port_number(number))
    if not protocol:
        yield required(f"{at}.protocol")
    elif protocol not in PROTOCOLS:
        yield not_supported(f"{at}.protocol", protocol, PROTOCOLS)
    spoken = port.get("appProtocol")
    if spoken is not None:
        yield from (invalid(f"{at}.appProtocol", spoken, text) for text in qualified_name(spoken))


ENDPOINTS = KindRecord(
    group="", kind="Endpoints", create_on_update=True, validate=validate_endpoints, cells=cells_core.endpoints
)
