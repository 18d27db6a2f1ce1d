"""Network policies: ingress and egress rules of pods."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from orchtw.errors import MAX_CAUSES, Cause
from orchtw.naming.naming import Naming
from orchtw.registry.kind import KindRecord
from orchtw.registry.traits import SPEC
from orchtw.schema.tables import cells_cluster
from orchtw.schema.validation.validators import Check
from orchtw.values.addresses import Network, parse_cidr, within
from orchtw.values.causes import forbidden, invalid, not_supported, required
from orchtw.values.go_literals import listed, shown
from orchtw.values.ports import port_name, port_number
from orchtw.wire.objects import Object

_SHOWN_TYPES = listed("networking.PolicyType")

_PROTOCOLS: Final = ("TCP", "UDP", "SCTP")
_POLICY_TYPES: Final = ("Ingress", "Egress")


def set_network_policy_defaults(policy: Object) -> None:
    """Fill in policyTypes: Ingress, and Egress if there are egress rules."""
    spec = policy["spec"]
    if not spec.get("policyTypes"):
        spec["policyTypes"] = ["Ingress", "Egress"] if spec.get("egress") else ["Ingress"]


def check_port(new: Object, old: Object | None) -> list[Cause]:
    """Validate that a port has a number or a name; a range of ports begins with a number."""
    protocol, port, end = new.get("protocol"), new.get("port"), new.get("endPort")
    causes = []
    if protocol is not None and protocol not in _PROTOCOLS:
        causes.append(not_supported("protocol", protocol, _PROTOCOLS))
    if isinstance(port, int):
        causes += [invalid("port", port, text) for text in port_number(port)]
        if end is not None:
            if end < port:
                causes.append(invalid("endPort", port, "must be greater than or equal to `port`"))
            causes += [invalid("endPort", end, text) for text in port_number(end)]
        return causes
    if end is not None:
        why = "is not specified" if port is None else "is non-numeric"
        causes.append(invalid("endPort", end, f"may not be specified when `port` {why}"))
    return causes if port is None else causes + [invalid("port", port, text) for text in port_name(port)]


def check_peer(new: Object, old: Object | None) -> list[Cause]:
    """Validate that a peer is a range of addresses, or pods of namespaces."""
    selected = new.get("podSelector") is not None or new.get("namespaceSelector") is not None
    if new.get("ipBlock") is None:
        return [] if selected else [required("", "must specify a peer")]
    return [forbidden("", "may not specify both ipBlock and another peer")] if selected else []


def check_ip_block(new: Object, old: Object | None) -> list[Cause]:
    """Check that exceptions of an IP block are smaller ranges within it."""
    text = new.get("cidr")
    if not text:
        return [required("cidr")]
    whole = parse_cidr(text)
    if whole is None:
        return [invalid("cidr", text, "not a valid CIDR")]
    causes: list[Cause] = []
    for index, part in enumerate(new.get("except") or ()):
        if len(causes) > MAX_CAUSES:
            break
        causes += _excepted(parse_cidr(part), whole, f"except[{index}]", part)
    return causes


def _excepted(found: Network | None, whole: Network, path: str, text: str) -> list[Cause]:
    if found is None:
        return [invalid(path, text, "not a valid CIDR")]
    if within(found, whole) and whole.prefixlen < found.prefixlen:
        return []
    return [invalid(path, str(found), "must be a strict subset of `cidr`")]


def check_policy_types(new: Object, old: Object | None) -> list[Cause]:
    """Validate that the policy types are at most two, and known."""
    types = new.get("policyTypes") or ()
    if len(types) > len(_POLICY_TYPES):
        return [invalid("policyTypes", shown(_SHOWN_TYPES, types), "may not specify more than two policyTypes")]
    return [
        not_supported(f"policyTypes[{index}]", each, _POLICY_TYPES)
        for index, each in enumerate(types)
        if each not in _POLICY_TYPES
    ]


def checks(naming: Naming) -> Mapping[str, Check]:
    """Return the checks by message name."""
    package = "orch.io.api.networking.v1."
    return {
        f"{package}NetworkPolicyPort": check_port,
        f"{package}NetworkPolicyPeer": check_peer,
        f"{package}IPBlock": check_ip_block,
        f"{package}NetworkPolicySpec": check_policy_types,
    }


NETWORK_POLICY = KindRecord(
    group="networking.orch.io",
    kind="NetworkPolicy",
    generation=SPEC,
    set_defaults=set_network_policy_defaults,
    cells=cells_cluster.network_policy,
)
