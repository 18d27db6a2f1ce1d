"""IP families of a service: those it asks for, checked against the ranges of the server (reference KIND-27)."""

from __future__ import annotations

from collections.abc import Sequence

from orchtw.errors import Cause, Invalid
from orchtw.rules import services as rules
from orchtw.rules.services import Spec
from orchtw.values.causes import invalid
from orchtw.wire.objects import Object

_POLICY, _FAMILIES = "spec.ipFamilyPolicy", "spec.ipFamilies"


def settle_families(service: Object, old: Spec | None, configured: Sequence[str]) -> None:
    """Fill in ipFamilyPolicy and ipFamilies, in place; `configured` are the families of the server, its first first.

    Raises Invalid (422) for settings that contradict each other or the server's families.
    """
    spec: Spec = service["spec"]
    if spec.get("type") == "ExternalName" or (old is not None and stays_preferred(spec, old)):
        return
    if old is not None and spec.get("ipFamilyPolicy") is None and old.get("ipFamilyPolicy") is not None:
        spec["ipFamilyPolicy"] = old["ipFamilyPolicy"]
    _refuse(service, rules.cluster_ip_causes(spec))
    causes = [] if old is None else _reduce(spec, old)
    _refuse(service, causes + _single_causes(spec) + _infer(spec, configured))
    families, other = list(rules.families(spec)) or [configured[0]], rules.OTHER_FAMILY
    if rules.is_headless(spec) and not spec.get("selector"):
        policy = spec.setdefault("ipFamilyPolicy", "RequireDualStack")
        both = True
    else:
        _refuse(service, _configured_causes(spec, configured))
        policy = spec.setdefault("ipFamilyPolicy", "SingleStack")
        both = len(configured) > 1
    if policy != "SingleStack" and both and len(families) == 1:
        families.append(other[families[0]])
    spec["ipFamilies"] = families


def stays_preferred(new: Spec, old: Spec) -> bool:
    """Report whether a service prefers dual-stack as before and so keeps its families whatever the server's are."""
    return (
        new.get("ipFamilyPolicy") == old.get("ipFamilyPolicy") == "PreferDualStack"
        and rules.needs_cluster_ip(new)
        and rules.needs_cluster_ip(old)
        and bool(rules.cluster_ips(old))
        and rules.same(new, old, "clusterIPs")
        and rules.same(new, old, "ipFamilies")
    )


def complete(spec: Spec, configured: Sequence[str]) -> None:
    """Fill in the families and policy of a service that was stored without them, in place."""
    rules.join_addresses(spec, None)
    ips = rules.cluster_ips(spec)
    if not rules.is_headless(spec):
        if ips and not rules.families(spec):
            spec["ipFamilies"] = [rules.family_of(address) for address in ips]
        if ips:
            spec.setdefault("ipFamilyPolicy", "RequireDualStack" if len(ips) > 1 else "SingleStack")
        return
    both = len(configured) > 1 or not spec.get("selector")
    families = list(rules.families(spec)) or [configured[0]]
    if both and len(families) == 1 and not rules.families(spec):
        families.append(rules.OTHER_FAMILY[families[0]])
    spec["ipFamilies"] = families
    spec.setdefault("ipFamilyPolicy", "PreferDualStack" if both else "SingleStack")


def _reduce(spec: Spec, old: Spec) -> list[Cause]:
    """Drop the unchanged second values under SingleStack; return the causes if another policy would lose one."""
    policy, causes = spec.get("ipFamilyPolicy"), []
    for key, what in (("clusterIPs", "cluster IP"), ("ipFamilies", "IP family")):
        values, before = spec.get(key) or [], old.get(key) or []
        if policy == "SingleStack":
            if values == before and len(values) > 1:
                spec[key] = values[:1]
        elif values and len(values) < len(before) and rules.needs_cluster_ip(old):
            causes.append(invalid(_POLICY, policy, f"must be 'SingleStack' to release the secondary {what}"))
    return causes


def _single_causes(spec: Spec) -> list[Cause]:
    policy = spec.get("ipFamilyPolicy")
    if policy != "SingleStack":
        return []
    two = [
        what
        for key, what in (("clusterIPs", "cluster IPs"), ("ipFamilies", "IP families"))
        if len(spec.get(key) or ()) == 2
    ]
    why = "must be 'RequireDualStack' or 'PreferDualStack' when multiple {} are specified"
    return [invalid(_POLICY, policy, why.format(what)) for what in two]


def _infer(spec: Spec, configured: Sequence[str]) -> list[Cause]:
    """Add the families of named addresses to those not named; return the causes for families not configured."""
    causes, families = [], list(rules.families(spec))
    for index, address in enumerate(rules.cluster_ips(spec)):
        if address == rules.HEADLESS:
            break
        if index < len(families):
            continue
        family = rules.family_of(address)
        if family in configured:
            families.append(family)
        else:
            why = f"{family} is not configured on this cluster"
            causes.append(invalid(f"spec.clusterIPs[{index}]", rules.cluster_ips(spec), why))
    if families:
        spec["ipFamilies"] = families
    return causes


def _configured_causes(spec: Spec, configured: Sequence[str]) -> list[Cause]:
    causes = []
    policy = spec.get("ipFamilyPolicy")
    if policy == "RequireDualStack" and len(configured) < len(rules.FAMILIES):
        causes.append(invalid(_POLICY, policy, "this cluster is not configured for dual-stack services"))
    for index, family in enumerate(rules.families(spec)):
        if family not in configured:
            causes.append(invalid(f"{_FAMILIES}[{index}]", family, "not configured on this cluster"))
    return causes


def _refuse(service: Object, causes: list[Cause]) -> None:
    if causes:
        raise refusal(service, causes)


def refusal(service: Object, causes: Sequence[Cause]) -> Invalid:
    """Return the 422 error of a service."""
    meta = service["metadata"]
    return Invalid.of("Service", "", meta.get("name") or meta.get("generateName", ""), causes)
