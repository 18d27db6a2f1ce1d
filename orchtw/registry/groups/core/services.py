"""Services, as far as nothing has to be allocated, and their endpoints."""

from __future__ import annotations

from orchtw.objects import Object
from orchtw.registry.emission_order import put
from orchtw.registry.kind import Kind
from orchtw.rules.names import LABEL_1035_NAME
from orchtw.schema.tables import cells_core

AFFINITY_S = 10800
"""Seconds that a client stays with its endpoint."""

_TAIL = (
    *("externalTrafficPolicy", "healthCheckNodePort", "publishNotReadyAddresses", "sessionAffinityConfig"),
    *("ipFamilies", "ipFamilyPolicy", "allocateLoadBalancerNodePorts", "loadBalancerClass", "internalTrafficPolicy"),
)
_OTHER_FAMILY = {"IPv4": "IPv6", "IPv6": "IPv4"}


def set_service_defaults(service: Object) -> None:
    """A service."""
    spec = service["spec"]
    _set_affinity_defaults(spec)
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
        _set_family_defaults(spec)


def _set_affinity_defaults(spec: Object) -> None:
    if spec["sessionAffinity"] == "None":
        spec.pop("sessionAffinityConfig", None)
    elif spec["sessionAffinity"] == "ClientIP":
        client = (spec.get("sessionAffinityConfig") or {}).get("clientIP") or {}
        if client.get("timeoutSeconds") is None:
            put(spec, "sessionAffinityConfig", {"clientIP": {"timeoutSeconds": AFFINITY_S}}, _TAIL)


def _set_family_defaults(spec: Object) -> None:
    """Two of anything ask for both families, and whoever asks for both gets the second one named."""
    families = spec.get("ipFamilies") or []
    if "ipFamilyPolicy" not in spec and (len(families) == 2 or len(spec.get("clusterIPs") or ()) == 2):
        put(spec, "ipFamilyPolicy", "RequireDualStack", _TAIL)
    if spec.get("ipFamilyPolicy") == "RequireDualStack" and len(families) == 1 and families[0] in _OTHER_FAMILY:
        families.append(_OTHER_FAMILY[families[0]])


SERVICE = Kind(
    group="",
    kind="Service",
    create_on_update=True,
    name_form=LABEL_1035_NAME,
    set_defaults=set_service_defaults,
    cells=cells_core.service,
)
ENDPOINTS = Kind(group="", kind="Endpoints", create_on_update=True, cells=cells_core.endpoints)
