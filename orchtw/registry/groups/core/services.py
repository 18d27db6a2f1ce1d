"""Services (reference KIND-19, KIND-27)."""

from __future__ import annotations

from orchtw.registry.allocation.services import ServiceReservations
from orchtw.registry.emission_order import put
from orchtw.registry.groups.core.service_validation import validate_service, validate_service_status
from orchtw.registry.kind import KindRecord
from orchtw.registry.strategy import Strategy
from orchtw.request import UserInfo
from orchtw.rules import services as rules
from orchtw.rules.services import OTHER_FAMILY
from orchtw.schema.tables import cells_core
from orchtw.values.names import LABEL_1035_NAME
from orchtw.wire.objects import Object

AFFINITY_S = 10800
"""Seconds for which a client stays with its endpoint."""

_TAIL = (
    *("externalTrafficPolicy", "healthCheckNodePort", "publishNotReadyAddresses", "sessionAffinityConfig"),
    *("ipFamilies", "ipFamilyPolicy", "allocateLoadBalancerNodePorts", "loadBalancerClass", "internalTrafficPolicy"),
    "trafficDistribution",
)


def set_service_defaults(service: Object) -> None:
    """Fill in the defaults of a Service."""
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
    """Infer RequireDualStack from two families or addresses, and fill in the second family that it needs."""
    families = spec.get("ipFamilies") or []
    if "ipFamilyPolicy" not in spec and (len(families) == 2 or len(spec.get("clusterIPs") or ()) == 2):
        put(spec, "ipFamilyPolicy", "RequireDualStack", _TAIL)
    if spec.get("ipFamilyPolicy") == "RequireDualStack" and len(families) == 1 and families[0] in OTHER_FAMILY:
        families.append(OTHER_FAMILY[families[0]])


class ServiceStrategy(Strategy):
    """Write rules of Services: an update keeps allocated values, and drops those that only the old type needed."""

    def prepare_for_create(self, obj: Object, user: UserInfo) -> None:
        super().prepare_for_create(obj, user)
        rules.join_addresses(obj["spec"], None)

    def prepare_for_update(self, new: Object, old: Object) -> None:
        super().prepare_for_update(new, old)
        spec, before = new["spec"], old["spec"]
        if spec != before:
            rules.drop_what_the_type_lost(spec, before)
            rules.take_over(spec, before)
            rules.join_addresses(spec, before)
        if spec.get("type") != "LoadBalancer" and (new.get("status") or {}).get("loadBalancer"):
            new["status"] = {**new["status"], "loadBalancer": {}}


SERVICE = KindRecord(
    group="",
    kind="Service",
    strategy=ServiceStrategy,
    create_on_update=True,
    name_form=LABEL_1035_NAME,
    set_defaults=set_service_defaults,
    validate=validate_service,
    validate_status=validate_service_status,
    reservations=ServiceReservations,
    cells=cells_core.service,
)
