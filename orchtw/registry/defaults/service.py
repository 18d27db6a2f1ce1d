"""Services, as far as nothing has to be allocated."""

from __future__ import annotations

from orchtw.objects import Object
from orchtw.registry.defaults.places import put

AFFINITY_S = 10800
"""Seconds that a client stays with its endpoint."""

_TAIL = (
    *("externalTrafficPolicy", "healthCheckNodePort", "publishNotReadyAddresses", "sessionAffinityConfig"),
    *("ipFamilies", "ipFamilyPolicy", "allocateLoadBalancerNodePorts", "loadBalancerClass", "internalTrafficPolicy"),
)
_OTHER_FAMILY = {"IPv4": "IPv6", "IPv6": "IPv4"}


def fill_service(service: Object) -> None:
    """A service."""
    spec = service["spec"]
    _fill_affinity(spec)
    for port in spec.get("ports") or ():
        if not port["targetPort"]:
            port["targetPort"] = port["port"]
    kind = spec["type"]
    if kind in ("NodePort", "LoadBalancer") and "externalTrafficPolicy" not in spec:
        put(spec, "externalTrafficPolicy", "Cluster", _TAIL)
    if kind in ("ClusterIP", "NodePort", "LoadBalancer") and "internalTrafficPolicy" not in spec:
        put(spec, "internalTrafficPolicy", "Cluster", _TAIL)
    if kind == "LoadBalancer" and "allocateLoadBalancerNodePorts" not in spec:
        put(spec, "allocateLoadBalancerNodePorts", True, _TAIL)
    if kind != "ExternalName":
        _fill_families(spec)


def _fill_affinity(spec: Object) -> None:
    if spec["sessionAffinity"] == "None":
        spec.pop("sessionAffinityConfig", None)
    elif spec["sessionAffinity"] == "ClientIP":
        client = (spec.get("sessionAffinityConfig") or {}).get("clientIP") or {}
        if client.get("timeoutSeconds") is None:
            put(spec, "sessionAffinityConfig", {"clientIP": {"timeoutSeconds": AFFINITY_S}}, _TAIL)


def _fill_families(spec: Object) -> None:
    """Two of anything ask for both families, and whoever asks for both gets the second one named."""
    families = spec.get("ipFamilies") or []
    if "ipFamilyPolicy" not in spec and (len(families) == 2 or len(spec.get("clusterIPs") or ()) == 2):
        put(spec, "ipFamilyPolicy", "RequireDualStack", _TAIL)
    if spec.get("ipFamilyPolicy") == "RequireDualStack" and len(families) == 1 and families[0] in _OTHER_FAMILY:
        families.append(_OTHER_FAMILY[families[0]])
