"""Record and rules of EndpointSlices."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from typing import Any, Final

from orchtw.errors import MAX_CAUSES, Cause
from orchtw.naming.naming import Naming
from orchtw.registry.kind import KindRecord
from orchtw.registry.strategy import Strategy
from orchtw.schema.conversion.discovery import HOSTNAME, SLICE_CONVERSIONS
from orchtw.schema.tables import cells_cluster
from orchtw.schema.validation.metadata import validate_labels
from orchtw.values.addresses import Address, parse_ip, special
from orchtw.values.causes import duplicate, invalid, not_supported, required, too_many
from orchtw.values.names import dns_label, dns_subdomain
from orchtw.wire.objects import Object

MAX_TOPOLOGY: Final = 16

_FAMILIES: Final = {"IPv4": 4, "IPv6": 6}
_TYPES: Final = ("FQDN", "IPv4", "IPv6")

_TOPOLOGY_VERSION = "v1beta1"
"""The only version in which the topology can be written."""


class EndpointSliceStrategy(Strategy):
    """Write rules of slices: the topology belongs to the version that last replaced it."""

    def drop_unwritable(self, new: Object, old: Object | None, version: str) -> None:
        """Drop a topology that comes in v1; a host name in it that was stored before becomes the node's name."""
        endpoints = new.get("endpoints") or []
        before = [] if old is None else old.get("endpoints") or []
        if version == _TOPOLOGY_VERSION or not any("deprecatedTopology" in each for each in endpoints):
            return
        if old is not None and endpoints == before:
            return
        hostname = self.naming.translate(HOSTNAME)
        known = {(each.get("deprecatedTopology") or {}).get(hostname) for each in before}
        for endpoint in endpoints:
            host = (endpoint.pop("deprecatedTopology", None) or {}).get(hostname)
            if host is not None and "nodeName" not in endpoint and host in known and not dns_subdomain(host):
                endpoint["nodeName"] = host
        new["endpoints"] = [{key: each[key] for key in _ENDPOINT if key in each} for each in endpoints]


_ENDPOINT = ("addresses", "conditions", "hostname", "targetRef", "deprecatedTopology", "nodeName", "zone", "hints")


def validate_endpoint_slice(new: Object, old: Object | None, naming: Naming) -> list[Cause]:
    """Validate undeclared rules: addresses of the slice's type, topologies, names of ports."""
    kind = new.get("addressType", "")
    causes = list(islice(_endpoints(new, _FAMILIES.get(kind, 0)), MAX_CAUSES + 1))
    if kind and kind not in _TYPES:
        causes.append(not_supported("addressType", kind, _TYPES))
    return causes + list(islice(_port_names(new), MAX_CAUSES + 1))


def _endpoints(new: Object, family: int) -> Iterator[Cause]:
    for index, endpoint in enumerate(new.get("endpoints") or ()):
        at = f"endpoints[{index}]"
        for place, address in enumerate(endpoint.get("addresses") or ()):
            yield from _address(address, new.get("addressType", ""), family, f"{at}.addresses[{place}]")
        if topology := endpoint.get("deprecatedTopology"):
            if len(topology) > MAX_TOPOLOGY:
                yield too_many(f"{at}.deprecatedTopology", len(topology), MAX_TOPOLOGY)
            yield from validate_labels(topology, f"{at}.deprecatedTopology")


def _address(text: str, kind: str, family: int, at: str) -> Iterator[Cause]:
    if family:
        address: Address | None = parse_ip(text)
        if address is None or address.version != family:
            yield invalid(at, text, f"must be a valid {kind} address")
        if why := "must be a valid IP address" if address is None else special(address):
            yield invalid(at, text, why)
    elif kind == "FQDN":
        yield from _full_name(text, at)


def _full_name(text: str, at: str) -> Iterator[Cause]:
    """Yield the causes that reject a fully qualified domain name, which may end with a dot."""
    name = text.removesuffix(".")
    if not text:
        yield required(at)
    elif errors := dns_subdomain(name):
        yield invalid(at, name, ",".join(errors))
    elif "." not in name:
        yield invalid(at, name, "should be a domain with at least two segments separated by dots")
    else:
        labels = name.split(".")
        yield from (invalid(at, label, ",".join(errors)) for label in labels if (errors := dns_label(label)))


def _port_names(new: Object) -> Iterator[Cause]:
    """Yield the causes for port names that come twice, even the empty one."""
    seen: set[Any] = set()
    for index, port in enumerate(new.get("ports") or ()):
        name = port.get("name") or ""
        if name:
            yield from (invalid(f"ports[{index}].name", name, text) for text in dns_label(name))
        if name in seen:
            yield duplicate(f"ports[{index}].name", name)
        seen.add(name)


ENDPOINT_SLICE = KindRecord(
    group="discovery.orch.io",
    kind="EndpointSlice",
    strategy=EndpointSliceStrategy,
    generation=(("addressType",), ("endpoints",), ("ports",), ("metadata", "labels")),
    validate=validate_endpoint_slice,
    conversions=SLICE_CONVERSIONS,
    cells=cells_cluster.endpoint_slice,
)

KINDS = (ENDPOINT_SLICE,)
