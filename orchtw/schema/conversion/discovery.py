"""EndpointSlice: v1beta1's topology map, and v1's node name and zone (reference VER-13)."""

from __future__ import annotations

from collections.abc import Callable

from orchtw.naming.naming import Naming
from orchtw.schema.conversion.convert import Conversions
from orchtw.wire.objects import Object

ZONE = "topology.orch.io/zone"
HOSTNAME = "orch.io/hostname"

_V1 = ("addresses", "conditions", "hostname", "targetRef", "deprecatedTopology", "nodeName", "zone", "hints")
_V1BETA1 = ("addresses", "conditions", "hostname", "targetRef", "topology", "nodeName", "hints")


def slice_v1beta1_to_v1(obj: Object, naming: Naming) -> Object:
    """Move the zone to its own field, and keep the rest of the topology as deprecatedTopology."""
    return _converted(obj, _endpoint_to_v1, naming)


def slice_v1_to_v1beta1(obj: Object, naming: Naming) -> Object:
    """Make the topology from deprecatedTopology, the zone and, unless it has one, the host name."""
    return _converted(obj, _endpoint_to_v1beta1, naming)


def _converted(obj: Object, convert: Callable[[Object, str, str], Object], naming: Naming) -> Object:
    zone, hostname = naming.translate(ZONE), naming.translate(HOSTNAME)
    endpoints = obj.get("endpoints")
    if not endpoints:
        return dict(obj)
    return {**obj, "endpoints": [convert(endpoint, zone, hostname) for endpoint in endpoints]}


def _endpoint_to_v1(endpoint: Object, zone: str, hostname: str) -> Object:
    topology = dict(endpoint.get("topology") or {})
    found = dict(endpoint)
    if zone in topology:
        found["zone"] = topology.pop(zone)
    if hostname in topology and topology[hostname] == endpoint.get("nodeName"):
        del topology[hostname]
    if topology:
        found["deprecatedTopology"] = topology
    return {key: found[key] for key in _V1 if key in found}


def _endpoint_to_v1beta1(endpoint: Object, zone: str, hostname: str) -> Object:
    topology = dict(endpoint.get("deprecatedTopology") or {})
    if "zone" in endpoint:
        topology[zone] = endpoint["zone"]
    if "nodeName" in endpoint:
        topology.setdefault(hostname, endpoint["nodeName"])
    found = {**endpoint, "topology": dict(sorted(topology.items()))} if topology else endpoint
    return {key: found[key] for key in _V1BETA1 if key in found}


SLICE_CONVERSIONS = Conversions(
    {
        ("discovery.orch.io/v1beta1", "discovery.orch.io/v1"): slice_v1beta1_to_v1,
        ("discovery.orch.io/v1", "discovery.orch.io/v1beta1"): slice_v1_to_v1beta1,
    }
)
