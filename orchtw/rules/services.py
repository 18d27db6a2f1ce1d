"""Types of Services: the fields that each type needs, and those that an update keeps.

A spec is that of a canonical Service: any field may be absent. Source: the release's Service registry (reference
KIND-27).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Final

from orchtw.errors import Cause
from orchtw.values.addresses import ip, parse_ip
from orchtw.values.causes import duplicate, invalid, not_supported, required

Spec = dict[str, Any]

HEADLESS: Final = "None"
"""Cluster IP of a headless Service, whose name resolves to its pods."""

FAMILIES: Final = ("IPv4", "IPv6")
OTHER_FAMILY: Final = {"IPv4": "IPv6", "IPv6": "IPv4"}
POLICIES: Final = ("PreferDualStack", "RequireDualStack", "SingleStack")

_IPS, _FAMILIES_AT, _POLICY_AT = "spec.clusterIPs", "spec.ipFamilies", "spec.ipFamilyPolicy"


def is_headless(spec: Spec) -> bool:
    """Report whether the Service is headless: its cluster IP is `None`."""
    return cluster_ips(spec)[:1] == [HEADLESS]


def cluster_ips(spec: Spec) -> list[str]:
    """Return the cluster IPs of the Service."""
    return spec.get("clusterIPs") or []


def families(spec: Spec) -> list[str]:
    """Return the IP families of the Service."""
    return spec.get("ipFamilies") or []


def ports(spec: Spec) -> list[dict[str, Any]]:
    """Return the ports of the Service."""
    return spec.get("ports") or []


def needs_cluster_ip(spec: Spec) -> bool:
    """Report whether the type has cluster IPs; a headless Service has `None` in their place."""
    return spec.get("type") in ("ClusterIP", "NodePort", "LoadBalancer")


def needs_node_ports(spec: Spec) -> bool:
    """Report whether the type may have node ports; externalTrafficPolicy applies to the same types."""
    return spec.get("type") in ("NodePort", "LoadBalancer")


def allocates_node_ports(spec: Spec) -> bool:
    """Report whether node ports are allocated for ports without one."""
    balanced = spec.get("type") == "LoadBalancer" and spec.get("allocateLoadBalancerNodePorts") is not False
    return balanced or spec.get("type") == "NodePort"


def needs_health_check_port(spec: Spec) -> bool:
    """Report whether the Service needs a healthCheckNodePort."""
    return spec.get("type") == "LoadBalancer" and spec.get("externalTrafficPolicy") == "Local"


def node_ports(spec: Spec) -> Iterator[int]:
    """Return the node ports that the spec names, without healthCheckNodePort."""
    return (port["nodePort"] for port in ports(spec) if port.get("nodePort"))


def family_of(address: str) -> str:
    """Return the IP family of an address, or "" if it is invalid."""
    parsed = parse_ip(address)
    return "" if parsed is None else f"IPv{parsed.version}"


def same(new: Spec, old: Spec, key: str) -> bool:
    """Report whether both specs have the same value in a field, or both lack it."""
    return (new.get(key) or None) == (old.get(key) or None)


def cluster_ip_causes(spec: Spec) -> list[Cause]:
    """Return the causes that reject clusterIP, clusterIPs, ipFamilies and ipFamilyPolicy."""
    if spec.get("type") == "ExternalName":
        return []
    causes, ips = _first_address_causes(spec), cluster_ips(spec)
    seen: set[str] = set()
    for index, family in enumerate(families(spec)[: len(FAMILIES) + 1]):
        if family not in FAMILIES:
            causes.append(not_supported(f"{_FAMILIES_AT}[{index}]", family, FAMILIES))
        if family in seen:
            causes.append(duplicate(f"{_FAMILIES_AT}[{index}]", family))
        seen.add(family)
    policy = spec.get("ipFamilyPolicy")
    if policy is not None and policy not in POLICIES:
        causes.append(not_supported(_POLICY_AT, policy, POLICIES))
    bad = list(_bad_addresses(ips))
    causes += bad
    if len(ips) > len(FAMILIES):
        causes.append(invalid(_IPS, ips, "may only hold up to 2 values"))
    if bad:
        return causes
    found = [family_of(address) for address in ips if address != HEADLESS]
    if len(ips) > 1 and (len(ips) > len(FAMILIES) or len(set(found)) < len(found)):
        causes.append(invalid(_IPS, ips, "may specify no more than one IP for each IP family"))
    for index, (family, wanted) in enumerate(zip(found, families(spec), strict=False)):
        if wanted in FAMILIES and family != wanted:
            why = f"expected an {wanted} value as indicated by `ipFamilies[{index}]`"
            causes.append(invalid(f"{_IPS}[{index}]", ips[index], why))
    return causes


def _first_address_causes(spec: Spec) -> list[Cause]:
    """Check that clusterIP is the first of clusterIPs."""
    first, ips = spec.get("clusterIP"), cluster_ips(spec)
    if not first:
        return [invalid(_IPS, ips, "must be empty when `clusterIP` is not specified")] if ips else []
    if not ips:
        return [required(_IPS)]
    return [] if ips[0] == first else [invalid(_IPS, ips, "first value must match `clusterIP`")]


def _bad_addresses(ips: Sequence[str]) -> Iterator[Cause]:
    for index, address in enumerate(ips[: len(FAMILIES) + 1]):
        if index == 0 and address == HEADLESS:
            if len(ips) > 1:
                yield invalid(_IPS, list(ips), "'None' must be the first and only value")
        else:
            for text in ip(address):
                yield invalid(f"{_IPS}[{index}]", address, text)


def take_over(new: Spec, old: Spec) -> None:
    """Copy allocated values that the new spec omits from the old one, where both types need them; in place."""
    if needs_cluster_ip(old) and needs_cluster_ip(new):
        if not new.get("clusterIP") and old.get("clusterIP"):
            new["clusterIP"] = old["clusterIP"]
        if not cluster_ips(new) and new.get("clusterIP") == old.get("clusterIP") and cluster_ips(old):
            new["clusterIPs"] = list(cluster_ips(old))
    if needs_node_ports(old) and needs_node_ports(new):
        _take_over_node_ports(new, old)
    if needs_health_check_port(old) and needs_health_check_port(new) and not new.get("healthCheckNodePort"):
        _set(new, "healthCheckNodePort", old.get("healthCheckNodePort"))


def _take_over_node_ports(new: Spec, old: Spec) -> None:
    """Give each port without a node port that of the old port of its name, unless the new spec uses it elsewhere."""
    used = set(node_ports(old)) & set(node_ports(new))
    by_name = {port.get("name", ""): port.get("nodePort", 0) for port in ports(old)}
    for port in ports(new):
        before = by_name.get(port.get("name", ""), 0)
        if not port.get("nodePort") and before not in used:
            _set(port, "nodePort", before)


def join_addresses(new: Spec, old: Spec | None) -> None:
    """Update clusterIPs from clusterIP for clients that only know the latter; in place."""
    if old is None:
        if new.get("clusterIP") and not cluster_ips(new):
            new["clusterIPs"] = [new["clusterIP"]]
        return
    unchanged = same(new, old, "clusterIPs")
    if same(new, old, "clusterIP"):
        if cluster_ips(old) and not cluster_ips(new):
            new["clusterIPs"] = list(cluster_ips(old))
    elif unchanged:
        _set(new, "clusterIPs", [new["clusterIP"]] if new.get("clusterIP") else None)


def drop_what_the_type_lost(new: Spec, old: Spec) -> None:
    """Remove fields that only the old type needs and the client has sent back unchanged; in place."""
    if needs_cluster_ip(old) and not needs_cluster_ip(new):
        if same(new, old, "clusterIPs"):
            _drop(new, "clusterIP", "clusterIPs")
        for key in ("ipFamilies", "ipFamilyPolicy"):
            if same(new, old, key):
                _drop(new, key)
    if needs_node_ports(old) and not needs_node_ports(new):
        if set(node_ports(old)) >= set(node_ports(new)):
            for port in ports(new):
                _drop(port, "nodePort")
        if same(new, old, "externalTrafficPolicy"):
            _drop(new, "externalTrafficPolicy")
    if needs_health_check_port(old) and not needs_health_check_port(new) and same(new, old, "healthCheckNodePort"):
        _drop(new, "healthCheckNodePort")
    if old.get("type") == "LoadBalancer" and new.get("type") != "LoadBalancer":
        for key in ("allocateLoadBalancerNodePorts", "loadBalancerClass"):
            if new.get(key) == old.get(key):
                _drop(new, key)


def _set(into: Spec, key: str, value: Any) -> None:
    if value:
        into[key] = value
    else:
        into.pop(key, None)


def _drop(spec: Spec, *keys: str) -> None:
    for key in keys:
        spec.pop(key, None)
