"""Validation of Services (reference KIND-50): types, ports, addresses, policies, and updates."""

from __future__ import annotations

from collections.abc import Iterator

from orchtw.errors import MAX_CAUSES, Cause
from orchtw.naming.naming import Naming
from orchtw.rules import services as rules
from orchtw.rules.load_balancers import load_balancer_causes
from orchtw.rules.services import Spec
from orchtw.schema.validation.metadata import validate_labels
from orchtw.values.addresses import endpoint_ip, parse_cidr
from orchtw.values.causes import duplicate, forbidden, invalid, not_supported, required
from orchtw.values.go_literals import IP_FAMILIES, as_amount, as_number, as_text, pointer, shown, struct
from orchtw.values.names import dns_label, dns_subdomain, qualified_name
from orchtw.values.ports import port_name, port_number
from orchtw.wire.objects import Object

_SHOWN_PORT = struct(
    "core.ServicePort",
    Name=("name", as_text), Protocol=("protocol", as_text), AppProtocol=("appProtocol", pointer("string", as_text)),
    Port=("port", as_number), TargetPort=("targetPort", as_amount), NodePort=("nodePort", as_number),
)  # fmt: skip

NODE_AGENT_PORT = 10250
SOURCE_RANGES = "service.beta.orch.io/load-balancer-source-ranges"
"""Annotation for loadBalancerSourceRanges as one text."""

LONGEST_AFFINITY_S = 86400
_ONLY_BALANCED = "may only be used when `type` is 'LoadBalancer'"
_SET_ONCE = "may not change once set"
_DISTRIBUTIONS = ("PreferClose", "PreferSameNode", "PreferSameZone")
_POLICIES = ("Cluster", "Local")
_BAD_RANGES = "must be a list of IP ranges. For example, 10.240.0.0/24,10.250.0.0/24 "


def validate_service(new: Object, old: Object | None, naming: Naming) -> list[Cause]:
    """Validate a Service, or its update."""
    spec: Spec = new.get("spec") or {}
    before: Spec | None = None if old is None else old.get("spec") or {}
    causes = [*_ports(spec), *_type(spec, naming), *_affinity(spec), *_external_ips(spec)]
    causes += validate_labels(spec.get("selector") or {}, "spec.selector")
    causes += _source_ranges(new, spec, naming)
    causes += _balancing(spec, before)
    causes += [*_traffic(spec), *_distribution(spec), *rules.cluster_ip_causes(spec)]
    if before is not None:
        causes += [*_address_changes(spec, before), *_family_changes(spec, before)]
        causes += _health_check_changes(spec, before)
    return causes


def validate_service_status(new: Object, old: Object, naming: Naming) -> list[Cause]:
    """Validate the addresses of the load balancer."""
    return load_balancer_causes((new.get("status") or {}).get("loadBalancer") or {}, "status.loadBalancer")


def _ports(spec: Spec) -> Iterator[Cause]:
    ports = rules.ports(spec)
    if not ports and not rules.is_headless(spec) and spec.get("type") != "ExternalName":
        yield required("spec.ports")
    names: set[str] = set()
    places: set[tuple[object, object]] = set()
    node_ports: set[tuple[object, object]] = set()
    for index, port in enumerate(ports):
        if index > MAX_CAUSES:
            break
        at = f"spec.ports[{index}]"
        yield from _port(port, at, len(ports) > 1)
        name, protocol = port.get("name", ""), port.get("protocol")
        if name and name in names:
            yield duplicate(f"{at}.name", name)
        names.add(name)
        place = (protocol, port.get("port"))
        if place in places:
            yield duplicate(at, shown(_SHOWN_PORT, {"protocol": protocol, "port": port.get("port")}))
        places.add(place)
        if number := port.get("nodePort"):
            if spec.get("type") == "ClusterIP":
                yield forbidden(f"{at}.nodePort", "may not be used when `type` is 'ClusterIP'")
            if (protocol, number) in node_ports:
                yield duplicate(f"{at}.nodePort", number)
            node_ports.add((protocol, number))


def _port(port: Spec, at: str, named: bool) -> Iterator[Cause]:
    """Yield the causes of one port beyond the declared rules; `named`: it must have a name."""
    name = port.get("name", "")
    if named and not name:
        yield required(f"{at}.name")
    elif name:
        for text in dns_label(name):
            yield invalid(f"{at}.name", name, text)
    target = port.get("targetPort", 0)
    for text in port_name(target) if isinstance(target, str) else port_number(target):
        yield invalid(f"{at}.targetPort", target, text)
    protocol = port.get("appProtocol")
    for text in () if protocol is None else qualified_name(protocol):
        yield invalid(f"{at}.appProtocol", protocol, text)


def _distribution(spec: Spec) -> Iterator[Cause]:
    """Yield the cause against an unknown preference among endpoints."""
    wanted = spec.get("trafficDistribution")
    if wanted is not None and wanted not in _DISTRIBUTIONS:
        yield not_supported("spec.trafficDistribution", wanted, _DISTRIBUTIONS)


def _type(spec: Spec, naming: Naming) -> Iterator[Cause]:
    """Yield the causes of the Service's type."""
    kind = spec.get("type")
    if kind == "LoadBalancer":
        for index, port in enumerate(rules.ports(spec)[: MAX_CAUSES + 1]):
            if port.get("port") == NODE_AGENT_PORT:
                agent = naming.translate_text("orchlet")
                why = f"may not expose port {NODE_AGENT_PORT} externally since it is used by {agent}"
                yield invalid(f"spec.ports[{index}]", NODE_AGENT_PORT, why)
    if rules.needs_node_ports(spec) and rules.is_headless(spec):
        yield invalid("spec.clusterIPs[0]", rules.HEADLESS, f"may not be set to 'None' for {kind} services")
    if kind == "ExternalName":
        for key in ("clusterIPs", "ipFamilies", "ipFamilyPolicy"):
            if spec.get(key):
                yield forbidden(f"spec.{key}", "may not be set for ExternalName services")
        yield from _external_name(spec.get("externalName", ""))


def _external_name(name: str) -> Iterator[Cause]:
    host = name.removesuffix(".")
    if not host:
        yield required("spec.externalName")
        return
    for text in dns_subdomain(host):
        yield invalid("spec.externalName", host, text)


def _affinity(spec: Spec) -> Iterator[Cause]:
    affinity, at = spec.get("sessionAffinity"), "spec.sessionAffinityConfig"
    config = spec.get("sessionAffinityConfig")
    if affinity == "None" and config is not None:
        yield forbidden(at, "must not be set when session affinity is None")
    if affinity != "ClientIP":
        return
    client = (config or {}).get("clientIP")
    seconds = (client or {}).get("timeoutSeconds")
    if seconds is None:
        missing = at if config is None else f"{at}.clientIP" if client is None else f"{at}.clientIP.timeoutSeconds"
        yield required(missing, "when session affinity type is ClientIP")
    elif not 0 < seconds <= LONGEST_AFFINITY_S:
        why = f"must be greater than 0 and less than {LONGEST_AFFINITY_S}"
        yield invalid(f"{at}.clientIP.timeoutSeconds", seconds, why)


def _external_ips(spec: Spec) -> Iterator[Cause]:
    for index, address in enumerate((spec.get("externalIPs") or [])[: MAX_CAUSES + 1]):
        for text in endpoint_ip(address):
            yield invalid(f"spec.externalIPs[{index}]", address, text)


def _source_ranges(service: Object, spec: Spec, naming: Naming) -> Iterator[Cause]:
    """Yield the causes of the source ranges, in the field or else the annotation."""
    annotation = naming.translate(SOURCE_RANGES)
    listed = spec.get("loadBalancerSourceRanges") or []
    text = (service["metadata"].get("annotations") or {}).get(annotation)
    if listed:
        at, shown = "spec.LoadBalancerSourceRanges", f"[{' '.join(listed)}]"
    elif text is None:
        return
    else:
        at, shown = f"metadata.annotations[{annotation}]", text
        listed = text.strip().split(",") if text.strip() else []
    if spec.get("type") != "LoadBalancer":
        yield forbidden(at, _ONLY_BALANCED)
    if any(parse_cidr(each.strip()) is None for each in listed):
        yield invalid(at, shown, _BAD_RANGES)


def _balancing(spec: Spec, before: Spec | None) -> Iterator[Cause]:
    """Yield the causes for fields that belong to type LoadBalancer alone."""
    chosen = spec.get("loadBalancerClass")
    if spec.get("type") != "LoadBalancer":
        if spec.get("allocateLoadBalancerNodePorts") is not None:
            yield forbidden("spec.allocateLoadBalancerNodePorts", _ONLY_BALANCED)
        if chosen is not None:
            yield forbidden("spec.loadBalancerClass", _ONLY_BALANCED)
        return
    if spec.get("allocateLoadBalancerNodePorts") is None:
        yield required("allocateLoadBalancerNodePorts")
    if before is not None and before.get("type") == "LoadBalancer" and chosen != before.get("loadBalancerClass"):
        yield invalid("spec.loadBalancerClass", chosen, _SET_ONCE)
    for text in () if chosen is None else qualified_name(chosen):
        yield invalid("spec.loadBalancerClass", chosen, text)


def _traffic(spec: Spec) -> Iterator[Cause]:
    outside, inside = spec.get("externalTrafficPolicy", ""), spec.get("internalTrafficPolicy")
    at = "spec.externalTrafficPolicy"
    if outside and outside not in _POLICIES:
        yield invalid(at, outside, "ExternalTrafficPolicy must be empty, Cluster or Local")
    if outside and not rules.needs_node_ports(spec):
        yield invalid(at, outside, "ExternalTrafficPolicy can only be set on NodePort and LoadBalancer service")
    number, at = spec.get("healthCheckNodePort", 0), "spec.healthCheckNodePort"
    if number < 0:
        yield invalid(at, number, "HealthCheckNodePort must be not less than 0")
    if number and not rules.needs_health_check_port(spec):
        where = "LoadBalancer service with ExternalTrafficPolicy=Local"
        yield invalid(at, number, f"HealthCheckNodePort can only be set on {where}")
    if inside is None:
        if rules.needs_cluster_ip(spec):
            yield required("spec.internalTrafficPolicy")
    elif inside not in _POLICIES:
        yield not_supported("spec.internalTrafficPolicy", inside, _POLICIES)


def _address_changes(new: Spec, old: Spec) -> Iterator[Cause]:
    """Yield the causes for changed addresses: the first stays; the second may come, and go with SingleStack."""
    if "ExternalName" in (new.get("type"), old.get("type")) or (rules.is_headless(new) and rules.is_headless(old)):
        return
    ips, before, at = rules.cluster_ips(new), rules.cluster_ips(old), "spec.clusterIPs"
    if before and not ips:
        yield invalid(f"{at}[0]", ips, "primary clusterIP can not be unset")
    both = 2 if len(ips) == len(before) else 1
    for index, (address, was) in enumerate(zip(ips[:both], before[:both], strict=False)):
        if address != was:
            yield invalid(f"{at}[{index}]", ips, _SET_ONCE)
    if len(before) > len(ips) == 1 and new.get("ipFamilyPolicy") != "SingleStack":
        yield invalid(f"{at}[0]", ips, _release_text("clusterIP"))


def _family_changes(new: Spec, old: Spec) -> Iterator[Cause]:
    """Yield the causes for changed families, with the same rules as for addresses."""
    if "ExternalName" in (new.get("type"), old.get("type")) or rules.is_headless(new) or rules.is_headless(old):
        return
    families, before, at = rules.families(new), rules.families(old), "spec.ipFamilies"
    if before and not families:
        yield invalid(f"{at}[0]", shown(IP_FAMILIES, families), "primary ipFamily can not be unset")
    both = 2 if len(families) == len(before) else 1
    for index, (family, was) in enumerate(zip(families[:both], before[:both], strict=False)):
        if family != was:
            yield invalid(f"{at}[{index}]", shown(IP_FAMILIES, families), _SET_ONCE)
    if len(before) > len(families) == 1 and new.get("ipFamilyPolicy") != "SingleStack":
        yield invalid("spec.clusterIPs[0]", shown(IP_FAMILIES, families), _release_text("ipFamily"))


def _release_text(what: str) -> str:
    return f"`ipFamilyPolicy` must be set to 'SingleStack' when releasing the secondary {what}"


def _health_check_changes(new: Spec, old: Spec) -> Iterator[Cause]:
    if not (rules.needs_health_check_port(new) and rules.needs_health_check_port(old)):
        return
    if not rules.same(new, old, "healthCheckNodePort") and old.get("healthCheckNodePort"):
        why = "cannot change healthCheckNodePort on loadBalancer service with externalTraffic=Local during update"
        yield invalid("spec.healthCheckNodePort", new.get("healthCheckNodePort", 0), why)
